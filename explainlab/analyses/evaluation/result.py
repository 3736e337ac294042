"""The typed result of an evaluation: of a text, and of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from explainlab.analyses.base import AnalysisResult, Record
from explainlab.analyses.evaluation.texts import EvaluatedTexts, Values
from explainlab.analyses.planted.result import PlantedData, reasons, verdict
from explainlab.analyses.records import Interval, MetricFacts, Passes, TextBody
from explainlab.metrics.registry import MetricSpec, metric_ids
from explainlab.result import Cost
from explainlab.text.units import ABSENCES, Absence

REVERSED = "reversed:"
"""Begins the name of a control: the scores of the method after it, with the opposite sign."""


class EvaluationText(TextBody):
    """The ``scores`` [n_features] of every method and file for one text, and their ``values`` by every metric.

    The ``values`` are also of the reversed scores. ``counted``, by metric, is the number of features selected at the
    highest level (0: k% of the text is less than a feature, and no map has a value), or in the rationale. ``costs`` has
    the cost of the scores by method. ``undefined``: the reason why there is no rationale to compare with.
    """

    text_seed: int
    values: Values
    counted: dict[str, int]
    scores: dict[str, list[float]]
    costs: dict[str, Cost]
    undefined: Absence | None = None


class _OfMethod(Record):
    """The first field of records on one method: its name."""

    method: str


class Difference(Interval):
    """The mean difference to the best, positive where the best is better, over the texts that have both values.

    ``p`` as in :class:`Pair`; of a reversed control corrected by Holm for all controls and metrics. None where no text
    differs.
    """

    p: float | None


class MethodMetric(MetricFacts, _OfMethod):
    """The mean of a metric over the ``n`` texts for one method, with its 95% interval (None for too few values).

    ``counted``: texts with at least one feature selected. ``undefined``: texts without a value, left out of the mean,
    such as those with no feature selected.
    ``to_best`` and ``told_apart`` from it beyond chance: None for the best itself, and where no text has both values.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    counted: int
    undefined: int = 0
    to_best: Difference | None = None
    told_apart: bool | None = None

    @property
    def interval(self) -> Interval:
        """The mean with its interval."""
        return Interval(mean=self.mean, low=self.low, high=self.high)


class NoRationales(Record):
    """The number of texts without a rationale to compare with, by the reason (see :data:`Absence`)."""

    missing: int
    empty: int
    cut: int

    def __str__(self) -> str:
        """Return the reasons that occur, in words."""
        counts = {words: getattr(self, reason) for reason, words in ABSENCES.items()}
        return ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)


class Agreed(Interval):
    """The mean over the ``n`` texts where it is defined."""

    n: int


class TextAgreement(Record):
    """Kendall's ``tau`` on the text in the row ``row``."""

    row: int
    tau: float


class Agreement(Record):
    """The agreement of two methods on the content features of a text: Kendall's tau-b.

    ``sign_conflicts``: the share of features important to both whose signs differ (None for a method without signs).
    ``most_apart``: the texts with the lowest tau, the lowest first.
    """

    first: str
    second: str
    tau: Agreed
    sign_conflicts: Agreed | None
    most_apart: list[TextAgreement]


class Rank(Record):
    """The average ``rank`` of a method by a metric (its ``key``), 1 the best; None without a common text."""

    metric: str
    method: str
    rank: float | None


class Pair(Record):
    """The ``p`` of the difference between two methods; None where all values are equal.

    It is Wilcoxon's signed-rank test, two-sided, over the texts for which both have a value, corrected by Holm for all
    pairs of all metrics, and never below the p of Friedman's test.
    """

    first: str
    second: str
    p: float | None


class CriticalDifferences(Record):
    """The methods that a metric (its ``key``) cannot distinguish over the ``texts`` for which all have a value.

    ``friedman``: p of Friedman's test; None where all values are equal, and without a diagram. ``groups``: methods
    without a pair that differs, in the order of their ranks. ``none`` says why there is no diagram; else it is empty.
    """

    metric: str
    texts: int
    friedman: float | None
    pairs: list[Pair]
    groups: list[list[str]]
    none: str


class SliceMean(Interval):
    """The mean of a metric (its ``key``) for a method over the ``n`` texts of a slice that have a value."""

    metric: str
    method: str
    n: int


