"""Every candidate of randomized path-integration, judged by every metric, and what choosing among them is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
import scipy.stats
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from explainlab.analyses.candidates.choice import mean_selection, selection
from explainlab.analyses.candidates.drawn import drawn
from explainlab.analyses.parameters import Metrics
from explainlab.analyses.records import described
from explainlab.analyses.summary import interval
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.diffusion import Candidate
from explainlab.attribution.randomized import AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import adaptively, evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import FIVE, MetricRequest, get_metric, parse_metric
from explainlab.models.context import Relay, RunContext
from explainlab.reader import Reader
from explainlab.request import Output, digest

Family = Literal["rpi", "rpi_g", "rpi_ig", "rpi_sig"]
OTHER_K = (10, 50)
"""Per cent of the features at which a metric of one k also chooses a map that is then judged by its own k."""
TOP = 3
USUAL_LAYERS, USUAL_TOKENS = 12, 32
"""What a model and a text have about, to tell a cost before either is known."""
MOST_BUDGETS = 32
"""Numbers of draws for which a data set has intervals."""


def _fits(family: Family, info: ValidationInfo) -> Family:
    """A method without layers and preset is not asked for any."""
    if not issubclass(get_method(family).Parameters, AttentionParameters):
        for name in ("preset", "layers"):
            if info.data.get(name) != AttentionParameters.model_fields[name].default:
                raise PydanticCustomError("family", "{family} has no {name}", {"family": family, "name": name})
    return family


Body = dict[str, Any]


class RpiCandidates(TextAnalysis[Body, Body]):
    """All maps of randomized path-integration with all their metrics, the winner by each, and what a choice is worth.

    Candidates stand in the order in which fewer draws would have made them: the first draw of every layer, from the
    top layer down, then the second; those of an adaptive search as it found them. Equal values: the first wins.
    Metrics go by their id, with the options that are not usual after colons, as
    :func:`explainlab.metrics.registry.parse_metric` reads them.

    The best of many by the metric that is reported is an oracle. ``selection`` tells beside it the ``first`` map, the
    ``mean`` of all, and what the metric says of maps chosen by something else (``held_out``: another metric, or the
    same one at another k). ``by_draws`` holds for r = 1..C of the C candidates the best of the first r (``nested``)
    and the expected best of r taken at random (``expected``; not of an adaptive search, where later draws are no
    sample of the first). ``by_layer`` holds the best of every layer alone and of the sets that grow from the top and
    from the bottom, where there is more than one. The texts of a data set share the seed and with it the timesteps of
    their draws, so that its ``first`` and ``nested`` hang on the seed more than their intervals tell.
    """

    class Parameters(AttentionParameters):
        family: Annotated[Family, AfterValidator(_fits)] = Field("rpi", description="The method that makes the maps.")
        metrics: Metrics = Field(
            [metric.id for metric in FIVE], description="Metrics, options after colons: log_odds:k=10."
        )
        rows: int = Field(100, ge=1, le=100_000, description="Texts of a data set.")

    id = "rpi_candidates"
    label = "RPI candidates"
    source = "Barkan et al. 2024 (paper 001), Eq. 5, Tables 1, 5 and 7"
    definition = "best of R by m: the map with the best m(map) of all R; expected best of r: over all subsets"

    def default_output(self, parameters: Mapping[str, Any]) -> Output:
        """That of the family."""
        return get_method(str(parameters.get("family", "rpi"))).default_output(parameters)

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The versions of the method and of all metrics."""
        names = [*(request.metric for request in _judges(parameters).values()), parameters.select_by]
        parts = [get_method(parameters.family), *map(get_metric, sorted(set(names)))]
        return digest([f"{one.id} {one.version}" for one in parts])

    def evaluations(self, parameters: Parameters) -> int:
        layers = USUAL_LAYERS if parameters.layers == "all" else len(parameters.layers.split(","))
        paths = USUAL_TOKENS if parameters.family == "rpi_sig" else 1
        judges = _judges(parameters).values()
        levels = sum(get_metric(one.metric).inputs(one.parameters, USUAL_TOKENS) for one in judges)
        return parameters.samples * layers * (paths * parameters.steps + levels)

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        judges, batcher = _judges(parameters), subjects[0].batcher
        get_method(parameters.family).require(batcher.classifier)
        for request in judges.values():
            get_metric(request.metric).require(batcher.classifier, request.parameters)
        batcher.context = passes = _Passes(batcher.context, self.evaluations(parameters) * len(subjects))
        for subject in subjects:
            subject.batcher, subject.context = batcher, passes
        found = [_candidates(subject, parameters) for subject in subjects]
        maps = [np.stack([candidate.scores for candidate in candidates]) for _, candidates in found]
        judged = evaluate_attributions(subjects, maps, list(judges.values()), batcher)
        return [
            _body(subject, layers, _Table(candidates, judges, values), parameters)
            for subject, (layers, candidates), values in zip(subjects, found, judged, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        budgets = _budgets(len(bodies[0]["candidates"]))
        return {
            "texts": [_text(row, body) for row, body in zip(rows, bodies, strict=True)],
            "metrics": bodies[0]["metrics"],
            "summary": {
                "n": len(bodies),
                "counted": {key: sum(b["counted"][key] > 0 for b in bodies) for key in bodies[0]["counted"]},
                "selection": mean_selection([body["selection"] for body in bodies]),
                "agreement": _mean_agreement([body["agreement"] for body in bodies]),
            },
            "draws": budgets,
            "by_draws": _mean_by_draws([body["by_draws"] for body in bodies], budgets),
            "by_layer": _mean_by_layer([body["by_layer"] for body in bodies]),
        }


# One text ------------------------------------------------------------------------------------------------------------


class _Passes(Relay):
    """Adds up the passes of one phase after another, of which about ``expected`` are to come."""

    def __init__(self, context: RunContext, expected: int) -> None:
        super().__init__(context)
        self._done, self._expected, self._of_phase = 0, expected, 0

    def report(self, done: int, total: int, phase: str) -> None:
        self._done += done - self._of_phase
        self._of_phase = done if done < total else 0
        self._context.report(min(self._done, self._expected), self._expected, phase)


def _asked(parameters: RpiCandidates.Parameters) -> dict[str, MetricRequest]:
    return {request.key: request for request in map(parse_metric, parameters.metrics)}


def _judges(parameters: RpiCandidates.Parameters) -> dict[str, MetricRequest]:
    """The metrics asked for, and those that choose for them at another k."""
    asked = _asked(parameters)
    others = [other for request in asked.values() for other in _at_other_k(request)]
    return asked | {other.key: other for other in others}


def _at_other_k(request: MetricRequest) -> list[MetricRequest]:
    """The same metric at another k; of a mean over several k there is none."""
    own = getattr(request.parameters, "k", None)
    others = [k for k in OTHER_K if own is not None and k != own]
    return [replace(request, parameters=request.parameters.model_copy(update={"k": k})) for k in others]


def _candidates(subject: Subject, parameters: RpiCandidates.Parameters) -> tuple[list[int], list[Candidate]]:
    """The layers that may be drawn, and all candidates in the order of the study."""
    method = get_method(parameters.family)
    maps = method.maps(subject, parameters)
    if parameters.search == "adaptive":
        return maps.layers, adaptively(maps, parameters.samples, parameters.select_by).candidates
    decided = parameters.model_dump(include={"family", "preset", "steps", "timesteps"}) | {"version": method.version}
    found = drawn(subject, maps, parameters.samples, decided)
    return maps.layers, sorted(found, key=lambda candidate: (candidate.draw, -candidate.layer))


@dataclass(frozen=True, eq=False)
class _Table:
    """C ``candidates`` of one text by metric: ``values`` float64 [C], ``counted`` features at most, by the key."""

    candidates: list[Candidate]
    judges: dict[str, MetricRequest]
    judged: list[list[MetricResult]]

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        return {key: np.array([row[i].value for row in self.judged]) for i, key in enumerate(self.judges)}

    @cached_property
    def counted(self) -> dict[str, int]:
        return {key: max(row[i].counted for row in self.judged) for i, key in enumerate(self.judges)}

    @cached_property
    def winners(self) -> dict[str, int]:
        return {key: int(self.merits(key).argmax()) for key in self.judges}

    def sign(self, key: str) -> int:
        """What turns values so that higher is better, and back."""
        return 1 if self.judges[key].higher_is_better else -1

    def merits(self, key: str) -> np.ndarray:
        return self.sign(key) * self.values[key]


def _body(subject: Subject, layers: list[int], table: _Table, parameters: RpiCandidates.Parameters) -> dict[str, Any]:
    asked = list(_asked(parameters))
    return {
        **described(subject),
        "metrics": [request.told for request in table.judges.values()],
        "candidates": [
            {
                "layer": candidate.layer,
                "draw": candidate.draw,
                "timestep": candidate.timestep,
                "scores": candidate.scores.tolist(),
                "metrics": {key: float(table.values[key][i]) for key in asked},
            }
            for i, candidate in enumerate(table.candidates)
        ],
        "winners": {key: table.winners[key] for key in asked},
        "counted": {key: table.counted[key] for key in asked},
        "agreement": [_agreement(subject, table, pair) for pair in combinations(asked, 2)],
        "selection": {key: selection(table.values, table.winners, key, _choosers(table, key, asked)) for key in asked},
        "by_draws": {key: _by_draws(table, key, parameters.search == "random") for key in asked},
        "by_layer": _by_layer(layers, table, asked),
    }


def _agreement(subject: Subject, table: _Table, pair: tuple[str, str]) -> dict[str, Any]:
    """Spearman's rank correlation of the content scores (None where a map is constant), and what is in one top only."""
    content = subject.units.content
    x, y = (table.candidates[table.winners[key]].scores[content] for key in pair)
    constant = np.ptp(x) == 0 or np.ptp(y) == 0
    first, second = (content[np.argsort(-scores, kind="stable")[:TOP]].tolist() for scores in (x, y))
    return {
        "first": pair[0],
        "second": pair[1],
        "rank_correlation": None if constant else float(scipy.stats.spearmanr(x, y).statistic),
        "only_first": [feature for feature in first if feature not in second],
        "only_second": [feature for feature in second if feature not in first],
    }


def _choosers(table: _Table, key: str, asked: Sequence[str]) -> list[str]:
    """The other metrics that were asked for, and the same one at another k."""
    others = [*asked, *(other.key for other in _at_other_k(table.judges[key]))]
    return [other for other in dict.fromkeys(others) if other != key]


def _by_draws(table: _Table, key: str, exchangeable: bool) -> dict[str, list[float]]:
    merits = table.merits(key)
    found = {"nested": np.maximum.accumulate(merits)} | ({"expected": expected_best(merits)} if exchangeable else {})
    return {kind: (table.sign(key) * best).tolist() for kind, best in found.items()}


def expected_best(merits: np.ndarray) -> np.ndarray:
    """float64 [C]: the expected largest of r of ``merits`` [C] drawn without replacement, for r = 1..C.

    With the order statistics m₍₁₎ ≤ ... ≤ m₍C₎ that is Σᵢ m₍ᵢ₎ · binom(i - 1, r - 1) / binom(C, r).
    """
    falling, count = np.sort(merits)[::-1], len(merits)
    places = np.arange(count, 1, -1)
    chances = (np.cumprod(np.append(r / count, (places - r) / (places - 1))) for r in range(1, count + 1))
    return np.array([chance @ falling for chance in chances])


def _by_layer(layers: list[int], table: _Table, asked: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    if len(layers) < 2:
        return {}
    sizes = range(1, len(layers) + 1)
    sets = {
        "alone": [[layer] for layer in layers],
        "top_down": [layers[-size:] for size in sizes],
        "bottom_up": [layers[:size] for size in sizes],
    }
    return {name: [_of_layers(each, table, asked) for each in found] for name, found in sets.items()}


def _of_layers(layers: list[int], table: _Table, asked: Sequence[str]) -> dict[str, Any]:
    """The best of their maps by every metric; None where an adaptive search has drawn none."""
    held = np.array([candidate.layer in layers for candidate in table.candidates])
    best = {key: table.sign(key) * float(table.merits(key)[held].max()) if held.any() else None for key in asked}
    return {"layers": layers, "maps": int(held.sum()), "best": best}


# A data set ----------------------------------------------------------------------------------------------------------


def _text(row: Row, body: dict[str, Any]) -> dict[str, Any]:
    winners = {key: body["candidates"][index] for key, index in body["winners"].items()}
    return {
        "row": row.number,
        "text": row.text,
        "text_pair": row.text_pair,
        "label": row.label,
        "counted": body["counted"],
        "winners": {
            key: {**{name: winner[name] for name in ("layer", "draw", "timestep")}, "value": winner["metrics"][key]}
            for key, winner in winners.items()
        },
        "selection": body["selection"],
    }


def _mean_agreement(found: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "first": pairs[0]["first"],
            "second": pairs[0]["second"],
            "rank_correlation": interval([p["rank_correlation"] for p in pairs if p["rank_correlation"] is not None]),
        }
        for pairs in zip(*found, strict=True)
    ]


def _budgets(count: int) -> list[int]:
    """Numbers of draws up to ``count``: all of them, or many spread evenly on a logarithmic scale."""
    if count <= MOST_BUDGETS:
        return list(range(1, count + 1))
    return np.unique(np.geomspace(1, count, MOST_BUDGETS).round().astype(int)).tolist()


def _mean_by_draws(found: Sequence[dict[str, Any]], budgets: Sequence[int]) -> dict[str, Any]:
    return {
        key: {kind: [interval([each[key][kind][r - 1] for each in found]) for r in budgets] for kind in one}
        for key, one in found[0].items()
    }


def _mean_by_layer(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """``maps``: how many a text has on average."""
    return {
        name: [
            {
                "layers": same[0]["layers"],
                "maps": float(np.mean([row["maps"] for row in same])),
                "best": {
                    key: interval([row["best"][key] for row in same if row["best"][key] is not None])
                    for key in same[0]["best"]
                },
            }
            for same in zip(*(each[name] for each in found), strict=True)
        ]
        for name in found[0]
    }
