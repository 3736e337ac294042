"""Every candidate of randomized path-integration by every metric, and the value of choosing among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.candidates.choice import means, selection
from explainlab.analyses.candidates.result import CandidatesData, CandidatesText
from explainlab.analyses.candidates.table import Table
from explainlab.analyses.candidates.verdict import data_verdict, text_verdict
from explainlab.analyses.parameters import PerturbingMetrics, Rows, Sample
from explainlab.analyses.records import MetricFacts, text_fields
from explainlab.analyses.summary import spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.diffusion import Candidate, Draw, Maps
from explainlab.attribution.method import TextSize
from explainlab.attribution.methods.randomized import BestOfMany
from explainlab.attribution.random_maps import AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import adaptively, evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.registry import MetricSpec, evaluation_passes, get_metric, metric_ids, parse_metric
from explainlab.models.context import PassCount
from explainlab.request import digest

PORTION = 8
"""Draws of one layer that are run together: enough to fill batches; a cancel loses little."""


def drawn(subject: Subject, maps: Maps, samples: int, decided: Mapping[str, Any]) -> list[Candidate]:
    """Draw ``samples`` in every layer of ``maps``, as :func:`explainlab.attribution.selection.at_random` makes them.

    ``decided`` holds the parameters on which a single candidate depends. Draws in the context's memory are not run
    again: those of a cancelled run, or of a run with fewer draws, other layers or other metrics.
    """
    starts = range(0, samples, PORTION)
    portions = [
        [maps.draw(layer, number) for number in range(start, min(start + PORTION, samples))]
        for layer in maps.layers
        for start in starts
    ]
    candidates = []
    for i, draws in enumerate(portions):
        with subject.batcher.span(i, i + 1, len(portions)):
            candidates += _portion(subject, maps, draws, decided)
    return candidates


def _portion(subject: Subject, maps: Maps, draws: Sequence[Draw], decided: Mapping[str, Any]) -> list[Candidate]:
    key = _key(subject, draws, decided)
    known = subject.context.recall(key)
    if known is None:
        candidates = maps.candidates(draws)
        subject.context.keep(key, {"scores": [candidate.scores.tolist() for candidate in candidates]})
        return candidates
    rows = zip(draws, known["scores"], strict=True)
    return [Candidate(draw.layer, draw.number, draw.timestep, np.array(scores)) for draw, scores in rows]


def _key(subject: Subject, draws: Sequence[Draw], decided: Mapping[str, Any]) -> str:
    classifier, encoding = subject.classifier, subject.encoding
    model = [classifier.digest, str(classifier.dtype), encoding.ids.tolist(), encoding.special.tolist()]
    request = [encoding.text, encoding.text_pair, subject.unit, subject.target.index, subject.output, subject.seed]
    return digest(["drawn", model, request, decided, [[draw.layer, draw.number, draw.timestep] for draw in draws]])


Family = Literal["rpi", "rpi_g", "rpi_ig", "rpi_sig"]
OTHER_K = (10, 50)
"""Per cent of the features: a metric at one k also chooses a candidate at these k, to compare the choices."""
USUAL_LAYERS, USUAL_TOKENS = 12, 32
"""Estimates of a model's layers and a text's tokens, for a cost before either is known."""


def _fits(family: Family, info: ValidationInfo) -> Family:
    """Return the family if it supports the requested layers and preset; else raise :class:`PydanticCustomError`."""
    if not issubclass(get_method(family).Parameters, AttentionParameters):
        for name in ("preset", "layers"):
            if info.data.get(name) != AttentionParameters.model_fields[name].default:
                raise PydanticCustomError("family", "{family} has no {name}", {"family": family, "name": name})
    return family


class RpiCandidates(TextAnalysis[CandidatesText, CandidatesData]):
    """All attributions of randomized path-integration by all metrics, the winners, and the value of a choice.

    Candidates are in draw order: the first draw of every layer, from the top layer down, then the second; those of an
    adaptive search in the order of the search. Of equal values that of the lowest layer wins, and there the first draw,
    as in the method itself; a metric that cannot tell the candidates apart chooses none. Metrics go by their keys
    (:attr:`explainlab.metrics.registry.MetricSpec.key`).

    The best of many by the metric that is reported is an oracle. So ``selection`` also has the ``first`` candidate, the
    ``mean`` of all, and the candidates that another metric chooses, or the same metric at another k (``held_out``).
    ``by_draws`` has no ``expected`` for an adaptive search, whose later draws depend on the first. The texts of a data
    set share the seed and with it the timesteps of their draws: their ``first`` and ``nested`` vary more with the seed
    than the intervals say.
    """

    class Parameters(AttentionParameters):
        family: Annotated[Family, AfterValidator(_fits)] = Field("rpi", description="The method that makes the maps.")
        metrics: PerturbingMetrics = Field(
            metric_ids("Perturbation"), description="Metrics, with options after colons: log_odds:k=10."
        )
        rows: Rows = 100
        sample: Sample = "first"

    id = "rpi_candidates"
    label = "RPI candidates"
    source = "Barkan et al. 2024 (paper 001), Eq. 5, Tables 1, 5 and 7"
    definition = "best of R by m: the map with the best m(map) of all R; expected best of r: over all subsets"
    version = 3

    def requirements(self, parameters: Parameters) -> Requirements:
        method = get_method(parameters.family)
        return Requirements(
            metrics=sorted({parameters.select_by, *(request.metric for request in _metrics(parameters).values())}),
            versions=[f"{method.id} {method.version}"],
            output=method.default_output(parameters.model_dump(mode="json")),
            gradients=_gradients(parameters),
            count_passes=partial(_passes, parameters),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[CandidatesText]:
        """See :meth:`TextAnalysis.of_texts`."""
        metrics, batcher = _metrics(parameters), subjects[0].batcher
        get_method(parameters.family).require(batcher.classifier)
        for request in metrics.values():
            get_metric(request.metric).require(batcher.classifier, request.parameters)
        drawn, parts = [], len(subjects) + 1
        for i, subject in enumerate(subjects):
            with batcher.span(i, i + 1, parts):
                drawn.append(_candidates(subject, parameters))
        scores = [np.stack([candidate.scores for candidate in candidates]) for _, candidates in drawn]
        with batcher.span(parts - 1, parts, parts):
            evaluated = evaluate_attributions(subjects, scores, list(metrics.values()), batcher)
        reported = list(_reported(parameters))
        return [
            _body(subject, layers, Table(candidates, metrics, reported, results), parameters)
            for subject, (layers, candidates), results in zip(subjects, drawn, evaluated, strict=True)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[CandidatesText], parameters: Parameters) -> CandidatesData:
        """See :meth:`TextAnalysis.of_rows`."""
        return means(rows, bodies)

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _gradients(parameters: RpiCandidates.Parameters) -> int:
    """Estimate the gradients that a usual text takes."""
    layers = USUAL_LAYERS if parameters.layers == "all" else len(parameters.layers.split(","))
    paths = USUAL_TOKENS if parameters.family == "rpi_sig" else 1
    metrics = _metrics(parameters).values()
    levels = sum(get_metric(request.metric).inputs(request.parameters, USUAL_TOKENS) for request in metrics)
    return parameters.samples * layers * (paths * parameters.steps + levels)


def _passes(parameters: RpiCandidates.Parameters, text: TextSize, depth: int) -> PassCount:
    """Return the passes of all candidates of a text, and of all metrics of each."""
    method = get_method(parameters.family)
    assert isinstance(method, BestOfMany)
    maps, made = method.drawn(parameters, text, depth)
    return made + evaluation_passes(_metrics(parameters).values(), text.features) * maps


def _headline(result: AnalysisResult[CandidatesText | CandidatesData]) -> str:
    """Say the gain of a choice by the first metric, and the part of it that the choices of other metrics keep."""
    body = result.body
    return text_verdict(body) if isinstance(body, CandidatesText) else data_verdict(body)


def _lines(result: AnalysisResult[CandidatesText | CandidatesData]) -> list[str]:
    """Return by metric: the first candidate, the mean of all, the best, and the choices of other metrics."""
    body = result.body
    rows = [
        {"reported": key, "choice": choice, "value": spelled(value)}
        for key, values in body.selection.items()
        for choice, value in (
            ("first", values.first),
            ("mean of all", values.mean),
            *((f"by {other}", chosen) for other, chosen in values.held_out.items()),
            ("best", values.best),
        )
    ]
    return [table(rows)]


def _reported(parameters: RpiCandidates.Parameters) -> dict[str, MetricSpec]:
    """Return the requested metrics, by their keys."""
    return {request.key: request for request in map(parse_metric, parameters.metrics)}


def _metrics(parameters: RpiCandidates.Parameters) -> dict[str, MetricSpec]:
    """Return the requested metrics, and those that choose for them at another k."""
    reported = _reported(parameters)
    others = [other for request in reported.values() for other in _at_other_k(request)]
    return reported | {other.key: other for other in others}


def _at_other_k(request: MetricSpec) -> list[MetricSpec]:
    """Return the same metric at another k; a mean over several k has none."""
    own = getattr(request.parameters, "k", None)
    others = [k for k in OTHER_K if own is not None and k != own]
    return [replace(request, parameters=request.parameters.model_copy(update={"k": k})) for k in others]


def _candidates(subject: Subject, parameters: RpiCandidates.Parameters) -> tuple[list[int], list[Candidate]]:
    """Return the layers that may be drawn, and all candidates in the order of the result."""
    method = get_method(parameters.family)
    assert isinstance(method, BestOfMany)
    maps = method.maps(subject, parameters)
    if parameters.search == "adaptive":
        return maps.layers, adaptively(maps, parameters.samples, parameters.select_by).candidates
    decided = parameters.model_dump(include={"family", "preset", "steps", "timesteps"}) | {"version": method.version}
    candidates = drawn(subject, maps, parameters.samples, decided)
    return maps.layers, sorted(candidates, key=lambda candidate: (candidate.draw, -candidate.layer))


def _body(subject: Subject, layers: list[int], table: Table, parameters: RpiCandidates.Parameters) -> CandidatesText:
    reported = table.reported
    return CandidatesText(
        **text_fields(subject),
        metrics=[MetricFacts(**request.facts) for request in table.metrics.values()],
        candidates=table.records(),
        winners={key: table.winners[key] for key in reported},
        counted={key: table.counted[key] for key in reported},
        agreement=table.agreement(subject.units.content),
        selection={key: selection(table.values, table.choices, key, _choosers(table, key)) for key in reported},
        by_draws={key: table.by_draws(key, parameters.search == "random") for key in reported},
        by_layer=table.by_layer(layers),
    )


def _choosers(table: Table, key: str) -> list[str]:
    """Return the other requested metrics, and the same metric at another k."""
    others = [*table.reported, *(other.key for other in _at_other_k(table.metrics[key]))]
    return [other for other in dict.fromkeys(others) if other != key]
