"""Charts of maps held to metrics: methods beside each other, a map against random ones, the texts behind a value.

All are pure functions of the bodies of the studies ``evaluation``, ``trust`` and ``judged_map``.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.judged_map.result import EvaluatedData, EvaluatedText
from explainlab.attribution.registry import methods
from explainlab.figures.chart import BLUE, GREY, RED, STYLES, Chart, as_interval, error_bars, layout, percent, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap, number
from explainlab.metrics.registry import parse_metric
from explainlab.request import Request

Body = dict[str, Any]

RANDOM = "random"
_COLORS = (BLUE, RED, *(STYLES[name].color for name in ("midpoint", "trapezoid", "left", "adaptive")))
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def methods_by_metric(body: Body, asked: str) -> Chart:
    """Every method's value of the metric ``asked``, the best first: of a text, or means with their intervals.

    ``asked`` is a metric with its options. From the body of ``evaluation``.
    """
    metric, values = parse_metric(asked), _values(body, asked)
    sign = -1 if metric.higher_is_better else 1
    order = sorted(values, key=lambda name: sign * values[name]["mean"])
    label = f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"
    bars = error_bars([values[name] for name in order])
    figure = go.Figure(layout=layout(shown(label), "", height=110 + 32 * len(order)))
    figure.add_scatter(
        x=[values[name]["mean"] for name in order],
        y=[shown(_label(name)) for name in order],
        error_x=bars and {**bars, "color": GREY},
        mode="markers",
        marker={
            "color": [GREY if name == RANDOM else BLUE for name in order],
            "symbol": ["cross" if name == RANDOM else "circle" for name in order],
            "size": 10,
        },
        hovertemplate="%{y}: %{x:.4g}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(type="category", autorange="reversed")
    of = f", means of {body['n']:,} texts with 95% intervals" if "rows" in body else ""
    title = f"Methods by {metric.label}{of}"
    best = f"The best is {_label(order[0])} with {number(values[order[0]]['mean'])}."
    rows = [{"method": name, "metric": asked, **values[name]} for name in order]
    return Chart("methods-by-metric", title, f"{title}. {best}", figure, rows)


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


def perturbed(body: EvaluatedText | EvaluatedData) -> Chart:
    """What the model says of every text behind a value: the target's probability by level, a line a metric."""
    metrics = body.evaluated
    figure = go.Figure(layout=layout("Share of the features selected", "Probability of the target"))
    for i, metric in enumerate(metrics):
        figure.add_scatter(
            x=[step.level for step in metric.steps],
            y=[step.probability for step in metric.steps],
            mode="lines+markers",
            name=shown(f"{metric.label}: {number(metric.value)}"),
            line={"color": _COLORS[i % len(_COLORS)], "dash": _DASHES[i % len(_DASHES)], "width": 2},
            marker={"symbol": _SYMBOLS[i % len(_SYMBOLS)], "size": 9},
            hovertemplate="%{x}%: %{y:.4f}<extra>" + shown(metric.label) + "</extra>",
        )
    if isinstance(body, EvaluatedText):
        whole = body.prediction.probabilities[body.target.label]
        figure.add_hline(y=whole, line={"color": GREY, "width": 1.5, "dash": "dash"})
        figure.add_annotation(text="whole text", xref="paper", x=1, xanchor="right", y=whole, yanchor="bottom",
                              showarrow=False, font={"color": GREY})  # fmt: skip
    figure.update_xaxes(ticksuffix="%", rangemode="tozero")
    figure.update_yaxes(range=[-0.02, 1.05])
    title = "The target's probability for every text behind a value"
    values = ", ".join(f"{metric.label} {number(metric.value)}" for metric in metrics)
    rows = [
        {"metric": metric.label, "level": step.level, "probability": step.probability, "text": step.text}
        for metric in metrics
        for step in metric.steps
    ]
    short = [metric.label for metric in metrics if not metric.steps]
    notes = (f"The text is too short for {' and '.join(short)}: nothing was selected.",) if short else ()
    return Chart("behind-the-values", title, f"{title}. {values}.", figure, rows, notes)


def _charts(result: AnalysisResult[EvaluatedText | EvaluatedData]) -> list[Chart]:
    return [perturbed(result.body)]


def _maps(result: AnalysisResult[EvaluatedText]) -> list[Map]:
    request, scores = result.request, result.request.parameters["scores"]
    shared = request.model_dump(include={"model", "text", "text_pair", "target", "output", "unit", "seed", "dtype"})
    attribution = result.body.attribution(Request(**shared, question="scores"), scores, signed=min(scores) < 0)
    return [Map("The map that was judged", heatmap(attribution))]


FIGURES = StudyFigures(_charts, _charts, _maps)


def metrics_of(body: Body) -> list[str]:
    """The metrics, with their options, by which a body of ``evaluation`` judges."""
    if "rows" in body:
        return list(dict.fromkeys(row["asked"] for row in body["rows"]))
    return list(dict.fromkeys(name for values in body["values"].values() for name in values))


def _values(body: Body, asked: str) -> dict[str, Body]:
    if "rows" in body:
        return {row["method"]: as_interval(row) for row in body["rows"] if row["asked"] == asked}
    return {name: as_interval(values[asked]) for name, values in body["values"].items()}


def _label(name: str) -> str:
    """A method's name; a file of maps made elsewhere goes by its own."""
    known = methods().get(name)
    return known.label if known else name
