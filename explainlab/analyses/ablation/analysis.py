"""Methods at one budget of maps: what being allowed to choose among many is worth to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.attributions import attributions_of, own_output, text_seed
from explainlab.analyses.candidates.choice import mean_selection, selection
from explainlab.analyses.evaluation.analysis import EVALUATIONS, MOST_ROWS
from explainlab.analyses.parameters import Methods, Metrics, Settings
from explainlab.analyses.records import described
from explainlab.analyses.summary import spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import Candidates
from explainlab.attribution.methods.randomized import BestOfMany
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import at_random, evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import parse
from explainlab.metrics.registry import MetricRequest, get_metric, metric_ids, parse_metric
from explainlab.reader import Reader
from explainlab.request import Output, digest

TABLE_6 = ["rpi", "rpi_g", "rpi_ig", "rpi_sig", "integrated_gradients", "sequential_integrated_gradients"]


Body = dict[str, Any]


class Ablation(TextAnalysis[Body, Body]):
    """Every method with as many maps of a text as every other, where it has anything random in it; else its one.

    By every metric the ``first`` map, the ``mean`` of all, the ``best`` by that very metric (an oracle), and the maps
    that are the best by the other metrics (``held_out``). Several layers give a family of RPI as many maps as the
    others all the same: the first draws of each. The seeds are the text's own, as in
    :class:`explainlab.analyses.evaluation.analysis.Evaluation`.
    """

    class Parameters(declared.Parameters):
        methods: Methods = Field(TABLE_6, description="Method ids; random is always among them.")
        samples: Candidates = Field(24, description="Maps of every method that has anything random in it.")
        metrics: Metrics = Field(
            metric_ids("Perturbation"), description="Metrics, options after colons: log_odds:k=10."
        )
        settings: Settings = Field({}, description="Parameters of the methods, by id.")
        rows: int = Field(100, ge=1, le=MOST_ROWS, description="Texts of a data set.")

    id = "ablation"
    label = "Methods at one budget"
    source = "Barkan et al. 2024 (paper 001), Table 6, with random maps of the same number beside them"
    definition = "by m: m(first map), mean m, best m of R maps, m of the map that is best by another metric"

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The versions of all methods and metrics, and the data that methods read."""
        judges = [get_metric(request.metric) for request in _asked(parameters)]
        parts = [*map(get_method, parameters.methods), *judges]
        read = [data_digest(values, reader) for values in parameters.settings.values()]
        return digest([[f"{one.id} {one.version}" for one in parts], read])

    def evaluations(self, parameters: Parameters) -> int:
        return EVALUATIONS * len(parameters.methods)

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        for name in parameters.methods:
            get_method(name).require(subjects[0].classifier)
        batcher, parts, columns = subjects[0].batcher, len(parameters.methods) + 1, []
        for i, name in enumerate(parameters.methods):
            with batcher.span(i, i + 1, parts):
                columns.append(_measured(subjects, name, parameters))
        bodies, rows = [], list(zip(*columns, strict=True))
        for i, (subject, found) in enumerate(zip(subjects, rows, strict=True)):
            with batcher.span((parts - 1) * len(rows) + i, (parts - 1) * len(rows) + i + 1, parts * len(rows)):
                bodies.append(_body(subject, found, parameters))
        return bodies

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        every = zip(*(body["methods"] for body in bodies), strict=True)
        return {
            "metrics": bodies[0]["metrics"],
            "methods": [_over_texts(found) for found in every],
            "summary": {"n": len(bodies)},
            "texts": [
                {"row": row.number, "text": row.text, "methods": body["methods"]}
                for row, body in zip(rows, bodies, strict=True)
            ],
        }

    def lines(self, result: Any) -> list[str]:
        body = result.body
        """A line a method and metric: the first map, all on average, the best by the metric itself, and the passes."""
        told = [
            {
                "method": one["method"],
                "maps": one["maps"],
                "metric": metric["label"],
                **{part: _spelled(one["selection"][metric["key"]][part]) for part in ("first", "mean", "best")},
                "passes": f"{sum(one['cost'].values()):,.0f}",
            }
            for one in body["methods"]
            for metric in body["metrics"]
        ]
        return [table(told)]


