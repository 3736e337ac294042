"""Charts of maps held to metrics: a map against random ones, the texts behind a value.

All are pure functions of the bodies of the studies ``trust`` and ``judged_map``.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.attribution.registry import methods
from explainlab.figures.chart import BLUE, GREY, RED, STYLES, Chart, as_interval, error_bars, layout, percent, shown
from explainlab.figures.heatmap import number

Body = dict[str, Any]

_COLORS = (BLUE, RED, *(STYLES[name].color for name in ("midpoint", "trapezoid", "left", "adaptive")))
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def against_random(body: Body) -> Chart:
    """A map's value of each metric beside the middle and the 5 to 95% of random maps; from ``trust`` on a text."""
    metrics, maps = body["metrics"], body["random_maps"]
    names = [shown(f"{one['label']} {'↑' if one['higher_is_better'] else '↓'}") for one in metrics]
    figure = go.Figure(layout=layout("Value", "", height=150 + 60 * len(metrics)))
    usual = [{"mean": one["median"], "low": one["low"], "high": one["high"]} for one in metrics]
    figure.add_scatter(
        x=[one["mean"] for one in usual],
        y=names,
        error_x=error_bars(usual),
        mode="markers",
        name=f"{maps} random maps: median, 5 to 95%",
        marker={"color": GREY, "symbol": "line-ns-open", "size": 14},
        hovertemplate="%{y}: median %{x:.4g}<extra>random maps</extra>",
    )
    figure.add_scatter(
        x=[one["value"] for one in metrics],
        y=names,
        mode="markers",
        name="This map",
        marker={"color": BLUE, "symbol": "diamond", "size": 12},
        hovertemplate="%{y}: %{x:.4g}<extra>this map</extra>",
    )
    figure.update_yaxes(type="category", autorange="reversed")
    told = ", ".join(f"{one['label']} better than {percent(one['beaten'])}" for one in metrics)
    title = f"{_label(body['method'])} against {maps} random maps"
    rows = [{name: one[name] for name in ("label", "value", "median", "low", "high", "beaten")} for one in metrics]
    short = [one["label"] for one in metrics if not one["counted"]]
    notes = (f"The text is too short for {' and '.join(short)}: every map has the same value.",) if short else ()
    return Chart("against-random-maps", title, f"{title}: {told}.", figure, rows, notes)


def beaten(body: Body) -> Chart:
    """By every metric the share of random maps that do worse, a point a text, with the mean; ``trust`` on a data set.

    Shares of half are what a random map has.
    """
    found = body["summary"]["metrics"]
    names = [shown(one["label"]) for one in found]
    shares = [[(text["row"], text["metrics"][i]["beaten"]) for text in body["texts"]] for i in range(len(found))]
    figure = go.Figure(layout=layout("Random maps that do worse", "", height=160 + 80 * len(found)))
    for name, column in zip(names, shares, strict=True):
        figure.add_box(
            x=[share for _, share in column],
            y=[name] * len(column),
            customdata=[row for row, _ in column],
            orientation="h",
            boxpoints="all",
            jitter=0.5,
            pointpos=0,
            line={"color": BLUE, "width": 1.5},
            marker={"color": BLUE, "size": 5, "opacity": 0.6},
            hovertemplate="row %{customdata}: %{x:.3g}<extra></extra>",
            showlegend=False,
        )
    means = [as_interval(one["beaten"]) for one in found]
    figure.add_scatter(
        x=[mean["mean"] for mean in means],
        y=names,
        error_x=error_bars(means),
        mode="markers",
        name="Mean with its 95% interval",
        marker={"color": RED, "symbol": "diamond", "size": 11},
        hovertemplate="mean %{x:.3g}<extra></extra>",
    )
    figure.add_vline(x=0.5, line={"color": GREY, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(type="category", autorange="reversed")
    title = f"Against random maps, {body['summary']['n']:,} texts"
    told = ", ".join(f"{one['label']} {percent(mean['mean'])}" for one, mean in zip(found, means, strict=True))
    rows = [
        {"metric": one["label"], "row": row, "beaten": share}
        for one, column in zip(found, shares, strict=True)
        for row, share in column
    ]
    return Chart("random-maps-beaten", title, f"{title}. Mean share that does worse: {told}.", figure, rows)


def perturbed(body: Body) -> Chart:
    """What the model says of every text behind a value: the target's probability by level, a line a metric.

    From ``judged_map``, of one text; that of a data set judges the first of its texts.
    """
    metrics = body["metrics"] if "metrics" in body else body["texts"][0]["metrics"]
    figure = go.Figure(layout=layout("Share of the features selected", "Probability of the target"))
    for i, one in enumerate(metrics):
        figure.add_scatter(
            x=[step["level"] for step in one["steps"]],
            y=[step["probability"] for step in one["steps"]],
            mode="lines+markers",
            name=shown(f"{one['label']}: {number(one['value'])}"),
            line={"color": _COLORS[i % len(_COLORS)], "dash": _DASHES[i % len(_DASHES)], "width": 2},
            marker={"symbol": _SYMBOLS[i % len(_SYMBOLS)], "size": 9},
            hovertemplate="%{x}%: %{y:.4f}<extra>" + shown(one["label"]) + "</extra>",
        )
    if "prediction" in body:
        whole = body["prediction"]["probabilities"][body["target"]["label"]]
        figure.add_hline(y=whole, line={"color": GREY, "width": 1.5, "dash": "dash"})
        figure.add_annotation(text="whole text", xref="paper", x=1, xanchor="right", y=whole, yanchor="bottom",
                              showarrow=False, font={"color": GREY})  # fmt: skip
    figure.update_xaxes(ticksuffix="%", rangemode="tozero")
    figure.update_yaxes(range=[-0.02, 1.05])
    title = "The target's probability for every text behind a value"
    told = ", ".join(f"{one['label']} {number(one['value'])}" for one in metrics)
    rows = [
        {"metric": one["label"], **{name: step[name] for name in ("level", "probability", "text")}}
        for one in metrics
        for step in one["steps"]
    ]
    short = [one["label"] for one in metrics if not one["steps"]]
    notes = (f"The text is too short for {' and '.join(short)}: nothing was selected.",) if short else ()
    return Chart("behind-the-values", title, f"{title}. {told}.", figure, rows, notes)


def _label(name: str) -> str:
    """A method's name; a file of maps made elsewhere goes by its own."""
    known = methods().get(name)
    return known.label if known else name
