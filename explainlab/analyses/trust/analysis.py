"""The trust in an attribution: how well it predicts the model, against random ones of the same text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import from_json

from explainlab import declared
from explainlab.analyses.attributions import attributions_of, own_warnings, text_seed
from explainlab.analyses.base import AnalysisResult, Report, Requirements, method_passes
from explainlab.analyses.evaluation.analysis import EVALUATIONS
from explainlab.analyses.parameters import Rows, Sample, completed
from explainlab.analyses.records import perturbed_texts, text_fields
from explainlab.analyses.summary import interval
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.trust.result import (
    Comparison,
    MeanComparison,
    RowComparison,
    Summary,
    TrustData,
    TrustRow,
    TrustText,
)
from explainlab.analyses.trust.verdict import mean_verdict, verdict
from explainlab.analyses.wording import capital, quoted
from explainlab.attribution.method import TextSize
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, complete_method, get_method
from explainlab.attribution.selection import case_of
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.evaluate import RANDOM_MAPS, RandomComparison, compare_with_random
from explainlab.metrics.registry import evaluation_passes, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.context import PassCount
from explainlab.text.units import Feature


def _read(settings: Any) -> Any:
    """Parse settings if they are JSON, as on the command line."""
    try:
        return from_json(settings) if isinstance(settings, str) else settings
    except TypeError as error:  # half of a character that UTF-16 writes as two
        raise ValueError("This is no text") from error


METRICS = ("comprehensiveness", "sufficiency")
"""By these a map is compared with random ones."""


class Trust(TextAnalysis[TrustText, TrustData]):
    """One method's attribution by comprehensiveness and sufficiency, against 100 random ones of the same text.

    With the request's seed, unit, target and output, the method's attribution is that of :func:`explainlab.explain`.
    The random ones come from a seed of the text's own, so that the method ``random`` gives none of them.
    """

    class Parameters(declared.Parameters):
        method: str = Field("integrated_gradients", description="Method id.")
        settings: Annotated[dict[str, Any], BeforeValidator(_read)] = Field(
            {}, description="Parameters of the method; on the command line as JSON."
        )
        rows: Rows = 100
        sample: Sample = "first"

        @field_validator("settings")
        @classmethod
        def _complete(cls, settings: dict[str, Any], known: ValidationInfo) -> dict[str, Any]:
            if "method" not in known.data:
                return settings  # the method itself is not accepted
            return completed(known.data["method"], settings)

    id = "trust"
    label = "Comparison with random maps"
    source = "DeYoung et al. 2020, Eq. 1 and 2, each held against its distribution over random maps"
    definition = "share of random maps r with metric(r) worse than metric(φ), ties counted half"
    version = 2

    def requirements(self, parameters: Parameters) -> Requirements:
        method = complete_method(parameters.method, parameters.settings)
        return Requirements(
            methods=[method],
            metrics=METRICS,
            output=get_method(parameters.method).default_output(parameters.settings),
            gradients=EVALUATIONS,
            count_passes=partial(_passes, method),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[TrustText]:
        batcher = subjects[0].batcher
        with batcher.span(0, 1, 2):
            chosen, seeds = (parameters.method, parameters.settings), [subject.seed for subject in subjects]
            attributions = [own for (own,) in attributions_of(subjects, [chosen], outputs="all", seeds=seeds)]
        bodies = []
        for i, (subject, attribution) in enumerate(zip(subjects, attributions, strict=True)):
            with batcher.span(len(subjects) + i, len(subjects) + i + 1, 2 * len(subjects)):
                bodies.append(_text_body(subject, attribution, parameters, batcher))
        return bodies

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[TrustText], parameters: Parameters) -> TrustData:
        columns = zip(*(body.metrics for body in bodies), strict=True)
        return TrustData(
            summary=Summary(n=len(bodies), metrics=[_means(column) for column in columns]),
            texts=[_row(row, body) for row, body in zip(rows, bodies, strict=True)],
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _passes(method: MethodSpec, text: TextSize, depth: int) -> PassCount:
    """Return the passes of the map, and of both metrics of it and of the random ones."""
    metrics = [parse_metric(name) for name in METRICS]
    judged = evaluation_passes(metrics, text.features) * (1 + RANDOM_MAPS)
    return method_passes(method, text, depth) + judged


def _headline(result: AnalysisResult[TrustText] | AnalysisResult[TrustData]) -> str:
    """Say if the attribution can be trusted; of a data set, how many random ones do worse by every metric."""
    body = result.body
    if isinstance(body, TrustText):
        return capital(verdict(body, result.request.unit, quoted(body.target.label)))
    return mean_verdict(body)


def _lines(result: AnalysisResult[TrustText] | AnalysisResult[TrustData]) -> list[str]:
    """Return by metric how many random attributions do worse, and their values."""
    body = result.body
    if isinstance(body, TrustData):
        means = [f"{metric.label}: {metric.value}; beats {metric.beaten}" for metric in body.summary.metrics]
        return [f"Means of {body.summary.n} texts; beats: the share of random maps that do worse", *means]
    total = body.random_maps
    return [
        f"{metric.label}: {metric.value:.4f}, better than {total * metric.beaten:g} of {total} random maps "
        f"(median {metric.median:.4f}, 5-95% {metric.low:.4f} to {metric.high:.4f})"
        for metric in body.metrics
    ]


def _text_body(subject: Subject, attribution: Attribution, parameters: Trust.Parameters, batcher: Batcher) -> TrustText:
    subject.warnings += own_warnings(subject, attribution.warnings)
    case = case_of(subject, attribution.scores[None])  # it reads a text that was not read yet, and counts that pass
    before = batcher.passes + batcher.recalled
    (results,) = compare_with_random(case, text_seed(subject), batcher)
    subject.forward += batcher.passes + batcher.recalled - before
    return TrustText(
        **text_fields(subject),
        method=parameters.method,
        scores=attribution.scores.tolist(),
        random_maps=RANDOM_MAPS,
        metrics=[_comparison(result, subject.units.features) for result in results],
    )


def _comparison(result: RandomComparison, features: Sequence[Feature]) -> Comparison:
    """Return one metric of an attribution of a text with these ``features``."""
    return Comparison(
        **result.metric.facts,
        value=result.metric_result.value,
        counted=result.metric_result.counted,
        beaten=result.beaten,
        median=result.median,
        low=result.low,
        high=result.high,
        steps=perturbed_texts(features, result.metric_result),
    )


def _means(column: Sequence[Comparison]) -> MeanComparison:
    """Average one metric over all texts that are long enough for it."""
    metric, long_enough = column[0], [comparison for comparison in column if comparison.counted]
    return MeanComparison(
        metric=metric.metric,
        preset=metric.preset,
        asked=metric.asked,
        label=metric.label,
        definition=metric.definition,
        higher_is_better=metric.higher_is_better,
        beaten=interval([comparison.beaten for comparison in long_enough]),
        value=interval([comparison.value for comparison in long_enough]),
        counted=len(long_enough),
    )


def _row(row: Row, body: TrustText) -> TrustRow:
    """Return the contribution of one text."""
    metrics = [
        RowComparison(asked=metric.asked, value=metric.value, beaten=metric.beaten, counted=metric.counted)
        for metric in body.metrics
    ]
    return TrustRow(row=row.number, text=row.text, text_pair=row.text_pair, label=row.label, metrics=metrics)
