"""Methods by metrics: how good each method's attributions are over a data set, always beside random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.attributions import attributions_of, own_warnings, text_seed
from explainlab.analyses.base import AnalysisResult, Report, Requirements, passes_of
from explainlab.analyses.evaluation import statistics
from explainlab.analyses.evaluation.result import (
    REVERSED,
    TITLES,
    EvaluationData,
    EvaluationText,
    NoRationales,
    meaning,
    shown,
    withheld,
)
from explainlab.analyses.evaluation.statistics import Facts, facts_dtype
from explainlab.analyses.evaluation.table import kinds_of
from explainlab.analyses.evaluation.texts import EvaluatedRow, EvaluatedTexts, without_values
from explainlab.analyses.evaluation.verdict import (
    data_verdict,
    headline_numbers,
    left_out,
    shown_name,
    text_verdict,
)
from explainlab.analyses.parameters import (
    RANDOM,
    MethodSpecs,
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
from explainlab.analyses.planted.analysis import Planted, planted_truth
from explainlab.analyses.records import Passes, text_fields
from explainlab.analyses.reexplain import Repeater
from explainlab.analyses.summary import Number, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted
from explainlab.attribution.given import given_name, read_given
from explainlab.attribution.method import TextSize
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import evaluation_passes, explanations, get_metric, parse_metric
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount, RunContext
from explainlab.request import CompleteRequest
from explainlab.text.units import ABSENCES

EVALUATIONS = 2_000
"""An estimate of the gradients that a text costs, before its length is known."""


class Evaluation(TextAnalysis[EvaluationText, EvaluationData]):
    """Every method's attribution of every text by every metric; means with 95% bootstrap intervals over the texts.

    Methods are named with their options; ``settings`` holds by id the parameters that these names leave out.
    ``attributions`` are files of attributions made elsewhere (see :class:`explainlab.attribution.given.GivenMap`),
    evaluated under their files' names. Controls are always there: random, and every other method's scores with the
    opposite sign. Every text has a seed of its own, made of the request's seed and the text, so that each gets another
    random attribution.

    A data set also has differences to the best method with corrected tests, ranks, agreement between methods, and
    slices (:mod:`explainlab.analyses.evaluation.statistics`); those by class need labels, and nothing else does. The
    best is chosen on the same texts, so that it looks better than it is. A text too short for a metric has no value by
    it: k% of its features is less than one, and every map would score the same. Where rationales are planted words, the
    model is checked first (:class:`explainlab.analyses.planted.analysis.Planted`).
    """

    class Parameters(declared.Parameters):
        methods: MethodSpecs = Field(
            ["integrated_gradients"],
            description="Methods, with options after colons: kernel_shap:samples=16n; random is always included.",
        )
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
            """The names of all evaluated maps: the methods, then the files."""
            return [*self.methods, *map(given_name, self.attributions)]

        @property
        def reversed(self) -> dict[str, str]:
            """The name of each reversed control, with the name of the scores that it turns around."""
            return {f"{REVERSED}{name}": name for name in self.names if name != RANDOM}

        @property
        def chosen(self) -> list[MethodSpec]:
            """The methods with all their parameters."""
            return method_requests(self.methods, self.settings)

        @model_validator(mode="after")
        def _of_methods(self) -> Evaluation.Parameters:
            ids = {parse_spec(name).method for name in self.methods}
            for name in self.settings:
                if name not in ids:
                    raise PydanticCustomError("settings", "{name} is not among the methods", {"name": name})
            names = [*self.names, *self.reversed]
            if len(set(names)) < len(names):
                raise PydanticCustomError(
                    "names", "Two of {names} have the same name", {"names": ", ".join(self.names)}
                )
            return self

    id = "evaluation"
    label = "Evaluation"
    source = "Methods by metrics; the metrics' definitions name their papers"
    definition = "mean over texts of metric(method(text)), percentile bootstrap"
    version = 4

    def requirements(self, parameters: Parameters) -> Requirements:
        metrics = [parse_metric(name) for name in parameters.metrics]
        columns = dict.fromkeys(role for own in metrics for role in get_metric(own.metric).marks(own.parameters))
        return Requirements(
            methods=parameters.chosen,
            metrics=[own.metric for own in metrics],
            files=parameters.attributions,
            versions=[f"{Planted.id} {Planted.version}"] * ("rationale" in columns),
            uses_labels=True,
            extra_columns=list(columns),
            gradients=EVALUATIONS,
            count_passes=partial(_passes, parameters),
            table=partial(_table, parameters),
        )

    def compares(self, parameters: Parameters) -> bool:
        """Tell if a metric compares with the rationale of a text."""
        return "rationale" in self.requirements(parameters).extra_columns

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        """See :meth:`Analysis.run`."""
        if request.data is None or not self.compares(self.parameters(request)):
            return super().run(classifier, request, context)
        planted = planted_truth(classifier, request, context)
        result = super().run(classifier, request, context)
        return replace(result, body=result.body.model_copy(update={"planted": planted}))

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[EvaluationText]:
        metrics = metric_requests(parameters.metrics)
        others = [_imported(subject, parameters) for subject in subjects]
        batcher, count = subjects[0].batcher, len(parameters.methods)
        with batcher.span(0, count, count + 1):
            chosen = [(method.method, method.parameters.model_dump(mode="json")) for method in parameters.chosen]
            attributions = attributions_of(subjects, chosen, outputs=parameters.outputs)
        scores = [
            dict(zip(parameters.names, [*(result.scores for result in results), *imported], strict=True))
            for results, imported in zip(attributions, others, strict=True)
        ]
        with batcher.span(count, count + 1, count + 1):
            maps = [_with_reversed(columns, parameters) for columns in scores]
            again = Repeater(subjects, chosen, parameters.outputs, _explains(parameters))
            evaluated = evaluate_attributions(subjects, maps, metrics, batcher, again)
        return [
            _body(subject, dict(zip(parameters.methods, results, strict=True)), columns, parameters, values)
            for subject, results, columns, values in zip(subjects, attributions, scores, evaluated, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Facts, parameters: Parameters) -> EvaluationData:
        names, metrics = parameters.names, metric_requests(parameters.metrics)
        all_names, asked = [*names, *parameters.reversed], [metric.name for metric in metrics]
        values = statistics.columns(metrics, bodies["values"])
        comparisons = statistics.compared(len(names), metrics, values)
        ranks, critical = statistics.ranked(names, metrics, comparisons)
        passes = bodies["passes"].sum(axis=0).tolist()
        cost = {
            method: Passes[int](forward=forward, backward=backward)
            for method, (forward, backward) in zip(parameters.methods, passes, strict=True)
        }
        compares = self.compares(parameters)
        silent = bodies["silent"].sum(axis=0).tolist()
        return EvaluationData(
            n=len(rows),
            rows=statistics.method_rows(all_names, metrics, comparisons, bodies),
            cost_by_method=cost,
            texts=EvaluatedTexts(all_names, asked, bodies["values"], without_values(_others(rows, bodies, compares))),
            agreement=statistics.agreements(names, _signed(parameters, bodies), rows, bodies),
            ranks=ranks,
            critical=critical,
            slices=statistics.slices(all_names, metrics, values, rows, bodies),
            rationales=_no_rationales(bodies) if compares else None,
            failed={name: count for name, count in zip(parameters.methods, silent, strict=False) if count},
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _table(parameters: Evaluation.Parameters, labels: Sequence[str], texts: int) -> Facts:
    """Return the place for the facts of this many ``texts``."""
    counts = len(parameters.names), len(parameters.methods), len(parameters.reversed)
    return Facts(facts_dtype(*counts, len(metric_requests(parameters.metrics)), labels), texts)


def _passes(parameters: Evaluation.Parameters, text: TextSize, depth: int) -> PassCount:
    """Return the passes of all maps and metrics; the whole text is read once for all metrics."""
    metrics = metric_requests(parameters.metrics)
    evaluated = len(parameters.names) + len(parameters.reversed)
    made = passes_of(parameters.chosen, text, depth) * (1 + explanations(metrics))
    return made + PassCount(1) + evaluation_passes(metrics, text.features) * evaluated


def _headline(result: AnalysisResult[Any]) -> str:
    """Name the methods that the first metric separates, and say the lead of a single best one over random."""
    body = result.body
    metrics = [parse_metric(name) for name in result.request.parameters["metrics"]]
    if isinstance(body, EvaluationText):
        return f"By {metrics[0].label} on this text, {text_verdict(body, metrics[0])}."
    names = {row.asked for row in shown(result).body.rows}
    metric = next((metric for metric in metrics if metric.name in names), None)
    if metric is None:
        return withheld(body)
    said = f"By {metric.label} over {counted(body.texts_by(metric.name), 'text')}, {data_verdict(body, metric)}."
    return " ".join([said, *left_out(body, [metric.name])])


def _lines(result: AnalysisResult[Any]) -> list[str]:
    """Return a line a method and metric: the value of a text, or the mean of n texts with its interval."""
    if isinstance(result.body, EvaluationText):
        return [table([{"method": method, **values} for method, values in result.body.values.items()])]
    body = shown(result).body
    rows = [
        {"method": row.method, "metric": row.label, "mean": str(row.interval), "told apart": _told(row.told_apart)}
        for row in body.rows
    ]
    absent = f"; no rationale to compare with: {body.rationales}" if str(body.rationales or "") else ""
    told = "told apart: from the best of the metric, which these texts chose"
    failed = [f"{name} scored nothing in {counted(count, 'text')}" for name, count in body.failed.items()]
    kinds = [f"{TITLES[kind]}. {words}" for kind in kinds_of(body) if (words := meaning(body, kind))]
    tables = [table(rows), *kinds, f"n = {body.n}{absent}; {told}", *left_out(body)] if rows else []
    return [*tables, *failed, *filter(None, [withheld(body)])]


def _numbers(result: AnalysisResult[EvaluationData]) -> list[Number]:
    """Return the mean of every method by every metric, without the reversed controls."""
    return headline_numbers(result.body)


def _told(apart: bool | None) -> str:
    return "" if apart is None else "yes" if apart else "no"


def _others(rows: Sequence[Row], texts: Facts, compares: bool) -> Iterator[EvaluatedRow]:
    """Yield the record of every text without its values."""
    for place, row in enumerate(rows):
        yield EvaluatedRow.model_construct(
            row=row.number,
            text=row.text,
            text_pair=row.text_pair,
            label=row.label or "",
            values={},
            **{name: texts[name][place].item() for name in ("text_seed", "predicted", "features")},
            rationale=row.rationale if compares else None,
            rationale_pair=row.rationale_pair if compares else None,
            undefined=texts["undefined"][place].item() or None,
        )


def _signed(parameters: Evaluation.Parameters, texts: Facts) -> list[bool]:
    """Tell for each method if its scores have signs: as the method declares; for a file, if any score is negative."""
    own = [get_method(method.method).is_signed(method.parameters) for method in parameters.chosen]
    negative: list[bool] = np.any(texts["negative"], axis=0).tolist()
    return [*own, *negative[len(own) :]]


def _with_reversed(scores: dict[str, np.ndarray], parameters: Evaluation.Parameters) -> np.ndarray:
    """Return float64 [C, n_features]: the ``scores`` by name, then those of the controls."""
    return np.stack([*scores.values(), *(-scores[name] for name in parameters.reversed.values())])


def _explains(parameters: Evaluation.Parameters) -> list[int | None]:
    """Return for each map of :func:`_with_reversed` the place of the method that made it; None for a file's."""
    places = {name: place for place, name in enumerate(parameters.methods)}
    return [places.get(name) for name in (*parameters.names, *parameters.reversed.values())]


