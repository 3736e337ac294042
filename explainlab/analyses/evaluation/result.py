"""The typed result of an evaluation: of a text, and of a data set."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.records import KnownInterval, MetricFacts, Passes, TextBody
from explainlab.result import Cost
from explainlab.text.rationale import ABSENCES, Absence

Values = dict[str, dict[str, float | None]]
"""By the name of what is evaluated (a method's id, or a file's name), then by metric with its options.

None where the metric compares with a rationale and the text has none.
"""


class EvaluationText(TextBody):
    """The ``scores`` [n_features] of every method and file for one text, and their ``values`` by every metric.

    ``counted`` is, by metric, how many features are selected at the highest level, or are in the rationale. ``costs``
    is, by method, what the scores cost. ``undefined``: why a value is None.
    """

    text_seed: int
    values: Values
    counted: dict[str, int]
    scores: dict[str, list[float]]
    costs: dict[str, Cost]
    undefined: Absence | None = None


class _OfMethod(Record):
    """What is said of one method; its name comes first."""

    method: str


class MethodMetric(MetricFacts, _OfMethod):
    """The mean of a metric over ``n`` texts for one method, with its 95% interval (None for too few values).

    ``counted``: texts with at least one feature selected. ``undefined``: texts that are left out, having no value.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    counted: int
    undefined: int = 0

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
    undefined: Absence | None = None


class NoRationales(Record):
    """How many texts have no rationale to compare with, by the reason (see :data:`Absence`)."""

    missing: int
    empty: int
    cut: int

    def __str__(self) -> str:
        """The reasons that there are, in words."""
        counts = {words: getattr(self, reason) for reason, words in ABSENCES.items()}
        return ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)


class EvaluationData(Record):
    """The means over ``n`` texts: ``rows`` by method, then by metric; ``texts`` are in the order of the file.

    ``rationales`` counts the texts that a comparison left out; None if no metric compares with rationales.
    """

    n: int
    rows: list[MethodMetric]
    cost_by_method: dict[str, Passes[int]]
    texts: list[EvaluatedRow]
    rationales: NoRationales | None = None
