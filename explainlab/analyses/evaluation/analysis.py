"""Methods by metrics: how good each method's attributions are over a data set, always beside random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.attributions import attributions_of, own_warnings, text_seed
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import EvaluatedRow, EvaluationData, EvaluationText, MethodMetric
from explainlab.analyses.parameters import (
    Methods,
    Metrics,
    Names,
    Outputs,
    Rows,
    Sample,
    Settings,
    listed,
    method_requests,
    metric_requests,
)
from explainlab.analyses.records import Passes, text_fields
from explainlab.analyses.summary import interval, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import ahead, ahead_on_a_text, counted
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.given import given_name, read_given
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodRequest, get_method, label_of, member_versions
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row, source_digest
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import MetricRequest, evaluation_work, get_metric, parse_metric
from explainlab.reader import Reader
from explainlab.request import digest

EVALUATIONS = 2_000
"""A text's estimated cost in gradients; decides how many texts run together."""


class Evaluation(TextAnalysis[EvaluationText, EvaluationData]):
    """Every method's attribution of every text by every metric; means with 95% bootstrap intervals over the texts.

    ``settings`` holds the parameters of methods by id. ``attributions`` are files of attributions made elsewhere (see
    :class:`explainlab.attribution.given.GivenMap`), evaluated under their files' names. Every text has a seed of its
    own, made of the request's seed and the text, so that each gets another random attribution.
    """

    class Parameters(declared.Parameters):
        methods: Methods = Field(["integrated_gradients"], description="Method ids; random is always included.")
        metrics: Metrics = Field(
            ["comprehensiveness", "sufficiency"], description="Metrics, with options after colons: log_odds:k=10."
        )
        settings: Settings = Field({}, description="Parameters of the methods, by id.")
        attributions: Annotated[Names, BeforeValidator(listed)] = Field(
            [], description="JSON files of attributions made elsewhere."
        )
        rows: Rows = 100
        sample: Sample = "first"
        outputs: Outputs = "own"

        @property
        def names(self) -> list[str]:
            """The names of what is evaluated: the methods, then the files."""
            return [*self.methods, *map(given_name, self.attributions)]

        @model_validator(mode="after")
        def _of_methods(self) -> Evaluation.Parameters:
            for name in self.settings:
                if name not in self.methods:
                    raise PydanticCustomError("settings", "{name} is not among the methods", {"name": name})
            if len(set(self.names)) < len(self.names):
                raise PydanticCustomError(
                    "names", "Two of {names} have the same name", {"names": ", ".join(self.names)}
                )
            return self

    id = "evaluation"
    label = "Evaluation"
    source = "Methods by metrics; the metrics' definitions name their papers"
    definition = "mean over texts of metric(method(text)), percentile bootstrap"
    labelled = True
    TextBody = EvaluationText
    DataBody = EvaluationData

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The versions of all methods and metrics, and the data that methods read."""
        used = [get_method(name) for name in parameters.methods]
        metrics = [get_metric(parse_metric(name).metric) for name in parameters.metrics]
        read = [data_digest(values, reader) for values in parameters.settings.values()]
        read += [source_digest(path, reader) for path in parameters.attributions]
        versions = [f"{method.id} {method.version}" for method in used]
        versions += [line for own in self.method_requests(parameters) for line in member_versions(own, reader)]
        versions += [f"{metric.id} {metric.version}" for metric in metrics]
        return digest([versions, read])

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[EvaluationText]:
        metrics = metric_requests(parameters.metrics)
        others = [_imported(subject, parameters) for subject in subjects]
        batcher, count = subjects[0].batcher, len(parameters.methods)
        with batcher.span(0, count, count + 1):
            chosen = [(name, parameters.settings.get(name, {})) for name in parameters.methods]
            attributions = attributions_of(subjects, chosen, outputs=parameters.outputs)
        scores = [
            np.stack([*(result.scores for result in results), *imported])
            for results, imported in zip(attributions, others, strict=True)
        ]
        with batcher.span(count, count + 1, count + 1):
            evaluated = evaluate_attributions(subjects, scores, metrics, batcher)
        return [
            _body(subject, results, dict(zip(parameters.names, rows, strict=True)), metrics, values)
            for subject, results, rows, values in zip(subjects, attributions, scores, evaluated, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[EvaluationText], parameters: Parameters) -> EvaluationData:
        table = [
            _method_metric(method, metric, bodies)
            for method in parameters.names
            for metric in metric_requests(parameters.metrics)
        ]
        cost = {
            method: Passes[int](
                forward=sum(body.costs[method].forward for body in bodies),
                backward=sum(body.costs[method].backward for body in bodies),
            )
            for method in parameters.methods
        }
        texts = [
            EvaluatedRow(
                row=row.number,
                text=row.text,
                text_pair=row.text_pair,
                label=row.label,
                values=body.values,
                text_seed=body.text_seed,
            )
            for row, body in zip(rows, bodies, strict=True)
        ]
        return EvaluationData(n=len(bodies), rows=table, cost_by_method=cost, texts=texts)

    def method_requests(self, parameters: Parameters) -> list[MethodRequest]:
        """See :meth:`Analysis.method_requests`."""
        return method_requests(parameters.methods, parameters.settings)

    def work(self, parameters: Parameters, n: int, depth: int) -> float:
        """See :meth:`Analysis.work`."""
        metrics = metric_requests(parameters.metrics)
        return super().work(parameters, n, depth) + len(parameters.names) * evaluation_work(metrics, n)

    def evaluations(self, parameters: Parameters) -> int:
        return EVALUATIONS

    def headline(self, result: AnalysisResult[EvaluationText | EvaluationData]) -> str:
        """Who is ahead by the first metric, as far as the intervals allow."""
        body = result.body
        metric = parse_metric(result.request.parameters["metrics"][0])
        if isinstance(body, EvaluationText):
            values = {label_of(method): row[metric.name] for method, row in body.values.items()}
            return f"By {metric.label} on this text, {ahead_on_a_text(values, metric.higher_is_better)}."
        means = {label_of(row.method): row.interval for row in body.rows if row.asked == metric.name}
        return f"By {metric.label} over {counted(body.n, 'text')}, {ahead(means, metric.higher_is_better)}."

    def lines(self, result: AnalysisResult[EvaluationText | EvaluationData]) -> list[str]:
        """A line a method and metric: the value of a text, or the mean of n texts with its interval."""
        body = result.body
        if isinstance(body, EvaluationText):
            return [table([{"method": method, **values} for method, values in body.values.items()])]
        rows = [{"method": row.method, "metric": row.label, "mean": str(row.interval)} for row in body.rows]
        return [table(rows), f"n = {body.n}"]


def _method_metric(method: str, metric: MetricRequest, bodies: Sequence[EvaluationText]) -> MethodMetric:
    return MethodMetric(
        method=method,
        **metric.facts,
        **interval([body.values[method][metric.name] for body in bodies]).model_dump(),
        n=len(bodies),
        counted=sum(body.counted[metric.name] > 0 for body in bodies),
    )


def _imported(subject: Subject, parameters: Evaluation.Parameters) -> list[np.ndarray]:
    files = map(read_given, parameters.attributions)
    return [file.scores(subject.encoding.text, subject.encoding.text_pair, subject.units.features) for file in files]


def _body(
    subject: Subject,
    attributions: Sequence[Attribution],
    scores: dict[str, np.ndarray],
    metrics: Sequence[MetricRequest],
    evaluated: Sequence[list[MetricResult]],
) -> EvaluationText:
    """``attributions`` are our own; ``scores`` float64 [n_features] by name are of all that is evaluated."""
    for own in attributions:
        label = label_of(own.request.question)
        subject.warnings += [f"{label}: {warning}" for warning in own_warnings(subject, own.warnings)]
    names = [metric.name for metric in metrics]
    values = {
        method: {metric: result.value for metric, result in zip(names, row, strict=True)}
        for method, row in zip(scores, evaluated, strict=True)
    }
    return EvaluationText(
        **text_fields(subject),
        text_seed=text_seed(subject),
        values=values,
        counted={metric: result.counted for metric, result in zip(names, evaluated[0], strict=True)},
        scores={name: column.tolist() for name, column in scores.items()},
        costs={own.request.question: own.cost for own in attributions},
    )
