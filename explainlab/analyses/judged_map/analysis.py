"""What is behind the numbers of one map: the texts that were read in its place, and what the model said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, FiniteFloat

from explainlab import declared
from explainlab.analyses.parameters import Metrics, listed
from explainlab.analyses.records import described
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import FIVE, MetricRequest, get_metric, parse_metric
from explainlab.reader import Reader
from explainlab.request import digest

Body = dict[str, Any]


class JudgedMap(TextAnalysis[Body, Body]):
    """Given scores of one text, judged by metrics, with every perturbed text behind a value.

    Raises :class:`explainlab.errors.RequestError` unless there is one finite score a feature, special tokens included.
    """

    class Parameters(declared.Parameters):
        scores: Annotated[list[FiniteFloat], BeforeValidator(listed)] = Field(
            [], description="One score a feature, special tokens included."
        )
        metrics: Metrics = Field(
            [metric.id for metric in FIVE], description="Metrics, options after colons: log_odds:k=10."
        )
        rows: int = Field(1, ge=1, le=1, description="Scores belong to one text: of a data set the first.")

    id = "judged_map"
    label = "Texts behind a map's metrics"
    source = "DeYoung et al. 2020, Eq. 1 and 2; Barkan et al. 2024 (paper 001), A.3"
    definition = "metric(φ) with each perturbed text, its k and the probability of the target for it"

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The versions of the metrics."""
        return digest([[request.metric, get_metric(request.metric).version] for request in _asked(parameters)])

    def evaluations(self, parameters: Parameters) -> int:
        asked = _asked(parameters)
        return sum(get_metric(one.metric).inputs(one.parameters, len(parameters.scores)) for one in asked)

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        asked, scores = _asked(parameters), np.array([parameters.scores], dtype=np.float64)
        judged = evaluate_attributions(subjects, [scores] * len(subjects), asked, subjects[0].batcher)
        return [
            {**described(subject), "metrics": [_told(*pair, subject) for pair in zip(asked, row, strict=True)]}
            for subject, (row,) in zip(subjects, judged, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        return {
            "texts": [
                {"row": row.number, "text": row.text, "metrics": body["metrics"]}
                for row, body in zip(rows, bodies, strict=True)
            ]
        }

    def lines(self, result: Any) -> list[str]:
        body = result.body
        """Every metric with its value, and below it the texts that were read and what the model said of them."""
        texts = [body] if "metrics" in body else body["texts"]
        return [line for text in texts for metric in text["metrics"] for line in _lines(metric)]


def _lines(metric: dict[str, Any]) -> list[str]:
    steps = [f"  {step['level']:>3}%  {step['probability']:.4f}  {step['text']}" for step in metric["steps"]]
    return [f"{metric['label']}: {metric['value']:.4f}", *steps]


def _asked(parameters: JudgedMap.Parameters) -> list[MetricRequest]:
    return [parse_metric(name) for name in parameters.metrics]


def _told(request: MetricRequest, metric_result: MetricResult, subject: Subject) -> dict[str, Any]:
    names = [feature.text for feature in subject.units.features]
    return {
        **request.told,
        "value": metric_result.value,
        "counted": metric_result.counted,
        "steps": [{**asdict(step), "removed": [names[i] for i in step.removed]} for step in metric_result.steps],
    }
