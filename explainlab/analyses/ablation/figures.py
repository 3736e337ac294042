"""Methods at one budget of maps: what choosing among many is worth to each, of a text or of a data set."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.candidates.figures import BEST, FIRST, MEAN
from explainlab.figures.chart import BLUE, GREY, RED, Chart, Style, as_interval, error_bars, layout, shown
from explainlab.figures.heatmap import number

Body = dict[str, Any]


def ablation(body: Body, key: str) -> Chart:
    """By the metric ``key`` each method's first map, the mean, the best, and the map that another metric chooses."""
    other = next((other for other in body["methods"][0]["selection"][key]["held_out"]), None)
    figure = go.Figure(layout=layout(shown(named(body, key)), "", height=130 + 44 * len(body["methods"])))
    names = [_name(method) for method in body["methods"]]
    for place, style in _styles(body, other).items():
        values = [_choices(method, key)[place] for method in body["methods"]]
        figure.add_scatter(
            x=[value["mean"] for value in values],
            y=names,
            error_x=error_bars(values),
            mode="markers",
            name=style.label,
            marker={"color": style.color, "symbol": style.symbol, "size": 10},
            hovertemplate="%{y}: %{x:.4g}<extra>" + style.label + "</extra>",
        )
    figure.update_yaxes(categoryorder="array", categoryarray=names, autorange="reversed", title={"text": "Method"})
    rows = [
        {
            "method": method["method"],
            "maps": method["maps"],
            **method["cost"],
            "reported": metric,
            "choice": choice,
            **v,
        }
        for method in body["methods"]
        for metric in method["selection"]
        for choice, v in _choices(method, metric).items()
    ]
    title = f"Methods at one budget: {told(body)[key]['label']}"
    best = ", ".join(f"{m['label']} {number(_choices(m, key)['best']['mean'])}" for m in body["methods"])
    notes = ("A method without anything random in it has one map. Passes are those that making the maps takes a text.",)
    return Chart("methods-at-one-budget", title, f"{title}. Best of all maps: {best}.", figure, rows, notes)


def _styles(body: Body, other: str | None) -> dict[str, Style]:
    chosen = {other: Style(f"Chosen by {told(body)[other]['label']}", BLUE, "solid", "diamond")} if other else {}
    return {
        "first": Style(FIRST, GREY, "solid", "circle"),
        "mean": Style(MEAN, GREY, "solid", "line-ns-open"),
        **chosen,
        "best": Style(BEST, RED, "solid", "x"),
    }


def _choices(method: Body, key: str) -> dict[str, Body]:
    of = method["selection"][key]
    every = {"first": of["first"], "mean": of["mean"], **of["held_out"], "best": of["best"]}
    return {name: as_interval(value) for name, value in every.items()}


def _name(method: Body) -> str:
    maps = "1 map" if method["maps"] == 1 else f"{method['maps']} maps"
    passes = method["cost"]["forward"] + method["cost"]["backward"]
    return f"{shown(method['label'])}<br>{maps}, {passes:,.0f} passes"
