"""Quality against cost: a point a method, with the Pareto front."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from explainlab.figures.chart import (
    COLORS,
    GREY,
    NAME,
    SYMBOLS,
    Chart,
    HasInterval,
    error_bars,
    layout,
    log_steps,
    shortened,
    shown,
)


@dataclass(frozen=True)
class CostPoint:
    """A method with its ``label``, its cost in ``passes`` for each text, and its quality.

    ``facts`` are further columns of the chart's table.
    """

    method: str
    label: str
    passes: float
    mean: float
    interval: HasInterval
    facts: dict[str, Any]


def cost_chart(
    points: Sequence[CostPoint], quality: str, higher_is_better: bool, name: str, grey: str, axis: str = ""
) -> Chart:
    """Return a chart of the ``quality`` of every point against its passes, on a logarithmic axis; the method ``grey``
    is grey.

    ``axis`` is the title of the axis of quality (empty: ``quality``).
    """
    styles = color_symbols((point.method for point in points), grey)
    figure = go.Figure(layout=layout("Passes for each text (forward and backward)", shown(axis or quality)))
    sign = 1 if higher_is_better else -1
    front = pareto_front([point.passes for point in points], [sign * point.mean for point in points])
    figure.add_scatter(
        x=[points[i].passes for i in front],
        y=[points[i].mean for i in front],
        mode="lines",
        name="Pareto front",
        line={"color": GREY, "dash": "dash", "shape": "hv"},
        hoverinfo="skip",
    )
    for point in points:
        color, symbol = styles[point.method]
        figure.add_scatter(
            x=[point.passes],
            y=[point.mean],
            error_y=error_bars([point.interval]),
            mode="markers",
            name=shown(shortened(point.label, 2 * NAME)),
            marker={"color": color, "symbol": symbol, "size": 11},
            hovertemplate="%{x:,.1f} passes: %{y:.3f}<extra>" + shown(point.label) + "</extra>",
        )
    if points:
        log_steps(figure, [point.passes for point in points])
    title = f"{quality} against cost"
    listed = ", ".join(f"{points[i].label} ({points[i].passes:,.1f})" for i in front)
    rows = [
        {"method": point.method, "passes": point.passes, **point.facts, "front": i in front}
        for i, point in enumerate(points)
    ]
    alt = f"{title}. On the front, with passes: {listed}." if front else f"{title}. No method has a cost and a value."
    return Chart(name, title, alt, figure, rows)


def color_symbols(methods: Iterable[str], grey: str) -> dict[str, tuple[str, str]]:
    """Return colour and symbol by method; the method ``grey`` is grey."""
    others = [method for method in dict.fromkeys(methods) if method != grey]
    styles = {name: (COLORS[i % len(COLORS)], SYMBOLS[i % len(SYMBOLS)]) for i, name in enumerate(others)}
    return {**styles, grey: (GREY, "cross")}


def pareto_front(costs: Sequence[float], merits: Sequence[float]) -> list[int]:
    """Return the indices, by rising cost, of the points that no other matches at the same or a lower cost."""
    front: list[int] = []
    for i in sorted(range(len(costs)), key=lambda i: (costs[i], -merits[i])):
        if not front or merits[i] > merits[front[-1]]:
            front.append(i)
    return front
