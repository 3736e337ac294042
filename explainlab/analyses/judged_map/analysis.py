"""The metrics behind one attribution: the perturbed texts and the model's predictions for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, FiniteFloat

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.judged_map.result import EvaluatedMetric, JudgedData, JudgedRow, JudgedText
from explainlab.analyses.parameters import PerturbingMetrics, listed, metric_requests
from explainlab.analyses.records import perturbed_texts, text_fields
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import MetricSpec, evaluation_passes, get_metric, metric_ids


class EvaluatedAttribution(TextAnalysis[JudgedText, JudgedData]):
    """An evaluation of given scores of one text by metrics, with every perturbed text behind a value.

    Raises :class:`explainlab.errors.RequestError` unless there is one finite score a feature, special tokens included.
    """

    class Parameters(declared.Parameters):
        scores: Annotated[list[FiniteFloat], BeforeValidator(listed)] = Field(
            [], description="A score for each feature, special tokens included."
        )
        metrics: PerturbingMetrics = Field(
            metric_ids("Perturbation"), description="Metrics, with options after colons: log_odds:k=10."
        )
        rows: int = Field(1, ge=1, le=1, description="Scores belong to one text: the first of a data set.")

    id = "judged_map"
    label = "Texts behind a map's metrics"
    source = "DeYoung et al. 2020, Eq. 1 and 2; Barkan et al. 2024 (paper 001), A.3"
    definition = "metric(φ) with each perturbed text, its k and the probability of the target for it"

    def requirements(self, parameters: Parameters) -> Requirements:
        metrics, features = metric_requests(parameters.metrics), len(parameters.scores)
        return Requirements(
            metrics=[request.metric for request in metrics],
            gradients=sum(get_metric(request.metric).inputs(request.parameters, features) for request in metrics),
            count_passes=lambda text, depth: evaluation_passes(metrics, text.features),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[JudgedText]:
        """See :meth:`TextAnalysis.of_texts`."""
        metrics, scores = metric_requests(parameters.metrics), np.array([parameters.scores], dtype=np.float64)
        evaluated = evaluate_attributions(subjects, [scores] * len(subjects), metrics, subjects[0].batcher)
        return [
            JudgedText(
                **text_fields(subject),
                metrics=[_metric(*pair, subject) for pair in zip(metrics, results, strict=True)],
            )
            for subject, (results,) in zip(subjects, evaluated, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[JudgedText], parameters: Parameters) -> JudgedData:
        """See :meth:`TextAnalysis.of_rows`."""
        return JudgedData(
            texts=[
                JudgedRow(row=row.number, text=row.text, text_pair=row.text_pair, metrics=body.metrics)
                for row, body in zip(rows, bodies, strict=True)
            ]
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _headline(result: AnalysisResult[JudgedText | JudgedData]) -> str:
    """Name every metric with its value."""
    values = ", ".join(f"{metric.label} {metric.value:.4f}" for metric in result.body.evaluated)
    return f"The scores have {values}."


def _lines(result: AnalysisResult[JudgedText | JudgedData]) -> list[str]:
    """Return every metric with its value, then the texts that the model read, with its predictions."""
    return [line for metric in result.body.evaluated for line in _lines_of(metric)]


def _lines_of(metric: EvaluatedMetric) -> list[str]:
    steps = [f"  {step.level:>3}%  {step.probability:.4f}  {step.text}" for step in metric.steps]
    return [f"{metric.label}: {metric.value:.4f}", *steps]


def _metric(request: MetricSpec, result: MetricResult, subject: Subject) -> EvaluatedMetric:
    steps = perturbed_texts(subject.units.features, result)
    return EvaluatedMetric(**request.facts, value=result.value, counted=result.counted, steps=steps)
