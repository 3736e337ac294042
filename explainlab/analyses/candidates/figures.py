"""Charts of many candidates: metric against metric, against draws, against layers, and what a choice is worth.

All are pure functions of the body of the study ``rpi_candidates``, of one text or of a data set. Where a data set has a
mean with its interval, one text has a number; both are drawn alike.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.figures.chart import BLUE, GREY, RED, Chart, Style, as_interval, error_bars, layout, percent, shown
from explainlab.figures.heatmap import number

Body = dict[str, Any]

FIRST, MEAN, BEST = "First map (R = 1)", "Mean of all maps", "Best of all maps (an oracle)"
DRAWS = {
    "expected": Style("Best of r taken at random, expected", BLUE, "solid", "circle"),
    "nested": Style("Best of the first r", RED, "dot", "square"),
}
LAYERS = {
    "alone": Style("One layer", BLUE, "solid", "circle"),
    "top_down": Style("Layers from the top", RED, "solid", "square"),
    "bottom_up": Style("Layers from the bottom", "#2a9568", "solid", "diamond"),
}
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star")
_COLORS = (BLUE, "#b3742a", "#2a9568", "#8b6bd6", "#c2479d", GREY)


def told(body: Body) -> dict[str, Body]:
    """What the body tells of each metric, by its key: those that only choose at another k are there too."""
    return {metric["key"]: metric for metric in body["metrics"]}


def named(body: Body, key: str) -> str:
    """A metric's name with its preset, and which way is better."""
    metric = told(body)[key]
    return f"{metric['label']} {'↑' if metric['higher_is_better'] else '↓'}"


def candidate_name(body: Body, candidate: int) -> str:
    """Where a candidate comes from, in words."""
    one = body["candidates"][candidate]
    layer = f"layer {one['layer']}, " if one["layer"] else ""
    return f"{layer}draw {one['draw']}, t = {one['timestep']}"


def ordered(body: Body, key: str) -> list[int]:
    """All candidates, the best by the metric ``key`` first; equal ones in the order of the study."""
    sign = -1 if told(body)[key]["higher_is_better"] else 1
    return sorted(range(len(body["candidates"])), key=lambda i: sign * body["candidates"][i]["metrics"][key])


def candidate_rows(body: Body) -> list[Body]:
    """One record a candidate: where it comes from and every metric."""
    return [
        {"candidate": i, **{name: one[name] for name in ("layer", "timestep", "draw")}, **one["metrics"]}
        for i, one in enumerate(body["candidates"])
    ]


def scatter(body: Body, across: str, up: str, picked: int | None = None) -> Chart:
    """Every candidate by two metrics, a point that can be picked; the best by either is named, ``picked`` is ringed."""
    figure = go.Figure(layout=layout(shown(named(body, across)), shown(named(body, up))))
    layers = sorted({one["layer"] for one in body["candidates"]}, reverse=True)
    for place, layer in enumerate(layers):
        _add_points(figure, body, (across, up), layer, place)
    for key in dict.fromkeys((across, up)):
        best = body["candidates"][body["winners"][key]]["metrics"]
        place = {"x": best[across], "y": best[up], "arrowcolor": GREY, "ax": 24, "ay": -28 if key == up else 28}
        figure.add_annotation(text=shown(f"best by {told(body)[key]['label']}"), **place)
    if picked is not None:
        open_one = body["candidates"][picked]["metrics"]
        figure.add_scatter(
            x=[open_one[across]],
            y=[open_one[up]],
            mode="markers",
            marker={"symbol": "circle-open", "size": 19, "color": RED, "line": {"width": 2.5}},
            name="The map that is open",
            hoverinfo="skip",
        )
    title = f"Candidates: {told(body)[up]['label']} against {told(body)[across]['label']}"
    alt = f"{title}: {len(body['candidates'])} points."
    return Chart("candidates", title, alt, figure, candidate_rows(body))


def by_draws(body: Body, key: str) -> Chart:
    """A metric against the number of maps among which the best is chosen."""
    figure = go.Figure(layout=layout("Maps r among which the best is chosen", shown(named(body, key))))
    lines = body["by_draws"][key]
    draws = body.get("draws") or list(range(1, len(lines["nested"]) + 1))
    for kind, style in DRAWS.items():
        if kind in lines:
            _add_line(figure, style, draws, [as_interval(value) for value in lines[kind]], "lines+markers")
    rows = [
        {"metric": metric, "kind": kind, "r": r, **as_interval(value)}
        for metric, kinds in body["by_draws"].items()
        for kind, values in kinds.items()
        for r, value in zip(draws, values, strict=True)
    ]
    title = f"{told(body)[key]['label']} against the number of draws"
    first, last = (number(as_interval(lines["nested"][i])["mean"]) for i in (0, -1))
    alt = f"{title}: the first map has {first}, the best of {draws[-1]} has {last}."
    notes = () if "expected" in lines else ("An adaptive search has no expectation: later draws depend on the first.",)
    return Chart("metric-against-draws", title, alt, figure, rows, notes)


def by_layer(body: Body, key: str) -> Chart:
    """The best value of a metric in every layer alone, and in sets that grow from the top and from the bottom."""
    figure = go.Figure(layout=layout("Layers that are drawn from", shown(named(body, key))))
    drawn: list[str] = []
    for kind, style in LAYERS.items():
        sets = [one for one in body["by_layer"][kind] if _layers(one) not in drawn]
        held = [one for one in sets if as_interval(one["best"][key])["mean"] is not None]
        drawn += [_layers(one) for one in held]
        values = [as_interval(one["best"][key]) for one in held]
        _add_line(figure, style, [_layers(one) for one in held], values, "markers")
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=drawn)
    rows = [
        {"metric": metric, "kind": kind, "layers": _layers(one), "maps": one["maps"], **as_interval(value)}
        for kind, sets in body["by_layer"].items()
        for one in sets
        for metric, value in one["best"].items()
    ]
    title = f"Best {told(body)[key]['label']} by layers"
    return Chart("metric-against-layers", title, f"{title}: each alone, and in sets.", figure, rows)


