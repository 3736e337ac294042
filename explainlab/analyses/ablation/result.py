"""Methods with the same number of attributions, of one text and over a data set, as typed records."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.candidates.result import MeanSelection, Selection
from explainlab.analyses.records import MetricFacts, Passes, TextBody


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
    """How many texts the means are of."""

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
