"""Charts of many candidates: metric against metric, against draws, against layers, and the value of a choice.

All are pure functions of the body of ``rpi_candidates``, of a text or of a data set. A text's numbers are drawn like a
data set's means with their intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates.heatmaps import winner_maps
from explainlab.analyses.candidates.result import CandidatesData, CandidatesText, LayerSets, MeanSelection, Selection
from explainlab.analyses.records import Interval, as_interval, metric_of
from explainlab.attribution.registry import get_method
from explainlab.figures.chart import BLUE, GREY, RED, Chart, Style, add_cells, error_bars, layout, percent, shown
from explainlab.figures.declared import Map, StudyFigures, keyed
from explainlab.figures.heatmap import number
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request

Body = CandidatesText | CandidatesData

FIRST, MEAN, BEST = "First map (R = 1)", "Mean of all maps", "Best of all maps (an oracle)"
DRAWS = {
    "expected": Style("Best of r taken at random, expected", BLUE, "solid", "circle"),
    "nested": Style("Best of the first r", RED, "dot", "square"),
}
LAYERS: dict[LayerSets, Style] = {
    "alone": Style("One layer", BLUE, "solid", "circle"),
    "top_down": Style("Layers from the top", RED, "solid", "square"),
    "bottom_up": Style("Layers from the bottom", "#2a9568", "solid", "diamond"),
}
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star")
_COLORS = (BLUE, "#b3742a", "#2a9568", "#8b6bd6", "#c2479d", GREY)


def label_of(body: Body, key: str) -> str:
    """Return a metric's name with its preset."""
    return metric_of(body.metrics, key).label


def directed(body: Body, key: str) -> str:
    """Return the label of a metric with an arrow for the better direction."""
    return metric_of(body.metrics, key).directed_label


def ordered(body: CandidatesText, key: str) -> list[int]:
    """Return all candidates, the best by the metric ``key`` first; equal ones keep their order."""
    sign = metric_of(body.metrics, key).sign
    return sorted(range(len(body.candidates)), key=lambda i: -sign * body.candidates[i].metrics[key])


def candidate_rows(body: CandidatesText) -> list[dict[str, Any]]:
    """Return a row for each candidate: its number, its origin and every metric."""
    return [
        {
            "candidate": i,
            "layer": candidate.layer,
            "timestep": candidate.timestep,
            "draw": candidate.draw,
            **candidate.metrics,
        }
        for i, candidate in enumerate(body.candidates)
    ]


def scatter(body: CandidatesText, across: str, up: str, picked: int | None = None) -> Chart:
    """Draw every candidate by two metrics, a point to press; the best by either has a name, ``picked`` a ring."""
    figure = go.Figure(layout=layout(shown(directed(body, across)), shown(directed(body, up))))
    layers = sorted({candidate.layer for candidate in body.candidates}, reverse=True)
    for place, layer in enumerate(layers):
        _add_points(figure, body, (across, up), layer, place)
    for key in dict.fromkeys(key for key in (across, up) if key in body.chosen):
        best = body.candidates[body.winners[key]].metrics
        place_of = {"x": best[across], "y": best[up], "arrowcolor": GREY, "ax": 24, "ay": -28 if key == up else 28}
        figure.add_annotation(text=shown(f"best by {label_of(body, key)}"), **place_of)
    if picked is not None:
        values = body.candidates[picked].metrics
        figure.add_scatter(
            x=[values[across]],
            y=[values[up]],
            mode="markers",
            marker={"symbol": "circle-open", "size": 19, "color": RED, "line": {"width": 2.5}},
            name="The open map",
            hoverinfo="skip",
        )
    title = f"Candidates: {label_of(body, up)} against {label_of(body, across)}"
    alt = f"{title}: {len(body.candidates)} points."
    return Chart("candidates", title, alt, figure, candidate_rows(body))


