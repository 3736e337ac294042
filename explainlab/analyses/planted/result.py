"""The two checks of a model that was trained on planted words, and their answer in words."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.errors.result import Accuracy
from explainlab.analyses.wording import counted, joined, quoted


class PlantedData(Record):
    """The checks of a model on planted data: it must read the planted word, and nothing else.

    ``n`` rows, of which ``planted`` have a word. ``accuracy`` on them beside the ``best_accuracy`` possible, and
    ``masked`` with the words masked, beside the ``chance`` of guessing. ``unknown``: planted words that the tokenizer
    does not know. ``cut``: planted words that did not fit into the model. ``failed`` has a sentence for each check that
    is not passed; the truth is ``known`` where there is none.
    """

    labels: list[str]
    n: int
    planted: int
    best_accuracy: float
    accuracy: Accuracy
    chance: float
    masked: Accuracy
    unknown: list[str]
    cut: int
    known: bool
    failed: list[str]

    @property
    def share(self) -> float:
        """The share of the rows with a planted word, from 0 to 1."""
        return self.planted / self.n


FROM_BEST, FROM_CHANCE = 0.02, 0.03
"""The allowed distance of the accuracies from the best possible, and from chance without the words."""
_ROUNDING = 1e-9


def failures(body: PlantedData) -> list[str]:
    """Describe each failed check of a truth that lies in the planted words alone."""
    failed = []
    if abs(body.accuracy.mean - body.best_accuracy) > FROM_BEST + _ROUNDING:
        failed.append(
            f"its accuracy is {body.accuracy.mean:.1%}, more than {100 * FROM_BEST:.0f} points from the best possible, "
            f"{body.best_accuracy:.1%}"
        )
    if abs(body.masked.mean - body.chance) > FROM_CHANCE + _ROUNDING:
        failed.append(
            f"with the planted words masked its accuracy is {body.masked.mean:.1%}, more than {100 * FROM_CHANCE:.0f} "
            f"points from chance, {body.chance:.1%}"
        )
    return failed


def verdict(body: PlantedData) -> str:
    """Say that the truth is known, or which check failed."""
    if not body.known:
        return f"This model has no known mechanism: {'; '.join(body.failed)}."
    return (
        f"The planted words alone decide: the accuracy is {body.accuracy.mean:.1%} (at best "
        f"{body.best_accuracy:.1%}), and {body.masked.mean:.1%} with the words masked (chance: {body.chance:.1%})."
    )


def reasons(body: PlantedData) -> list[str]:
    """Return possible reasons of a failed check, a sentence each."""
    told = []
    if body.unknown:
        words = joined([quoted(word) for word in body.unknown])
        told.append(f"The tokenizer does not know {words}: choose other words, or train with another tokenizer.")
    if body.cut:
        rows = counted(body.cut, "row")
        told.append(f"In {rows} the planted word was cut by the model: plant at the start of the texts.")
    low, high = body.masked.low, body.masked.high
    if abs(body.masked.mean - body.chance) > FROM_CHANCE and low <= body.chance <= high:
        told.append(f"With only {body.n:,} rows the accuracy can be this far from chance by luck: check on more rows.")
    if body.accuracy.mean < body.best_accuracy - FROM_BEST and not (body.unknown or body.cut):
        told.append("It may not have learned the words: train it on such texts, or longer.")
    return told
