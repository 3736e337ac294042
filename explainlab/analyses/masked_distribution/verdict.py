"""The similarity of masked texts to training texts, as a model reads them, in words."""

from __future__ import annotations

from explainlab.analyses.masked_distribution.result import MaskedDistributionData, OfBaseline, RejectedAt
from explainlab.analyses.wording import capital, counted, joined, whole_percent

LEVEL = 0.05
"""The p-value up to which a text differs from those of the training."""
MOST = 2 * LEVEL
"""Texts look like those of the training unless clearly more than this share of them differs."""
NAMES = {
    "mask": "the mask token",
    "pad": "the padding token",
    "unk": "the unknown token",
    "zero": "zero embeddings",
    "delete": "nothing at all",
}


def looks_alike(at: RejectedAt) -> bool:
    """Return True if texts with these masks look like training texts."""
    return at.low <= MOST


def reach(own: OfBaseline) -> int | None:
    """Return the highest ratio, in per cent, at which texts still look like training texts; None if none does."""
    found = None
    for at in own.ratios:
        if not looks_alike(at):
            break
        found = at.ratio
    return found


def short_answer(own: OfBaseline) -> str:
    """Return ``yes``, ``yes, up to 60% masked`` or ``no``."""
    most = reach(own)
    if most is None:
        return "no"
    return "yes" if most == own.ratios[-1].ratio else f"yes, up to {most}% masked"


def line(body: MaskedDistributionData | None) -> str:
    """Return the line about the check ``body`` under a table of metrics; None: no check exists yet."""
    answer = "not checked" if body is None else short_answer(body.baselines[0])
    return f"Masked texts look like training texts to this model: {answer}."


def verdict(body: MaskedDistributionData) -> str:
    """Say up to which share masked texts look like training texts, beside chance and other baselines."""
    first, *others = body.baselines
    told = [_answer_words(first), _control_words(body)]
    by_answer: dict[str, list[str]] = {}
    for own in others:
        by_answer.setdefault(short_answer(own), []).append(NAMES[own.baseline])
    if by_answer:
        each = [f"with {joined(names)}: {answer}" for answer, names in by_answer.items()]
        told.append(f"{capital('; '.join(each))}.")
    return " ".join(told)


def _answer_words(own: OfBaseline) -> str:
    most, name, last = reach(own), NAMES[own.baseline], own.ratios[-1]
    apart = f"with {name} in place of {last.ratio}% of the words {_share(last)} of them are told apart"
    if most is None:
        first = own.ratios[0]
        return (
            f"Masked texts do not look like training texts to this model: with {name} in place of {first.ratio}% of "
            f"the words {_share(first)} of them are told apart."
        )
    if most == last.ratio:
        return f"Masked texts look like training texts to this model: {apart}."
    return f"Masked texts look like training texts to this model where at most {most}% is masked: {apart}."


def _share(at: RejectedAt) -> str:
    return f"{whole_percent(at.mean)} ({whole_percent(at.low)} to {whole_percent(at.high)})"


def _control_words(body: MaskedDistributionData) -> str:
    """Name the sample of training texts, and say how the test reads similar, whole and shuffled texts."""
    stood = {
        "trained": "masked as in its training" if body.told else "unmasked, as nothing tells that its training masked",
        "none": "unmasked",
        "half": "half of them masked",
    }[body.masks]
    return (
        f"For training texts stand {body.reference:,} others of the data set, {stood}. Chance tells 5% apart: of "
        f"{counted(body.n, 'text')} made like these it is {whole_percent(body.alike.mean)}, of whole ones "
        f"{whole_percent(body.whole.mean)}, of shuffled ones {whole_percent(body.shuffled.mean)}."
    )