def by_draws(body: Body, key: str) -> Chart:
    """Draw a metric of the chosen candidate against the number of candidates."""
    figure = go.Figure(layout=layout("Maps r among which the best is chosen", shown(directed(body, key))))
    lines = _lines(body, key)
    for kind, style in DRAWS.items():
        if kind in lines:
            _add_line(figure, style, body.draws, lines[kind], "lines+markers")
    rows = [
        {"metric": metric, "kind": kind, "r": r, **value.model_dump()}
        for metric in body.by_draws
        for kind, values in _lines(body, metric).items()
        for r, value in zip(body.draws, values, strict=True)
    ]
    title = f"{label_of(body, key)} against the number of draws"
    first, last = (number(lines["nested"][i].mean) for i in (0, -1))
    alt = f"{title}: the first map has {first}, the best of {body.draws[-1]} has {last}."
    notes = () if "expected" in lines else ("An adaptive search has no expectation: later draws depend on the first.",)
    return Chart("metric-against-draws", title, alt, figure, rows, notes)


def by_layer(body: Body, key: str) -> Chart:
    """Draw the best value of a metric in every layer alone, and in sets that grow from the top and from the bottom."""
    figure = go.Figure(layout=layout("Layers drawn from", shown(directed(body, key))))
    drawn: list[str] = []
    for kind, style in LAYERS.items():
        new = {_layers(layer_set.layers): as_interval(layer_set.best[key]) for layer_set in body.by_layer[kind]}
        new = {name: value for name, value in new.items() if name not in drawn and value.mean is not None}
        drawn += new
        _add_line(figure, style, list(new), list(new.values()), "markers")
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=drawn)
    rows = [
        {
            "metric": metric,
            "kind": kind,
            "layers": _layers(layer_set.layers),
            "maps": layer_set.maps,
            **as_interval(value).model_dump(),
        }
        for kind, sets in body.by_layer.items()
        for layer_set in sets
        for metric, value in layer_set.best.items()
    ]
    title = f"Best {label_of(body, key)} by layers"
    return Chart("metric-against-layers", title, f"{title}: each alone, and in sets.", figure, rows)


def choices(selection: Selection | MeanSelection, body: Body) -> list[tuple[str, Interval]]:
    """Return a metric's value by choice: the first, the mean of all, the winners by other metrics, its own winner."""
    held_out = [(f"Chosen by {label_of(body, other)}", value) for other, value in selection.held_out.items()]
    every = [(FIRST, selection.first), (MEAN, selection.mean), *held_out, (BEST, selection.best)]
    return [(name, as_interval(value)) for name, value in every]


def selection(body: Body, key: str) -> Chart:
    """Draw a metric of the candidates that other metrics choose, between the first and the best of all."""
    points = choices(body.selection[key], body)
    figure = go.Figure(layout=layout(shown(directed(body, key)), "", height=120 + 34 * len(points)))
    for names, style in (
        ([FIRST, MEAN], Style("No choice", GREY, "solid", "circle")),
        ([name for name, _ in points[2:-1]], Style("Chosen by another metric or another k", BLUE, "solid", "diamond")),
        ([BEST], Style("Chosen by the very metric that is reported", RED, "solid", "x")),
    ):
        drawn = [(name, value) for name, value in points if name in names]
        figure.add_scatter(
            x=[value.mean for _, value in drawn],
            y=[shown(name) for name, _ in drawn],
            error_x=error_bars([value for _, value in drawn]),
            mode="markers",
            name=style.label,
            marker={"color": style.color, "symbol": style.symbol, "size": 11},
            hovertemplate="%{y}: %{x:.4g}<extra></extra>",
        )
    order = [shown(name) for name, _ in points]
    figure.update_yaxes(categoryorder="array", categoryarray=order, autorange="reversed", title={"text": "Choice"})
    rows = [
        {"reported": metric, "choice": name, **value.model_dump()}
        for metric, values in body.selection.items()
        for name, value in choices(values, body)
    ]
    title = f"What the choice is worth: {label_of(body, key)}"
    first, best = (number(value.mean) for value in (points[0][1], points[-1][1]))
    return Chart("what-the-choice-is-worth", title, f"{title}: {first} of one map, {best} of the best.", figure, rows)


