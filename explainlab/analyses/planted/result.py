"""The typed result of the two checks of a model that was trained on planted words."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.errors.result import Accuracy


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
