"""A chart as a plain record: the Plotly figure, its description in words, and the numbers behind it.

Backgrounds are transparent and every line has a contrast of 3:1 on the light and the dark theme, so that the same
figure serves both. Lines differ in dash and marker as well as in colour.
"""

from __future__ import annotations

import html
import json
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
import plotly.graph_objects as go

from explainlab.figures.export import inert

_TOOLBAR = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}
RED, BLUE, GREY = "#d64550", "#2f80d0", "#7a8580"
NAME = 24
"""Characters of a name in one line."""
_TICKS = [m * 10**e for e in range(7) for m in (1, 2, 5)]


@dataclass(frozen=True)
class Style:
    """The look of a line, and its label in the legend."""

    label: str
    color: str
    dash: str
    symbol: str


STYLES = {
    "right": Style("Right Riemann sum", RED, "solid", "circle"),
    "left": Style("Left Riemann sum", "#b3742a", "dash", "square"),
    "midpoint": Style("Midpoint rule", "#2a9568", "dot", "diamond"),
    "trapezoid": Style("Trapezoid rule", "#8b6bd6", "dashdot", "triangle-up"),
    "gauss_legendre": Style("Gauss-Legendre", BLUE, "longdash", "x"),
    "adaptive": Style("Adaptive", "#c2479d", "solid", "star"),
    "doubling": Style("Doubling", GREY, "dot", "triangle-right"),
}

COLORS = (BLUE, RED, *(STYLES[name].color for name in ("midpoint", "trapezoid", "left", "adaptive")))
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down")
"""Symbols of lines without a style above, in turn."""


@dataclass(frozen=True)
class Chart:
    """A figure with its data.

    ``title`` says what it shows; ``alt`` adds the main finding; ``notes`` name what is not drawn; ``rows`` are the
    numbers behind it; ``name`` is the name of its files.
    """

    name: str
    title: str
    alt: str
    figure: go.Figure
    rows: list[dict[str, Any]]
    notes: tuple[str, ...] = ()

    def to_csv(self) -> str:
        """Return the rows as CSV; a text that a spreadsheet would read as a formula gets a leading apostrophe."""
        rows = [{k: inert(v) if isinstance(v, str) else v for k, v in row.items()} for row in self.rows]
        table: str = pd.DataFrame(rows).to_csv(index=False, lineterminator="\r\n")
        return table

    def to_json(self) -> str:
        """Return ``{"title", "finding", "notes", "rows"}``; the finding is the chart in words."""
        body = {"title": self.title, "finding": self.alt, "notes": list(self.notes), "rows": self.rows}
        return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)

    def to_html(self) -> str:
        """Return a standalone page with the chart in words and the interactive figure; it needs no network."""
        page: str = self.on_paper().to_html(include_plotlyjs=True, full_html=True)
        words = f'<body>\n<p style="font-family: sans-serif">{html.escape(self.alt)}</p>'
        return page.replace("<body>", words, 1)

    def on_paper(self) -> go.Figure:
        """Return the figure on white, with its title."""
        paper = go.Figure(self.figure)
        top = {"automargin": True, "yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 12}}
        title = {"text": shown(self.title), **top}
        return paper.update_layout(template="plotly_white", title=title, paper_bgcolor="white", plot_bgcolor="white")

    @property
    def config(self) -> dict[str, Any]:
        """Plotly's configuration: few buttons, and images as SVG under the chart's name."""
        return {**_TOOLBAR, "toImageButtonOptions": {"format": "svg", "filename": self.name}}


def layout(x: str, y: str, height: int = 420, **more: Any) -> go.Layout:
    """Return the layout of every chart: titled axes, a legend below, a transparent background."""
    axis = {"automargin": True, "zeroline": False}
    return go.Layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        xaxis={**axis, "title": {"text": x}},
        yaxis={**axis, "title": {"text": y}},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "title": {"text": ""}},
        hoverlabel={"align": "left"},
        **more,
    )


def log_steps(figure: go.Figure, values: Sequence[float]) -> None:
    """Make the x axis logarithmic for step counts, with ticks at a few round numbers."""
    low, high = min(values), max(values)
    ticks = [tick for tick in _TICKS if low / 1.5 <= tick <= high * 1.5]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])


def log_percent(figure: go.Figure, values: Sequence[float]) -> None:
    """Make the y axis logarithmic for percentages, with a tick at each power of ten."""
    figure.update_yaxes(type="log", dtick=1, ticksuffix="%", exponentformat="none", tickformat="~g")
    if values and max(values) / min(values) < 10:  # within a decade there may be no power of ten
        figure.update_yaxes(dtick="D2")


def limit_line(figure: go.Figure, tolerance: float) -> None:
    """Draw a dashed line at ``tolerance``, labelled in percent (for a logarithmic y axis)."""
    figure.add_hline(y=100 * tolerance, line={"color": GREY, "width": 1.5, "dash": "dash"})
    place = {"xref": "paper", "x": 1, "xanchor": "right", "y": math.log10(100 * tolerance), "yanchor": "bottom"}
    figure.add_annotation(text=f"{100 * tolerance:g}%", showarrow=False, font={"color": GREY}, **place)


