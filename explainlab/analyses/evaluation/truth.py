"""The meaning of a comparison with rationales: agreement with people, or ground truth where the model goes by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from explainlab.analyses.base import AnalysisResult, Record
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.planted.verdict import reasons, verdict
from explainlab.metrics.registry import MetricSpec, metric_ids

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
