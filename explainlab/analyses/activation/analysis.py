"""Activation curves: what a classifier says as methods reveal the features of a text one at a time, at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from explainlab import declared
from explainlab.analyses.attributions import attributions_of, text_seed
from explainlab.analyses.base import Study, described
from explainlab.analyses.evaluation.analysis import MOST_ROWS
from explainlab.analyses.parameters import MethodSpecs, method_spec
from explainlab.analyses.summary import interval, spelled, table
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method, parse_method
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.presets import Filler
from explainlab.metrics.registry import MetricRequest, get_metric, parse_metric
from explainlab.metrics.summary import bands
from explainlab.request import digest

EVALUATIONS = 500
"""What a method and its two curves may cost a text, which decides how many texts are judged together."""
DECIMALS = 7
"""Of the probabilities that are told: those that passes in float32 have."""
DIRECTIONS = {"activation": "activation_auc", "inverse_activation": "inverse_activation_auc"}
"""The metric of each direction."""
GRID = np.linspace(0, 1, 51)
"""Shares of the features at which the curves of texts of different lengths are averaged."""


class Activation(Study):
    """Both curves of every method: the probability of every class after k features are revealed, k = 0..n, with areas.

    Methods are written with their options, ``kernel_shap:samples=16n``, and go by that text; random is always among
    them, and every text has a seed of its own, as in :class:`explainlab.analyses.evaluation.analysis`. The output
    asked for is what methods explain; curves are of probabilities always. A curve's
    ``flip`` is the first k from which on every prediction is the target: 0 where the masked text is already so
    predicted, None where the whole text is not. ``passes`` of a method are its forward and backward passes,
    ``relative`` what it spends beyond the one pass that any prediction needs, in such passes: the cost of the paper's
    tables. With a ``reference``, the cosine of every method's scores of the content features with the reference's.

    A data set has the mean of the target's curves, interpolated linearly on :data:`GRID`, and of the areas, with 95%
    intervals by the percentile bootstrap (:func:`explainlab.metrics.summary.bootstrap`), where the paper takes
    ±1.96 s/√n; and every text's own areas.
    """

    class Parameters(declared.Parameters):
        methods: MethodSpecs = Field(
            ["integrated_gradients", "kernel_shap"],
            description="Methods, options after colons: kernel_shap:samples=16n; random is always among them.",
        )
        baseline: Filler = Field("mask", description="The token in place of each one that is not revealed yet.")
        reference: Annotated[str, AfterValidator(lambda name: method_spec(name) if name else "")] = Field(
            "", description="A method to whose scores all are compared, as kernel_shap:samples=16n; empty: none."
        )
        rows: int = Field(100, ge=1, le=MOST_ROWS, description="Texts of a data set.")

    id: ClassVar = "activation"
    label: ClassVar = "Activation curves"
    source: ClassVar = "Kariyappa et al. 2024 (paper 002), Tables 2 to 6, Figures 5, 8 and 9"
    definition: ClassVar = "p(the first k features of an order), the rest masked, over k/n; AUC by the trapezoid rule"

    def fingerprint(self, parameters: Parameters) -> str:
        """The versions of all methods and of both metrics, and the data that methods read."""
        asked = [parse_method(name) for name in _asked(parameters)]
        parts = [*(get_method(one.method) for one in asked), *map(get_metric, DIRECTIONS.values())]
        read = [data_digest(one.parameters.model_dump(mode="json")) for one in asked]
        return digest([[f"{part.id} {part.version}" for part in parts], read])

    def evaluations(self, parameters: Parameters) -> int:
        return EVALUATIONS * len(_asked(parameters))

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        metrics = [parse_metric(f"{name}:baseline={parameters.baseline}") for name in DIRECTIONS.values()]
        for metric in metrics:
            get_metric(metric.metric).require(subjects[0].classifier, metric.parameters)
        asked = [parse_method(name) for name in _asked(parameters)]
        batcher = subjects[0].batcher
        with batcher.span(0, len(asked), len(asked) + 1):
            maps = attributions_of(subjects, [(one.method, one.parameters.model_dump(mode="json")) for one in asked])
        compared = len(parameters.methods)
        scores = [np.stack([one.scores for one in found[:compared]]) for found in maps]
        with batcher.span(len(asked), len(asked) + 1, len(asked) + 1):
            judged = evaluate_attributions(subjects, scores, metrics, batcher)
        return [
            _body(subject, dict(zip(_asked(parameters), found, strict=True)), metrics, values, parameters)
            for subject, found, values in zip(subjects, maps, judged, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        curves = [_mean_curve([body["curves"][i] for body in bodies], bodies) for i in range(len(bodies[0]["curves"]))]
        texts = [_text(row, body) for row, body in zip(rows, bodies, strict=True)]
        return {
            "n": len(bodies),
            "baseline": parameters.baseline,
            "grid": GRID.tolist(),
            "curves": curves,
            "rows": [_table_row(i, bodies, texts) for i in range(len(parameters.methods))],
            "reference": parameters.reference,
            "similarity": {
                name: _similarity([body["similarity"][name] for body in bodies]) for name in bodies[0]["similarity"]
            },
            "texts": texts,
        }

    def lines(self, body: dict[str, Any]) -> list[str]:
        """A line a method: both areas (with their intervals), where the prediction flips, and the cost."""
        return _lines_of_rows(body) if "texts" in body else _lines_of_text(body)


def _asked(parameters: Activation.Parameters) -> list[str]:
    """Every method that is run, the reference last unless it is among those compared."""
    return list(dict.fromkeys([*parameters.methods, *filter(None, [parameters.reference])]))


# One text ------------------------------------------------------------------------------------------------------------


def _body(
    subject: Subject,
    maps: dict[str, Attribution],
    metrics: Sequence[MetricRequest],
    judged: Sequence[Sequence[MetricResult]],
    parameters: Activation.Parameters,
) -> dict[str, Any]:
    reference = maps.get(parameters.reference)
    found = zip(parameters.methods, judged, strict=True)
    return {
        **described(subject),
        "text_seed": text_seed(subject),
        "baseline": parameters.baseline,
        "methods": [_told(name, maps[name]) for name in parameters.methods],
        "curves": [
            _curve(subject, name, maps[name].scores, direction, metric, metric_result)
            for name, row in found
            for direction, metric, metric_result in zip(DIRECTIONS, metrics, row, strict=True)
        ],
        "reference": None if reference is None else _told(parameters.reference, reference),
        "similarity": {}
        if reference is None
        else {name: _cosine(subject, maps[name].scores, reference.scores) for name in parameters.methods},
    }


def _told(name: str, found: Attribution) -> dict[str, Any]:
    """A method under its ``name`` with its options, its scores and what they cost."""
    passes = found.cost.forward + found.cost.backward
    return {
        "method": name,
        "id": found.request.method,
        "label": parse_method(name).label,
        "signed": found.signed,
        "scores": found.scores.tolist(),
        "cost": {**asdict(found.cost), "passes": passes, "relative": passes - 1},
        "warnings": list(found.warnings),
    }


def _curve(
    subject: Subject, name: str, scores: np.ndarray, direction: str, metric: MetricRequest, metric_result: MetricResult
) -> dict[str, Any]:
    probabilities = metric_result.probabilities
    return {
        "method": name,
        "direction": direction,
        "order": get_metric(metric.metric).order(scores[None], subject.units)[0].tolist(),
        "k": list(range(len(probabilities))),
        "probabilities": probabilities.round(DECIMALS).tolist(),
        "auc": metric_result.value,
        "flip": flip(probabilities, subject.target.index),
    }


def flip(probabilities: np.ndarray, target: int) -> int | None:
    """The first k from which on ``target`` has the highest of ``probabilities`` float64 [n + 1, classes].

    None where it has not at the end; of equal probabilities that of the first class counts as the highest.
    """
    other = np.flatnonzero(probabilities.argmax(axis=1) != target)
    first = int(other[-1]) + 1 if len(other) else 0
    return first if first < len(probabilities) else None


def _cosine(subject: Subject, scores: np.ndarray, reference: np.ndarray) -> float | None:
    """Of the scores of the content features; None where all of either are zero."""
    x, y = scores[subject.units.content], reference[subject.units.content]
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else None


# A data set ----------------------------------------------------------------------------------------------------------


def _mean_curve(curves: Sequence[dict[str, Any]], bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One curve of every text, of the target's probability, averaged; no interval for a single text."""
    targets = [body["target"]["index"] for body in bodies]
    values = np.array([_on_grid(curve, target) for curve, target in zip(curves, targets, strict=True)])
    mean, low, high = (found.tolist() for found in bands(values))
    told = {key: curves[0][key] for key in ("method", "direction")}
    return {**told, "mean": mean, "low": low if len(values) > 1 else None, "high": high if len(values) > 1 else None}