def same_winners(body: CandidatesData) -> Chart:
    """Draw the share of texts in which one metric's choice is as good as another's, a row for each reported metric."""
    keys = list(body.selection)
    shares = [[1.0 if a == b else body.selection[a].held_out[b].also_best for b in keys] for a in keys]
    labels, texts = [label_of(body, key) for key in keys], [[percent(share) for share in row] for row in shares]
    figure = go.Figure(layout=layout("Map chosen by", "As good as the best by", height=150 + 44 * len(keys)))
    hover = [
        [
            f"chosen by {chosen_by}: as good as the best by {reported} in {text} of the texts"
            for chosen_by, text in zip(labels, row, strict=True)
        ]
        for reported, row in zip(labels, texts, strict=True)
    ]
    colors = [(0, "rgba(47,128,208,0.05)"), (1, "rgba(47,128,208,0.55)")]
    add_cells(figure, labels, labels, shares, texts, hover, colors)
    rows = [
        {"reported": a, "chosen_by": b, "share": share}
        for a, row in zip(keys, shares, strict=True)
        for b, share in zip(keys, row, strict=True)
    ]
    title = f"How often two metrics choose equally well, of {body.summary.n} texts"
    return Chart("same-winners", title, f"{title}.", figure, rows)


def _add_points(figure: go.Figure, body: CandidatesText, keys: tuple[str, str], layer: int, place: int) -> None:
    points = [(i, candidate) for i, candidate in enumerate(body.candidates) if candidate.layer == layer]
    figure.add_scatter(
        x=[candidate.metrics[keys[0]] for _, candidate in points],
        y=[candidate.metrics[keys[1]] for _, candidate in points],
        mode="markers",
        name=f"Layer {layer}" if layer else "Candidates",
        marker={"color": _COLORS[place % len(_COLORS)], "symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 9},
        customdata=[[i, candidate.name] for i, candidate in points],
        hovertemplate="%{customdata[1]}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
    )


def _add_line(figure: go.Figure, style: Style, x: Sequence[str | int], values: Sequence[Interval], mode: str) -> None:
    figure.add_scatter(
        x=x,
        y=[value.mean for value in values],
        error_y=error_bars(values),
        mode=mode,
        name=style.label,
        line={"color": style.color, "dash": style.dash},
        marker={"color": style.color, "symbol": style.symbol, "size": 8},
        hovertemplate="%{x}: %{y:.4g}<extra>" + style.label + "</extra>",
    )


def _lines(body: Body, key: str) -> dict[str, list[Interval]]:
    """Return the best by a metric among each number of draws, by how these are taken."""
    kinds: Mapping[str, Sequence[float | Interval]] = body.by_draws[key].by_kind
    return {kind: [as_interval(value) for value in values] for kind, values in kinds.items()}


def _layers(layers: Sequence[int]) -> str:
    """Return ``3``, or ``1–3`` for a set without gaps, or ``1, 3``."""
    if len(layers) == 1:
        return str(layers[0])
    gapless = layers == list(range(layers[0], layers[-1] + 1))
    return f"{layers[0]}–{layers[-1]}" if gapless else ", ".join(map(str, layers))


def family_request(request: Request) -> Request:
    """Return ``request`` for the method of its candidates, with that method's parameters, to draw their heatmaps."""
    shared = request.model_dump(include={"model", "text", "text_pair", "target", "output", "unit", "seed", "dtype"})
    family = request.parameters["family"]
    own = get_method(family).Parameters.model_fields
    parameters = {name: value for name, value in request.parameters.items() if name in own}
    return Request(**shared, question=family, parameters=parameters)


def _text_charts(result: AnalysisResult[CandidatesText]) -> Iterator[Chart]:
    keys = list(result.body.winners)
    yield scatter(result.body, keys[0], keys[-1])
    yield from _choice(result.body)


def _data_charts(result: AnalysisResult[CandidatesData]) -> Iterator[Chart]:
    yield same_winners(result.body)
    yield from _choice(result.body)


def _choice(body: Body) -> Iterator[Chart]:
    for key in body.selection:
        for draw in (selection, by_draws, *([by_layer] if body.by_layer else [])):
            yield keyed(key, draw(body, key))


def _winner_heatmaps(result: AnalysisResult[CandidatesText]) -> Iterator[Map]:
    body = result.body
    for winner in winner_maps(family_request(result.request), body, DEFAULT):
        labels = ", ".join(label_of(body, key) for key in winner.keys)
        yield Map(f"Best by {labels}: {body.candidates[winner.candidate].name}", winner.drawn)


FIGURES = StudyFigures(_text_charts, _data_charts, _winner_heatmaps)