def _spelled(found: float | dict[str, float | None]) -> str:
    return spelled(found) if isinstance(found, dict) else f"{found:.4f}"


def _asked(parameters: Ablation.Parameters) -> list[MetricRequest]:
    return [parse_metric(name) for name in parameters.metrics]


Measured = tuple[dict[str, Any], np.ndarray]
"""What is told of a method on one text, and its maps float64 [C, n_features]."""


def _measured(subjects: Sequence[Subject], name: str, parameters: Ablation.Parameters) -> list[Measured]:
    """The method's maps of every text, and the passes that they took."""
    before = [(subject.forward, subject.backward) for subject in subjects]
    maps = _maps(subjects, name, parameters)
    label = get_method(name).label
    return [
        (
            {
                "method": name,
                "label": label,
                "maps": len(found),
                "cost": {"forward": subject.forward - forward, "backward": subject.backward - backward},
            },
            found,
        )
        for subject, found, (forward, backward) in zip(subjects, maps, before, strict=True)
    ]


def _body(subject: Subject, measured: Sequence[Measured], parameters: Ablation.Parameters) -> dict[str, Any]:
    requests, maps = _asked(parameters), [found for _, found in measured]
    ends = np.cumsum([len(found) for found in maps])[:-1]
    (judged,) = evaluate_attributions([subject], [np.concatenate(maps)], requests, subject.batcher)
    values = np.split(np.array([[one.value for one in row] for row in judged]), ends)
    methods = [
        {**method, "selection": _selection(own, requests)} for (method, _), own in zip(measured, values, strict=True)
    ]
    return {**described(subject), "metrics": [request.told for request in requests], "methods": methods}


def _maps(subjects: Sequence[Subject], method_id: str, parameters: Ablation.Parameters) -> list[np.ndarray]:
    """float64 [C, n_features] of every text: the method's first ``samples`` maps, or the only one it has."""
    method, settings = get_method(method_id), parameters.settings.get(method_id, {})
    if isinstance(method, BestOfMany):
        chosen = parse(method, {**settings, "samples": parameters.samples})
        found = []
        for i, subject in enumerate(subjects):
            with subject.batcher.span(i, i + 1, len(subjects)):
                found.append(_drawn(subject, method, chosen, own_output(subject, method_id, settings)))
        return found
    count = parameters.samples if method.random else 1
    every = [subject for subject in subjects for _ in range(count)]
    seeds = [seed for subject in subjects for seed in _seeds(text_seed(subject), count)]
    rows = [found.scores for (found,) in attributions_of(every, [(method_id, settings)], seeds=seeds)]
    return [np.stack(rows[start : start + count]) for start in range(0, len(rows), count)]


def _seeds(first: int, count: int) -> list[int]:
    return [first, *map(int, np.random.SeedSequence(first).generate_state(count - 1))]


def _drawn(subject: Subject, method: BestOfMany, parameters: Any, output: Output) -> np.ndarray:
    own = subject.again(output=output, seed=text_seed(subject), baseline_data="")
    found = sorted(at_random(method.maps(own, parameters), parameters.samples), key=lambda one: (one.draw, -one.layer))
    subject.forward += own.forward
    subject.backward += own.backward
    return np.stack([one.scores for one in found[: parameters.samples]])


def _selection(values: np.ndarray, asked: Sequence[MetricRequest]) -> dict[str, Any]:
    """By every metric, from ``values`` float64 [C, metrics]: see :mod:`explainlab.analyses.candidates.choice`."""
    columns = {request.key: values[:, i] for i, request in enumerate(asked)}
    winners = {one.key: int((columns[one.key] * (1 if one.higher_is_better else -1)).argmax()) for one in asked}
    return {key: selection(columns, winners, key, [other for other in columns if other != key]) for key in columns}


def _over_texts(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One method over all texts: means with intervals, and passes a text."""
    first = found[0]
    return {
        **{name: first[name] for name in ("method", "label", "maps")},
        "cost": {part: float(np.mean([one["cost"][part] for one in found])) for part in first["cost"]},
        "selection": mean_selection([one["selection"] for one in found]),
    }
