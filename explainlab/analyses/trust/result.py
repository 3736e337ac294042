"""The typed result of the comparison with random attributions: of a text, and of a data set."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, MetricFacts, PerturbedText, TextBody


class Comparison(MetricFacts):
    """An attribution's ``value`` of one metric, beside those of random attributions of the same text.

    ``counted`` features are selected; 0 of them in a text that is too short. ``beaten`` is the share of random
    attributions that are worse, ties counted half. ``median``, ``low`` and ``high`` are their median and their 5% and
    95% quantiles. ``steps`` are the texts behind the value.
    """

    value: float
    counted: int
    beaten: float
    median: float
    low: float
    high: float
    steps: list[PerturbedText]


class TrustText(TextBody):
    """The ``scores`` [n_features] of ``method`` by every metric, against ``random_maps`` random attributions."""

    method: str
    scores: list[float]
    random_maps: int
    metrics: list[Comparison]


class MeanComparison(Record):
    """One metric over the ``counted`` texts that are long enough that a feature is selected; others are left out."""

    metric: str
    preset: str
    asked: str
    label: str
    definition: str
    higher_is_better: bool
    beaten: Interval
    value: Interval
    counted: int


class Summary(Record):
    """The means over ``n`` texts."""

    n: int
    metrics: list[MeanComparison]


class RowComparison(Record):
    """The contribution of one text to the metric ``asked`` (with its options): see :class:`Comparison`."""

    asked: str
    value: float
    beaten: float
    counted: int


class TrustRow(Record):
    """One text of a data set, by its number, with the metrics in the order of the summary."""

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    metrics: list[RowComparison]


class TrustData(Record):
    """The same of every text of a data set, and the means."""

    summary: Summary
    texts: list[TrustRow]
