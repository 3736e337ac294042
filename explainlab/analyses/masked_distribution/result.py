"""The check whether masked texts look like training texts to a model: its result and its answer in words."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval
from explainlab.analyses.wording import capital, counted, joined, whole_percent

Masks = Literal["trained", "none", "half"]
Baseline = Literal["mask", "pad", "unk", "zero", "delete"]


class Rejected(Record):
    """The number of texts with a p-value of at most 5%, and their share ``mean`` with Wilson's 95% interval."""

    count: int
    mean: float
    low: float
    high: float


class RejectedAt(Rejected):
    """The same at a masking ``ratio`` in per cent."""

    ratio: int


class OfBaseline(Record):
    """The results for one ``baseline``; ``overall``: the share of the ratios at which a text is rejected."""

    baseline: Baseline
    ratios: list[RejectedAt]
    overall: Interval


class MaskedDistributionData(Record):
    """The check of ``n`` texts against ``reference`` other texts of the same data set, in ``layers`` layers.

    ``masks``: how the reference texts were masked: as in the model's training (trained), not at all (none), or half of
    them (half). ``told``: the model's files state how the training masked its texts (else no masks are assumed).
    ``alike``: the checked texts masked as the reference texts are, of which chance tells 5% apart; ``whole``: as they
    are; ``shuffled``: with their tokens in random order. ``left_out``: baselines that the model lacks, and why.
    """

    n: int
    reference: int
    layers: int
    masks: Masks
    told: bool
    alike: Rejected
    whole: Rejected
    shuffled: Rejected
    baselines: list[OfBaseline]
    left_out: list[str]


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