def choices(selection: Body, key: str, body: Body) -> list[tuple[str, Body]]:
    """What ``key`` reports of each way to choose a map, by its name: one, all on average, other metrics, itself."""
    of = selection[key]
    held_out = [(f"Chosen by {told(body)[other]['label']}", value) for other, value in of["held_out"].items()]
    every = [(FIRST, of["first"]), (MEAN, of["mean"]), *held_out, (BEST, of["best"])]
    return [(name, as_interval(value)) for name, value in every]


def selection(body: Body, key: str) -> Chart:
    """What a metric says of maps chosen by something else, between the first map and the oracle's."""
    found = body["selection"] if "selection" in body else body["summary"]["selection"]
    points = choices(found, key, body)
    figure = go.Figure(layout=layout(shown(named(body, key)), "", height=120 + 34 * len(points)))
    for names, style in (
        ([FIRST, MEAN], Style("No choice", GREY, "solid", "circle")),
        ([name for name, _ in points[2:-1]], Style("Chosen by another metric or another k", BLUE, "solid", "diamond")),
        ([BEST], Style("Chosen by the very metric that is reported", RED, "solid", "x")),
    ):
        one = [(name, value) for name, value in points if name in names]
        figure.add_scatter(
            x=[value["mean"] for _, value in one],
            y=[shown(name) for name, _ in one],
            error_x=error_bars([value for _, value in one]),
            mode="markers",
            name=style.label,
            marker={"color": style.color, "symbol": style.symbol, "size": 11},
            hovertemplate="%{y}: %{x:.4g}<extra></extra>",
        )
    order = [shown(name) for name, _ in points]
    figure.update_yaxes(categoryorder="array", categoryarray=order, autorange="reversed", title={"text": "Choice"})
    rows = [
        {"reported": metric, "choice": name, **value}
        for metric in found
        for name, value in choices(found, metric, body)
    ]
    title = f"What the choice is worth: {told(body)[key]['label']}"
    first, best = (number(value["mean"]) for value in (points[0][1], points[-1][1]))
    return Chart("what-the-choice-is-worth", title, f"{title}: {first} of one map, {best} of the best.", figure, rows)


def same_winners(body: Body) -> Chart:
    """The share of texts in which one metric's choice is as good as another's own, a row for what is reported."""
    found = body["summary"]["selection"]
    keys = list(found)
    shares = [[1.0 if a == b else found[a]["held_out"][b]["also_best"] for b in keys] for a in keys]
    labels = [shown(told(body)[key]["label"]) for key in keys]
    figure = go.Figure(layout=layout("Map chosen by", "As good as the best by", height=150 + 44 * len(keys)))
    figure.add_heatmap(
        z=shares,
        x=labels,
        y=labels,
        zmin=0,
        zmax=1,
        colorscale=[[0, "rgba(47,128,208,0.05)"], [1, "rgba(47,128,208,0.55)"]],
        showscale=False,
        hovertemplate="chosen by %{x}: as good as the best by %{y} in %{z:.0%} of the texts<extra></extra>",
    )
    figure.add_scatter(  # text of a heatmap would be dark on either page
        x=labels * len(keys),
        y=[label for label in labels for _ in keys],
        text=[percent(share) for row in shares for share in row],
        mode="text",
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(showgrid=False)
    rows = [
        {"reported": a, "chosen_by": b, "share": share}
        for a, row in zip(keys, shares, strict=True)
        for b, share in zip(keys, row, strict=True)
    ]
    title = f"How often two metrics choose equally well, of {body['summary']['n']} texts"
    return Chart("same-winners", title, f"{title}.", figure, rows)


def _add_points(figure: go.Figure, body: Body, keys: tuple[str, str], layer: int, place: int) -> None:
    every = [(i, one["metrics"]) for i, one in enumerate(body["candidates"]) if one["layer"] == layer]
    figure.add_scatter(
        x=[metrics[keys[0]] for _, metrics in every],
        y=[metrics[keys[1]] for _, metrics in every],
        mode="markers",
        name=f"Layer {layer}" if layer else "Candidates",
        marker={"color": _COLORS[place % len(_COLORS)], "symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 9},
        customdata=[[i, candidate_name(body, i)] for i, _ in every],
        hovertemplate="%{customdata[1]}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
    )


def _add_line(figure: go.Figure, style: Style, x: list, values: list[Body], mode: str) -> None:
    figure.add_scatter(
        x=x,
        y=[value["mean"] for value in values],
        error_y=error_bars(values),
        mode=mode,
        name=style.label,
        line={"color": style.color, "dash": style.dash},
        marker={"color": style.color, "symbol": style.symbol, "size": 8},
        hovertemplate="%{x}: %{y:.4g}<extra>" + style.label + "</extra>",
    )


def _layers(one: Body) -> str:
    """``3``, or ``1–3`` for a set without gaps, or ``1, 3``."""
    layers = one["layers"]
    if len(layers) == 1:
        return str(layers[0])
    gapless = layers == list(range(layers[0], layers[-1] + 1))
    return f"{layers[0]}–{layers[-1]}" if gapless else ", ".join(map(str, layers))