def add_band(
    figure: go.Figure,
    x: Sequence[Any],
    low: Sequence[float | None],
    high: Sequence[float | None],
    color: str,
    group: str,
    opacity: float = 0.15,
) -> None:
    """Fill the area between ``low`` and ``high`` with a faint ``color``; the legend's ``group`` shows and hides it."""
    r, g, b = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    figure.add_scatter(
        x=[*x, *reversed(x)],
        y=[*high, *reversed(low)],
        mode="lines",
        fill="toself",
        fillcolor=f"rgba({r},{g},{b},{opacity})",
        line={"width": 0},
        hoverinfo="skip",
        legendgroup=group,
        showlegend=False,
    )


def add_cells(
    figure: go.Figure,
    columns: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    hover: Sequence[Sequence[str]],
    colors: Sequence[tuple[float, str]],
    low: float = 0.0,
    faint_from: int | None = None,
) -> None:
    """Draw a matrix, its first row on top: cells [rows][columns] coloured by ``values`` from ``low`` to 1.

    ``colors`` are at shares of that range. A cell has one of ``texts`` in it (empty: no cell has) and of ``hover``. All
    words are plain text, in one line or several. From the row ``faint_from`` on, texts are fainter.
    """
    figure.add_heatmap(
        z=values,
        zmin=low,
        zmax=1,
        colorscale=[list(color) for color in colors],
        showscale=False,
        customdata=[[_lines(text) for text in row] for row in hover],
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
    )
    cells = [(i, j, _words(text)) for i, row in enumerate(texts) for j, text in enumerate(row)]
    last = len(rows) if faint_from is None else faint_from
    for part, opacity in (([c for c in cells if c[0] < last], 1.0), ([c for c in cells if c[0] >= last], 0.75)):
        if not part:
            continue
        figure.add_scatter(  # text of a heatmap would be dark on either page
            x=[j for _, j, _ in part],
            y=[i for i, _, _ in part],
            text=[text for *_, text in part],
            mode="text",
            opacity=opacity,
            hoverinfo="skip",
            showlegend=False,
        )
    for names, update in ((columns, figure.update_xaxes), (rows, figure.update_yaxes)):
        update(tickvals=list(range(len(names))), ticktext=[_lines(name) for name in names], tickangle=0, showgrid=False)
    figure.update_yaxes(autorange="reversed")


def hatched(scores: Sequence[float]) -> dict[str, Any]:
    """Return Plotly's pattern of bars: those below 0 are hatched, so that their sign needs no colour."""
    shapes = ["/" if score < 0 else "" for score in scores]
    return {"shape": shapes, "fillmode": "overlay", "fgopacity": 0.45, "size": 7, "solidity": 0.2}


def percent(share: float | None) -> str:
    """Return ``share`` as a percentage with two significant digits; a dash for None."""
    if share is None:
        return "–"
    value = 100 * share
    return f"{value:,.0f}%" if value >= 10 else f"{value:.2g}%" if value >= 1e-3 or not value else "under 0.001%"


def shortened(text: str, most: int) -> str:
    """Return ``text``, cut to ``most`` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown(text: str) -> str:
    """Return ``text`` escaped for Plotly, which interprets some HTML, but knows no names of quotes."""
    return html.escape(text, quote=False)


def wrapped(text: str, width: int = NAME) -> str:
    """Return ``text`` for Plotly in lines of at most ``width`` characters, so that it fits a phone."""
    return "<br>".join(map(shown, textwrap.wrap(text, width)))


def name_rows(figure: go.Figure, names: Sequence[str], top: float = -0.5) -> None:
    """Write ``names`` in at most two lines beside the places 0, 1, ... of the y axis, which runs down from ``top``."""
    texts = [wrapped(shortened(name, 2 * NAME - 4)) for name in names]
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=texts, range=[len(names) - 0.5, top], showgrid=False)


def _words(text: str) -> str:
    """Return the words of a cell for Plotly; all lines but the first are small."""
    first, *rest = text.split("\n")
    return "<br>".join([shown(first), *(f'<span style="font-size: 11px">{shown(line)}</span>' for line in rest)])


def _lines(text: str) -> str:
    """Return ``text`` escaped for Plotly, with its line breaks."""
    return shown(text).replace("\n", "<br>")


class HasInterval(Protocol):
    """A mean with the ends of its interval."""

    @property
    def mean(self) -> float | None:
        """The mean; None where nothing was measured."""

    @property
    def low(self) -> float | None:
        """The lower end; None where the mean has no interval."""

    @property
    def high(self) -> float | None:
        """The upper end; None where the mean has no interval."""


def error_bars(values: Sequence[HasInterval], scale: float = 1.0) -> dict[str, Any] | None:
    """Return Plotly's error bars for means with their intervals, times ``scale``; None if there are no intervals."""
    if all(value.low is None for value in values):
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": [scale * _length(value.mean, value.high) for value in values],
        "arrayminus": [scale * _length(value.mean, value.low) for value in values],
        "thickness": 1.5,
        "width": 4,
    }


def _length(mean: float | None, end: float | None) -> float:
    """Return the distance from a mean to an end of its interval; 0 without an interval."""
    return 0.0 if mean is None or end is None else abs(end - mean)


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
