"""Methods with the same number of attributions, of one text and over a data set, as typed records."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.candidates.result import MeanSelection, Selection
from explainlab.analyses.records import MetricFacts, Passes, TextBody

Choice = Literal["first", "best"]
"""A single map, or the best of all that a method has by the metric itself."""
CHOICES: tuple[Choice, ...] = ("first", "best")


class MethodChoices(Record):
    """One method on one text: what a choice among its ``maps`` attributions is worth, by metric."""

    method: str
    label: str
    maps: int
    cost: Passes[int]
    selection: dict[str, Selection]


class MeanMethodChoices(Record):
    """One method over all texts of a data set, each with ``maps`` attributions at most."""

    method: str
    label: str
    maps: int
    cost: Passes[float]
    selection: dict[str, MeanSelection]


class AblationText(TextBody):
    """All methods on one text."""

    metrics: list[MetricFacts]
    methods: list[MethodChoices]


class Summary(Record):
    """The number of texts in the means."""

    n: int


class AblationRow(Record):
    """One text of a data set; ``row`` is its number."""

    row: int
    text: str
    text_pair: str | None = None
    methods: list[MethodChoices]


class AblationData(Record):
    """All methods over a data set."""

    metrics: list[MetricFacts]
    methods: list[MeanMethodChoices]
    summary: Summary
    texts: list[AblationRow]

    def values(self, method: str, metric: str, choice: Choice) -> list[float]:
        """[n]: of every text the value by the ``metric`` (its key) of a map of ``method``."""
        place = [own.method for own in self.methods].index(method)
        return [getattr(text.methods[place].selection[metric], choice) for text in self.texts]