def _no_rationales(texts: Facts) -> NoRationales:
    return NoRationales(**{reason: np.count_nonzero(texts["undefined"] == reason) for reason in ABSENCES})


def _imported(subject: Subject, parameters: Evaluation.Parameters) -> list[np.ndarray]:
    files = map(read_given, parameters.attributions)
    return [file.scores(subject.encoding.text, subject.encoding.text_pair, subject.units.features) for file in files]


def _body(
    subject: Subject,
    attributions: dict[str, Attribution],
    scores: dict[str, np.ndarray],
    parameters: Evaluation.Parameters,
    evaluated: Sequence[list[MetricResult]],
) -> EvaluationText:
    """Return the body; ``attributions`` are our own, ``scores`` float64 [n_features] by name all but controls."""
    for name, own in attributions.items():
        subject.warnings += [f"{shown_name(name)}: {warning}" for warning in own_warnings(subject, own.warnings)]
    names = [metric.name for metric in metric_requests(parameters.metrics)]
    counted = {
        metric: max(result.counted for result in column)
        for metric, column in zip(names, zip(*evaluated, strict=True), strict=True)
    }
    values = {
        method: {
            metric: None if isnan(result.value) or not counted[metric] else result.value
            for metric, result in zip(names, row, strict=True)
        }
        for method, row in zip([*scores, *parameters.reversed], evaluated, strict=True)
    }
    return EvaluationText(
        **text_fields(subject),
        text_seed=text_seed(subject),
        values=values,
        counted=counted,
        scores={name: column.tolist() for name, column in scores.items()},
        costs={name: own.cost for name, own in attributions.items()},
        undefined=next((result.undefined for result in evaluated[0] if result.undefined), None),
    )
