"""The figures of any result, as the folder of its analysis declares them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from explainlab.analyses.ablation.figures import ablation
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates import figures as candidates
from explainlab.analyses.candidates.heatmaps import winner_maps
from explainlab.analyses.errors.figures import confusion
from explainlab.analyses.integration.step_morph import attribution
from explainlab.analyses.judged_map import figures as judged
from explainlab.analyses.mistake_drivers import figures as mistakes
from explainlab.analyses.registry import get_study
from explainlab.attribution.registry import methods
from explainlab.declared import parse
from explainlab.figures.chart import Chart
from explainlab.figures.declared import Figures, Map, StudyFigures, keyed
from explainlab.figures.heatmap import heatmap
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request

Body = dict[str, Any]


def figures_of(result: AnalysisResult[Any]) -> Figures:
    """The figures of ``result``: ``FIGURES`` in the folder of its analysis."""
    folder = type(get_study(result.request.question)).__module__.removesuffix(".analysis")
    declared = getattr(importlib.import_module(f"{folder}.figures"), "FIGURES", None)
    return declared.draw(result) if declared else _drawn(result)


def _drawn(result: AnalysisResult[Any]) -> Figures:
    """The figures of an analysis whose result is not typed yet."""
    old, record = STUDIES[result.request.question], result.to_json()
    draws = (old.of_text and (lambda _: old.of_text(record)), old.of_data and (lambda _: old.of_data(record)))
    return StudyFigures(*draws, lambda _: old.maps(record), old.none).draw(result)


# Charts --------------------------------------------------------------------------------------------------------------


def _ablation(body: Body) -> list[Chart]:
    return [keyed(metric["key"], ablation(body, metric["key"])) for metric in body["metrics"]]


def _evaluation(body: Body) -> list[Chart]:
    return [keyed(metric, judged.methods_by_metric(body, metric)) for metric in judged.metricskeyed(body)]


def _mistake_drivers(body: Body) -> list[Chart]:
    return [mistakes.drivers(body, kind) for kind in ("words", "pairs") if body[kind]]


def _candidates(body: Body) -> list[Chart]:
    keys = list(body["winners"])
    return [candidates.scatter(body, keys[0], keys[-1]), *_choice(body, keys)]


def _candidates_data(body: Body) -> list[Chart]:
    return [candidates.same_winners(body), *_choice(body, list(body["summary"]["selection"]))]


def _choice(body: Body, keys: Sequence[str]) -> list[Chart]:
    draws = [candidates.selection, candidates.by_draws, *([candidates.by_layer] if body["by_layer"] else [])]
    return [keyed(key, draw(body, key)) for key in keys for draw in draws]


# Maps ----------------------------------------------------------------------------------------------------------------


def _request(body: Body, method: str) -> Request:
    """What was asked of the text, as if ``method`` had been asked."""
    shared = ("model", "text", "text_pair", "output", "unit", "seed", "dtype")
    return Request(**{name: body[name] for name in shared}, question=method)


def _map(body: Body, method: str, scores: Sequence[float], signed: bool, title: str = "") -> Map:
    found = replace(attribution(_request(body, method), body, scores), signed=signed)
    drawn = heatmap(found)
    return Map(title or drawn.method, drawn)


def _signed(method: str, settings: Mapping[str, Any], scores: Sequence[float]) -> bool:
    """Whether a method's scores have signs; those of a file have where one is negative."""
    known = methods().get(method)
    return known.is_signed(parse(known, settings)) if known else min(scores) < 0


def _evaluation_maps(body: Body) -> list[Map]:
    settings = body["parameters"]["settings"]
    return [
        _map(body, name, scores, _signed(name, settings.get(name, {}), scores))
        for name, scores in body["scores"].items()
    ]


def _judged_maps(body: Body) -> list[Map]:
    scores = body["parameters"]["scores"]
    return [_map(body, "scores", scores, min(scores) < 0, "The map that was judged")]


def _trust_maps(body: Body) -> list[Map]:
    method, settings = body["method"], body["parameters"]["settings"]
    return [_map(body, method, body["scores"], _signed(method, settings, body["scores"]))]


def _winner_maps(body: Body) -> list[Map]:
    metrics = candidates.told(body)
    return [
        Map(
            f"Best by {', '.join(metrics[key]['label'] for key in winner.keys)}: "
            f"{candidates.candidate_name(body, winner.candidate)}",
            winner.drawn,
        )
        for winner in winner_maps(_request(body, body["parameters"]["family"]), body, DEFAULT)
    ]


STUDIES = {
    "ablation": StudyFigures(_ablation, _ablation),
    "evaluation": StudyFigures(_evaluation, _evaluation, _evaluation_maps),
    "judged_map": StudyFigures(
        lambda body: [judged.perturbed(body)], lambda body: [judged.perturbed(body)], _judged_maps
    ),
    "mistake_drivers": StudyFigures(None, _mistake_drivers, none="No word speaks for a wrong class."),
    "predictions": StudyFigures(None, lambda body: [confusion(body), mistakes.reliability_diagram(body)]),
    "rpi_candidates": StudyFigures(_candidates, _candidates_data, _winner_maps),
    "trust": StudyFigures(lambda body: [judged.against_random(body)], lambda body: [judged.beaten(body)], _trust_maps),
}
"""By the id of a study: adding a study adds a line here."""
