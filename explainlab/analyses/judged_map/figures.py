"""Charts of maps held to metrics: methods beside each other, the texts behind a value.

All are pure functions of the bodies of the studies ``evaluation`` and ``judged_map``.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.attribution.registry import methods
from explainlab.figures.chart import BLUE, GREY, RED, STYLES, Chart, as_interval, error_bars, layout, shown
from explainlab.figures.heatmap import number
from explainlab.metrics.registry import parse_metric

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
