"""The texts behind the metrics of one attribution, as typed records."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.records import MetricFacts, PerturbedText, TextBody


class EvaluatedMetric(MetricFacts):
    """A metric's ``value``, and the texts that it is made of.

    ``counted`` features are selected at the highest level; with 0 of them the definition alone decides the value.
    """

    value: float
    counted: int
    steps: list[PerturbedText]


class JudgedText(TextBody):
    """An attribution of one text by every metric."""

    metrics: list[EvaluatedMetric]

    @property
    def evaluated(self) -> list[EvaluatedMetric]:
        """The metrics of the text."""
        return self.metrics


class JudgedRow(Record):
    """A text of a data set, by its number."""

    row: int
    text: str
    text_pair: str | None = None
    metrics: list[EvaluatedMetric]


class JudgedData(Record):
    """The same of a data set, of which only the first text is read."""

    texts: list[JudgedRow]

    @property
    def evaluated(self) -> list[EvaluatedMetric]:
        """The metrics of its text."""
        return self.texts[0].metrics
