"""Methods at one budget of maps: what being allowed to choose among many is worth to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.attributions import attribution_of, own_output, text_seed
from explainlab.analyses.candidates.choice import mean_selection, selection
from explainlab.analyses.evaluation.analysis import EVALUATIONS, MOST_ROWS
from explainlab.analyses.parameters import Methods, Metrics, Settings
from explainlab.analyses.records import described
from explainlab.analyses.summary import spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import Candidates
from explainlab.attribution.randomized import BestOfMany
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import at_random, evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import parse
from explainlab.metrics.registry import FIVE, MetricRequest, get_metric, parse_metric
from explainlab.reader import Reader
from explainlab.request import digest

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
            [metric.id for metric in FIVE], description="Metrics, options after colons: log_odds:k=10."
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
        return [_body(subject, parameters) for subject in subjects]

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


def _body(subject: Subject, parameters: Ablation.Parameters) -> dict[str, Any]:
    asked, methods, maps = _asked(parameters), [], []
    for name in parameters.methods:
        before = subject.forward, subject.backward
        maps.append(_maps(subject, name, parameters))
        passes = {"forward": subject.forward - before[0], "backward": subject.backward - before[1]}
        methods.append({"method": name, "label": get_method(name).label, "maps": len(maps[-1]), "cost": passes})
    ends = np.cumsum([len(found) for found in maps])[:-1]
    (judged,) = evaluate_attributions([subject], [np.concatenate(maps)], asked, subject.batcher)
    values = np.array([[one.value for one in row] for row in judged])
    for method, found in zip(methods, np.split(values, ends), strict=True):
        method["selection"] = _selection(found, asked)
    return {**described(subject), "metrics": [request.told for request in asked], "methods": methods}


def _maps(subject: Subject, method_id: str, parameters: Ablation.Parameters) -> np.ndarray:
    """float64 [C, n_features]: the method's first ``samples`` maps of the text, or the only one it has."""
    method, settings, seed = get_method(method_id), parameters.settings.get(method_id, {}), text_seed(subject)
    output = own_output(subject, method_id, settings)
    if isinstance(method, BestOfMany):
        return _drawn(subject, method, parse(method, {**settings, "samples": parameters.samples}), output, seed)
    state = np.random.SeedSequence(seed).generate_state(parameters.samples - 1)
    seeds = [seed, *map(int, state)] if method.random else [seed]
    return np.stack([attribution_of(subject, method_id, settings, output, each).scores for each in seeds])


def _drawn(subject: Subject, method: BestOfMany, parameters: Any, output: str, seed: int) -> np.ndarray:
    own = Subject(
        subject.classifier,
        subject.encoding,
        target=subject.target.label,
        output=output,
        unit=subject.unit,
        seed=seed,
        context=subject.context,
    )
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
