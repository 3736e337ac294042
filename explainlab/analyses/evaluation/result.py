"""The typed result of an evaluation: of a text, and of a data set."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.records import KnownInterval, MetricFacts, Passes, TextBody
from explainlab.result import Cost

Values = dict[str, dict[str, float]]
"""By the name of what is evaluated (a method's id, or a file's name), then by metric with its options."""


class EvaluationText(TextBody):
    """The ``scores`` [n_features] of every method and file for one text, and their ``values`` by every metric.

    ``counted`` is, by metric, how many features are selected at the highest level. ``costs`` is, by method, what the
    scores cost.
    """

    text_seed: int
    values: Values
    counted: dict[str, int]
    scores: dict[str, list[float]]
    costs: dict[str, Cost]


class _OfMethod(Record):
    """What is said of one method; its name comes first."""

    method: str


class MethodMetric(MetricFacts, _OfMethod):
    """The mean of a metric over the ``n`` texts for one method, with its 95% interval (None for too few values).

    ``counted``: texts with at least one feature selected.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    counted: int

    @property
    def interval(self) -> KnownInterval:
        """The mean with its interval."""
        return KnownInterval(mean=self.mean, low=self.low, high=self.high)


class EvaluatedRow(Record):
    """The values of the text in the row ``row`` of the file."""

    row: int
    text: str
    text_pair: str | None = None
    label: str
    values: Values
    text_seed: int


class EvaluationData(Record):
    """The means over ``n`` texts: ``rows`` by method, then by metric; ``texts`` are in the order of the file."""

    n: int
    rows: list[MethodMetric]
    cost_by_method: dict[str, Passes[int]]
    texts: list[EvaluatedRow]