def _on_grid(curve: dict[str, Any], target: int) -> np.ndarray:
    return np.interp(GRID, np.array(curve["k"]) / curve["k"][-1], np.array(curve["probabilities"])[:, target])


def _text(row: Row, body: dict[str, Any]) -> dict[str, Any]:
    """What a text contributes; ``auc``, ``flip`` and ``passes`` by method, the first two by direction."""
    by_method: dict[str, dict[str, dict[str, Any]]] = {"auc": {}, "flip": {}}
    for curve in body["curves"]:
        for key, found in by_method.items():
            found.setdefault(curve["method"], {})[curve["direction"]] = curve[key]
    return {
        "row": row.number,
        "text": row.text,
        "text_pair": row.text_pair,
        "label": row.label,
        "text_seed": body["text_seed"],
        "target": body["target"]["label"],
        "predicted": body["prediction"]["label"],
        "features": body["curves"][0]["k"][-1],
        **by_method,
        "passes": {one["method"]: one["cost"]["passes"] for one in body["methods"]},
        "similarity": body["similarity"],
    }


def _table_row(i: int, bodies: Sequence[dict[str, Any]], texts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One method of the table: mean areas with intervals, and the mean cost of a text."""
    told = bodies[0]["methods"][i]
    costs = [body["methods"][i]["cost"] for body in bodies]
    return {
        **{key: told[key] for key in ("method", "id", "label")},
        **{way: interval([text["auc"][told["method"]][way] for text in texts]) for way in DIRECTIONS},
        **{part: float(np.mean([cost[part] for cost in costs])) for part in costs[0]},
        "n": len(bodies),
    }


def _similarity(values: Sequence[float | None]) -> dict[str, Any]:
    """Over the texts that have one."""
    known = [value for value in values if value is not None]
    return {**interval(known), "n": len(known)}


# For a reader --------------------------------------------------------------------------------------------------------


def _lines_of_text(body: dict[str, Any]) -> list[str]:
    ways = {(curve["method"], curve["direction"]): curve for curve in body["curves"]}
    told = []
    for one in body["methods"]:
        rising, falling = (ways[one["method"], way] for way in DIRECTIONS)
        flips = "never" if rising["flip"] is None else rising["flip"]
        areas = {name: f"{curve['auc']:.4f}" for name, curve in (("AS AUC", rising), ("IAS AUC", falling))}
        told.append({"method": one["method"], **areas, "flips at": flips, "passes": one["cost"]["passes"]})
    head = f"Target '{body['target']['label']}', {body['curves'][0]['k'][-1]} features, {body['baseline']} where hidden"
    return [head, table(told)]


def _lines_of_rows(body: dict[str, Any]) -> list[str]:
    told = [
        {
            "method": row["method"],
            "AS AUC": spelled(row["activation"]),
            "IAS AUC": spelled(row["inverse_activation"]),
            "passes": f"{row['passes']:,.1f}",
            "cost (x)": f"{row['relative']:,.1f}",
        }
        for row in body["rows"]
    ]
    close = [{"method": name, "cosine": spelled(found)} for name, found in body["similarity"].items()]
    against = [f"Cosine with {body['reference']}", table(close)] if close else []
    return [f"Means of {body['n']} texts with 95% intervals", table(told), *against]
