"""Activation curves: a classifier's predictions as methods reveal a text's features one at a time, and the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from explainlab import declared
from explainlab.analyses.activation.result import (
    ActivationData,
    ActivationText,
    Curve,
    Direction,
    MeanCurve,
    MethodCost,
    MethodMeans,
    MethodScores,
    Similarity,
    TextAreas,
    data_verdict,
    text_verdict,
)
from explainlab.analyses.attributions import attributions_of, text_seed
from explainlab.analyses.base import AnalysisResult, Report, Requirements, passes_of
from explainlab.analyses.parameters import MethodSpecs, Outputs, Rows, Sample, method_spec
from explainlab.analyses.records import KnownInterval, text_fields
from explainlab.analyses.summary import Measure, Number, interval, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.method import TextSize
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, parse_spec
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.activation import Revealing
from explainlab.metrics.comparison import bands
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.presets import Filler
from explainlab.metrics.registry import evaluation_passes, get_metric, parse_metric
from explainlab.models.context import PassCount

EVALUATIONS = 500
"""An estimate of the gradients that a method with both curves costs for a text, before its length is known."""
DECIMALS = 7
"""Decimal places of stored probabilities: the precision of float32."""
DIRECTIONS: dict[Direction, str] = {"activation": "activation_auc", "inverse_activation": "inverse_activation_auc"}
"""The metric of each direction."""
_AREAS: dict[Direction, Measure] = {
    "activation": Measure("activation", "AS AUC", True),
    "inverse_activation": Measure("inverse_activation", "IAS AUC", False),
}
GRID = np.linspace(0, 1, 51)
"""Shares of the features at which the curves of texts of different lengths are averaged."""


class Activation(TextAnalysis[ActivationText, ActivationData]):
    """Both curves of every method: the probability of every class after k features are revealed, k = 0..n, with areas.

    Methods are named with their options, ``kernel_shap:samples=16n``; random is always among them. Every text has a
    seed of its own, as in :class:`explainlab.analyses.evaluation.analysis.Evaluation`. ``outputs`` says what methods
    explain; curves are always of probabilities. A curve's ``flip`` is the first k from which on every prediction is the
    target: 0 if the masked text is already predicted so, None if the whole text is not. A method's ``passes`` are its
    forward and backward passes; ``relative`` is what it spends beyond the one pass of any prediction: the cost of the
    paper's tables. With a ``reference``, the cosine of every method's content scores with the reference's.

    A data set has the mean of the target's curves, interpolated linearly on :data:`GRID`, and of the areas, with 95%
    intervals by the percentile bootstrap (:func:`explainlab.metrics.comparison.bootstrap`), where the paper takes
    ±1.96 s/√n; and every text's own areas.
    """

    class Parameters(declared.Parameters):
        methods: MethodSpecs = Field(
            ["integrated_gradients", "kernel_shap"],
            description="Methods, with options after colons: kernel_shap:samples=16n; random is always included.",
        )
        baseline: Filler = Field("mask", description="The token in place of each one that is not revealed yet.")
        reference: Annotated[str, AfterValidator(lambda name: method_spec(name) if name else "")] = Field(
            "",
            description=(
                "A method whose scores the others are compared with, such as kernel_shap:samples=16n; empty: none."
            ),
        )
        rows: Rows = 100
        sample: Sample = "first"
        outputs: Outputs = "own"

    id = "activation"
    label = "Activation curves"
    source = "Kariyappa et al. 2024 (paper 002), Tables 2 to 6, Figures 5, 8 and 9"
    definition = "p(the first k features of an order), the rest masked, over k/n; AUC by the trapezoid rule"

    def requirements(self, parameters: Parameters) -> Requirements:
        methods = [parse_spec(name) for name in _computed(parameters)]
        return Requirements(
            methods=methods,
            metrics=list(DIRECTIONS.values()),
            gradients=EVALUATIONS * len(methods),
            count_passes=partial(_passes, methods),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[ActivationText]:
        metrics = [parse_metric(f"{name}:baseline={parameters.baseline}") for name in DIRECTIONS.values()]
        for metric in metrics:
            get_metric(metric.metric).require(subjects[0].classifier, metric.parameters)
        names, batcher = _computed(parameters), subjects[0].batcher
        chosen = [(method.method, method.parameters.model_dump(mode="json")) for method in map(parse_spec, names)]
        with batcher.span(0, len(names), len(names) + 1):
            attributions = attributions_of(subjects, chosen, outputs=parameters.outputs)
        compared = len(parameters.methods)
        scores = [np.stack([result.scores for result in results[:compared]]) for results in attributions]
        with batcher.span(len(names), len(names) + 1, len(names) + 1):
            evaluated = evaluate_attributions(subjects, scores, metrics, batcher)
        return [
            _text_body(subject, dict(zip(names, results, strict=True)), values, parameters)
            for subject, results, values in zip(subjects, attributions, evaluated, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[ActivationText], parameters: Parameters) -> ActivationData:
        texts = [_areas(row, body) for row, body in zip(rows, bodies, strict=True)]
        return ActivationData(
            n=len(bodies),
            baseline=parameters.baseline,
            grid=GRID.tolist(),
            curves=[_mean_curve(i, bodies) for i in range(len(bodies[0].curves))],
            rows=[_means(i, bodies, texts) for i in range(len(parameters.methods))],
            reference=parameters.reference,
            similarity={name: _similarity([body.similarity[name] for body in bodies]) for name in bodies[0].similarity},
            texts=texts,
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _passes(methods: Sequence[MethodSpec], text: TextSize, depth: int) -> PassCount:
    """Return the passes of the maps of a text, and of both directions of each."""
    directions = [parse_metric(name) for name in DIRECTIONS.values()]
    judged = evaluation_passes(directions, text.features) * len(methods)
    return passes_of(methods, text, depth) + judged


def _headline(result: AnalysisResult[ActivationText] | AnalysisResult[ActivationData]) -> str:
    """Name the methods whose order tells the target soonest, beside random."""
    body = result.body
    return data_verdict(body) if isinstance(body, ActivationData) else text_verdict(body, result.request.unit)


def _lines(result: AnalysisResult[ActivationText] | AnalysisResult[ActivationData]) -> list[str]:
    """Return a line a method: both areas (with their intervals), where the prediction flips, and the cost."""
    body = result.body
    return _lines_of_data(body) if isinstance(body, ActivationData) else _lines_of_text(body)


def _numbers(result: AnalysisResult[ActivationData]) -> list[Number]:
    """Return both mean areas of every method."""
    body = result.body
    return [
        Number(area, row.area(way), row.n, row.method, row.label, body.areas(row.method, way))
        for way, area in _AREAS.items()
        for row in body.rows
    ]


def _computed(parameters: Activation.Parameters) -> list[str]:
    """Return every method to run; the reference comes last unless it is among those compared."""
    return list(dict.fromkeys([*parameters.methods, *filter(None, [parameters.reference])]))


# One text ------------------------------------------------------------------------------------------------------------


def _text_body(
    subject: Subject,
    attributions: dict[str, Attribution],
    evaluated: Sequence[Sequence[MetricResult]],
    parameters: Activation.Parameters,
) -> ActivationText:
    reference = attributions.get(parameters.reference)
    return ActivationText(
        **text_fields(subject),
        text_seed=text_seed(subject),
        baseline=parameters.baseline,
        methods=[_scores(name, attributions[name]) for name in parameters.methods],
        curves=[
            _curve(subject, name, attributions[name].scores, direction, value)
            for name, row in zip(parameters.methods, evaluated, strict=True)
            for direction, value in zip(DIRECTIONS, row, strict=True)
        ],
        reference=None if reference is None else _scores(parameters.reference, reference),
        similarity={}
        if reference is None
        else {name: _cosine(subject, attributions[name].scores, reference.scores) for name in parameters.methods},
    )


def _scores(name: str, attribution: Attribution) -> MethodScores:
    """Return the scores of a method and their cost, under its ``name`` with its options."""
    cost = attribution.cost
    passes = cost.forward + cost.backward
    return MethodScores(
        method=name,
        id=attribution.request.question,
        label=parse_spec(name).label,
        signed=attribution.signed,
        scores=attribution.scores.tolist(),
        cost=MethodCost(**asdict(cost), passes=passes, relative=passes - 1),
        warnings=list(attribution.warnings),
    )


def _curve(subject: Subject, name: str, scores: np.ndarray, direction: Direction, value: MetricResult) -> Curve:
    metric, probabilities = get_metric(DIRECTIONS[direction]), value.probabilities
    assert isinstance(metric, Revealing)
    return Curve(
        method=name,
        direction=direction,
        order=metric.order(scores[None], subject.units)[0].tolist(),
        k=list(range(len(probabilities))),
        probabilities=probabilities.round(DECIMALS).tolist(),
        auc=value.value,
        flip=flip(probabilities, subject.target.index),
    )


def flip(probabilities: np.ndarray, target: int) -> int | None:
    """Return the first k from which on ``target`` has the highest of ``probabilities`` float64 [n + 1, classes].

    None where another class is highest at the end; among equal probabilities the first class counts as the highest.
    """
    other = np.flatnonzero(probabilities.argmax(axis=1) != target)
    first = int(other[-1]) + 1 if len(other) else 0
    return first if first < len(probabilities) else None


def _cosine(subject: Subject, scores: np.ndarray, reference: np.ndarray) -> float | None:
    """Return the cosine of the content features' scores; None where either map is 0 on all of them."""
    x, y = scores[subject.units.content], reference[subject.units.content]
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else None


