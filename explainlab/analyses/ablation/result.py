"""Methods with the same number of attributions, of one text and over a data set, as typed records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.candidates.result import MeanSelection, Selection
from explainlab.analyses.records import MetricFacts, Passes, TextBody
from explainlab.analyses.too_short import long_enough

Choice = Literal["first", "best"]
"""A single map, or the best of all that a method has by the metric itself."""
CHOICES: tuple[Choice, ...] = ("first", "best")


class MethodChoices(Record):
    """One method on one text: the value of choosing among its ``maps`` attributions, by metric."""

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
    """All methods on one text; ``counted`` is the largest number of features that each metric (its key) selects."""

    metrics: list[MetricFacts]
    methods: list[MethodChoices]
    counted: dict[str, int] = Field(default_factory=dict)


class Summary(Record):
    """The number of texts in the means."""

    n: int


class AblationRow(Record):
    """One text of a data set; ``row`` is its number, ``counted`` as in :class:`AblationText`."""

    row: int
    text: str
    text_pair: str | None = None
    methods: list[MethodChoices]
    counted: dict[str, int] = Field(default_factory=dict)


class AblationData(Record):
    """All methods over a data set."""

    metrics: list[MetricFacts]
    methods: list[MeanMethodChoices]
    summary: Summary
    texts: list[AblationRow]

    def values(self, method: str, metric: str, choice: Choice) -> list[float]:
        """Return [n]: the value by ``metric`` (its key) of a map of ``method``, for every text that is long enough."""
        place = [own.method for own in self.methods].index(method)
        return [getattr(text.methods[place].selection[metric], choice) for text in self.long_enough(metric)]

    def long_enough(self, metric: str) -> Sequence[AblationRow]:
        """Return the texts that are long enough for the ``metric`` (its key)."""
        return long_enough(self.texts, [text.counted for text in self.texts], metric)