class Slice(Record):
    """The ``n`` texts of one gold class, one kind of prediction, or one length; ``few``: too few for a conclusion."""

    by: Literal["label", "prediction", "length"]
    name: str
    n: int
    few: bool
    rows: list[SliceMean]


class EvaluationData(Record):
    """The means over ``n`` texts: ``rows`` by method, then by metric; ``texts`` are in the order of the file.

    ``agreement``, ``ranks`` and ``critical`` leave out the reversed methods. ``rationales`` counts the texts that a
    comparison left out; None if no metric compares with rationales. ``failed`` counts, by method, the texts in which
    all scores are 0, such as an answer of a language model that names no word. ``planted``: the checks that the model
    reads the planted words and nothing else; None for other rationales.
    """

    n: int
    rows: list[MethodMetric]
    cost_by_method: dict[str, Passes[int]]
    texts: EvaluatedTexts
    agreement: list[Agreement] = Field(default_factory=list)
    ranks: list[Rank] = Field(default_factory=list)
    critical: list[CriticalDifferences] = Field(default_factory=list)
    slices: list[Slice] = Field(default_factory=list)
    rationales: NoRationales | None = None
    failed: dict[str, int] = Field(default_factory=dict)
    planted: PlantedData | None = None

    def texts_by(self, metric: str) -> int:
        """Return the number of texts with a value of the ``metric``, named with its options."""
        return next(row.n for row in self.rows if row.asked == metric)


Kind = Literal["faithfulness", "plausibility", "ground_truth"]
"""The evidence of a metric; the last two compare with rationales, marked by people or by ``plant``."""

TITLES: dict[Kind, str] = {
    "faithfulness": "Methods by metrics",
    "plausibility": "Agreement with people, not faithfulness",
    "ground_truth": "Ground truth by planted words",
}
_OF_PEOPLE = (
    "How well the maps mark what people marked as the evidence. A map may agree with people and say nothing of the "
    "model, and the other way round."
)


def kind_of(body: EvaluationData, metric: str) -> Kind:
    """Return the kind of evidence that the metric with this id gives in ``body``."""
    if metric not in metric_ids("Rationale"):
        return "faithfulness"
    return "plausibility" if body.planted is None else "ground_truth"


def said_by(body: EvaluationData, metric: MetricSpec | MethodMetric) -> str:
    """Return the label of ``metric`` with the rationales that it compares with: people's, or the truth."""
    compared = {"faithfulness": "", "plausibility": ", agreement with people", "ground_truth": ", ground truth"}
    return f"{metric.label}{compared[kind_of(body, metric.metric)]}"


def meaning(body: EvaluationData, kind: Kind) -> str:
    """Return the meaning of numbers of this ``kind`` for a reader; empty where no words are needed."""
    if kind == "plausibility":
        return _OF_PEOPLE
    if kind == "ground_truth" and body.planted is not None:
        return f"How well the maps mark what the model goes by. {verdict(body.planted)}"
    return ""


def withheld(body: EvaluationData) -> str:
    """Return the reason why no ground truth is shown: the failed check and its number; empty if it is shown."""
    if body.planted is None or body.planted.known:
        return ""
    return " ".join([verdict(body.planted), "No ground truth is shown.", *reasons(body.planted)])


def shown(result: AnalysisResult[EvaluationData]) -> AnalysisResult[EvaluationData]:
    """Return ``result`` as readers see it: without the metrics that compare with planted words the model disregards.

    Its rows may be none then. Any other result is returned as it is.
    """
    body = result.body
    if not withheld(body):
        return result
    rows = [row for row in body.rows if kind_of(body, row.metric) == "faithfulness"]
    keys, asked = {row.key for row in rows}, {row.asked for row in rows}
    changed: dict[str, Sequence[Record]] = {
        "rows": [*rows],
        "ranks": [rank for rank in body.ranks if rank.metric in keys],
        "critical": [test for test in body.critical if test.metric in keys],
        "slices": [
            part.model_copy(update={"rows": [row for row in part.rows if row.metric in keys]}) for part in body.slices
        ],
        "texts": body.texts.only(asked),
    }
    return replace(result, body=body.model_copy(update=changed))