# A data set ----------------------------------------------------------------------------------------------------------


def _mean_curve(i: int, bodies: Sequence[ActivationText]) -> MeanCurve:
    """Return the ``i``-th curve averaged over texts, of the target's probability; no interval for a single text."""
    values = np.array([_on_grid(body.curves[i], body.target.index) for body in bodies])
    mean, low, high = (band.tolist() for band in bands(values))
    several, first = len(values) > 1, bodies[0].curves[i]
    return MeanCurve(
        method=first.method,
        direction=first.direction,
        mean=mean,
        low=low if several else None,
        high=high if several else None,
    )


def _on_grid(curve: Curve, target: int) -> np.ndarray:
    shares = np.array(curve.k) / curve.features
    values: np.ndarray = np.interp(GRID, shares, np.array(curve.probabilities)[:, target])
    return values


def _areas(row: Row, body: ActivationText) -> TextAreas:
    """Return the areas, flips and costs of one text."""
    auc: dict[str, dict[Direction, float]] = {}
    flips: dict[str, dict[Direction, int | None]] = {}
    for curve in body.curves:
        auc.setdefault(curve.method, {})[curve.direction] = curve.auc
        flips.setdefault(curve.method, {})[curve.direction] = curve.flip
    return TextAreas(
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        text_seed=body.text_seed,
        target=body.target.label,
        predicted=body.prediction.label,
        features=body.features_revealed,
        auc=auc,
        flip=flips,
        passes={method.method: method.cost.passes for method in body.methods},
        similarity=body.similarity,
    )


