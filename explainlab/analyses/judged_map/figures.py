"""Charts of the texts behind a metric's value.

All are pure functions of the body of ``judged_map``.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.attribution.registry import methods
from explainlab.figures.chart import BLUE, GREY, RED, STYLES, Chart, layout, shown
from explainlab.figures.heatmap import number

Body = dict[str, Any]

_COLORS = (BLUE, RED, *(STYLES[name].color for name in ("midpoint", "trapezoid", "left", "adaptive")))
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


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
