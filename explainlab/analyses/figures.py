"""The figures of any result, as the folder of its analysis declares them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.integration import data_figures as integration_data
from explainlab.analyses.integration import figures as integration
from explainlab.analyses.integration.step_morph import attribution, path_maps
from explainlab.analyses.intermediate_predictions import figures as intermediate
from explainlab.analyses.intermediate_predictions.beliefs import beliefs
from explainlab.analyses.registry import get_study
from explainlab.figures.chart import Chart
from explainlab.figures.declared import Figures, Map, StudyFigures, keyed
from explainlab.figures.heatmap import heatmap
from explainlab.request import Request

Body = dict[str, Any]


def figures_of(result: AnalysisResult[Any]) -> Figures:
    """The figures of ``result``: ``FIGURES`` in the folder of its analysis."""
    name = type(get_study(result.request.question)).__module__.removesuffix("analysis") + "figures"
    declared = getattr(importlib.import_module(name), "FIGURES", None) if importlib.util.find_spec(name) else None
    return declared.draw(result) if isinstance(declared, StudyFigures) else _drawn(result)


def _drawn(result: AnalysisResult[Any]) -> Figures:
    """The figures of an analysis whose result is not typed yet."""
    old, record = STUDIES[result.request.question], result.to_json()
    return StudyFigures(
        lambda _: old.of_text(record) if old.of_text else (),
        lambda _: old.of_data(record) if old.of_data else (),
        lambda _: old.maps(record),
        old.none,
    ).draw(result)


# Charts --------------------------------------------------------------------------------------------------------------


def _integration(body: Body) -> list[Chart]:
    return [] if body["cancels"] else [integration.error_curve(body, body["parameters"]["tolerance"])]


def _integration_data(body: Body) -> list[Chart]:
    rules, tolerance = body["parameters"]["rules"], body["parameters"]["tolerance"]
    every = [integration_data.mean_by_rule(body, tolerance), integration_data.within_limit(body)]
    draws = (integration_data.error_boxes, integration_data.ideal_histogram)
    return [*every, *(keyed(rule, draw(body, rule, tolerance)) for rule in rules for draw in draws)]


def _paths(body: Body) -> list[Chart]:
    finest = max(path["steps"] for path in body["paths"])
    return [integration.gradient_curves(body, body["output"]), integration.token_strip(body, finest)]


# Maps ----------------------------------------------------------------------------------------------------------------


def _request(body: Body, method: str) -> Request:
    """What was asked of the text, as if ``method`` had been asked."""
    shared = ("model", "text", "text_pair", "output", "unit", "seed", "dtype")
    return Request(**{name: body[name] for name in shared}, question=method)


def _integration_maps(body: Body) -> list[Map]:
    found = body["adaptive"]
    request = _request(body, "integrated_gradients")
    drawn = heatmap(attribution(request, body, found["scores"], found["errors"]))
    return [Map(f"{drawn.method}, adaptive", drawn)]


def _path_maps(body: Body) -> list[Map]:
    _, drawn = path_maps(_request(body, "integrated_gradients"), body)
    return [Map(f"{one.method}, {path['steps']:,} steps", one) for one, path in zip(drawn, body["paths"], strict=True)]


def _belief_maps(body: Body) -> list[Map]:
    drawn = beliefs(_request(body, ""), body)
    return [Map(f"Probability of {body['target']['label']} after every {body['unit']}", drawn)]


STUDIES = {
    "integration_error": StudyFigures(
        _integration,
        _integration_data,
        _integration_maps,
        none="The output hardly changes from the baseline to the text: no error relative to that change is defined.",
    ),
    "intermediate_predictions": StudyFigures(
        lambda body: [intermediate.class_curves(body)], lambda body: [intermediate.settled(body)], _belief_maps
    ),
    "path_gradients": StudyFigures(_paths, lambda body: [integration.gradient_shares(body)], _path_maps),
}
"""By the id of a study: adding a study adds a line here."""