def _means(i: int, bodies: Sequence[ActivationText], texts: Sequence[TextAreas]) -> MethodMeans:
    """Return the ``i``-th method of the table: mean areas with intervals, and the mean cost of a text."""
    first = bodies[0].methods[i]
    costs = [body.methods[i].cost for body in bodies]
    areas = {way: _area([text.auc[first.method][way] for text in texts]) for way in DIRECTIONS}
    means = {name: float(np.mean([getattr(cost, name) for cost in costs])) for name in MethodCost.model_fields}
    return MethodMeans(method=first.method, id=first.id, label=first.label, **areas, **means, n=len(bodies))


def _area(values: Sequence[float]) -> KnownInterval:
    return KnownInterval(**interval(values).model_dump())


def _similarity(values: Sequence[float | None]) -> Similarity:
    """Return the mean over the texts whose cosine is defined."""
    known = [value for value in values if value is not None]
    return Similarity(**interval(known).model_dump(), n=len(known))


# For a reader --------------------------------------------------------------------------------------------------------


def _lines_of_text(body: ActivationText) -> list[str]:
    rows = []
    for method in body.methods:
        rising, falling = (body.curve(method.method, way) for way in DIRECTIONS)
        flips = "never" if rising.flip is None else rising.flip
        areas = {name: f"{curve.auc:.4f}" for name, curve in (("AS AUC", rising), ("IAS AUC", falling))}
        rows.append({"method": method.method, **areas, "flips at": flips, "passes": method.cost.passes})
    head = f"Target '{body.target.label}', {body.features_revealed} features, {body.baseline} where hidden"
    return [head, table(rows)]


def _lines_of_data(body: ActivationData) -> list[str]:
    rows = [
        {
            "method": row.method,
            "AS AUC": str(row.activation),
            "IAS AUC": str(row.inverse_activation),
            "passes": f"{row.passes:,.1f}",
            "cost (x)": f"{row.relative:,.1f}",
        }
        for row in body.rows
    ]
    close = [{"method": name, "cosine": str(similarity)} for name, similarity in body.similarity.items()]
    against = [f"Cosine with {body.reference}", table(close)] if close else []
    return [f"Means of {body.n} texts with 95% intervals", table(rows), *against]
