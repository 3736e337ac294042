"""Charts as SVG elements without scripts, drawn from the parts of Plotly's figures that our charts use.

A notebook or a report shows such a picture where no browser runs Plotly. Words and grid lines have the ink of the page
around them (``currentColor``), so one picture serves a light and a dark page. A library would lose one of these:
matplotlib fixes the ink, and would need a second drawing of every chart; kaleido starts a browser.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup, escape

from explainlab.figures.chart import COLORS, GREY, Chart

_WIDTH, _EDGE, _LEGEND_ROW = 760.0, 20.0, 20.0
"""In pixels: the width of a picture, the gap between plot and right edge, and the height of a row of the legend."""
_FONT, _CHARACTER = 12, 6.7
"""In pixels: the size of the font, and about the mean width of its characters."""
_ROOM = 0.05
"""The share of an axis that stays free at both ends of the data."""
_TICKS = 6
"""The wanted number of labels on an axis of numbers."""
_DASHES = {"dash": "7 5", "dot": "2 4", "dashdot": "7 4 2 4", "longdash": "11 5"}
_CORNERS = {"square": (4, 45), "diamond": (4, 0), "triangle-up": (3, 0), "triangle-down": (3, 180)}
"""The number of corners of a symbol, and its turn in degrees."""
_GRID = {"stroke": "currentColor", "stroke_opacity": 0.14}


def picture(chart: Chart) -> Markup:
    """Return the chart as one SVG element, whose accessible name is the chart in words."""
    return _Drawing(chart.figure, chart.alt).svg()


class _Drawing:
    """One figure: its axes, and their places."""

    def __init__(self, figure: go.Figure, alt: str) -> None:
        self._alt = alt
        self._layout = figure.layout
        self._traces = [trace for trace in figure.data if trace.visible in (None, True)]
        roomy = not any(trace.type == "heatmap" for trace in self._traces)
        self._x = _axis_of(self._layout.xaxis, *self._values("x", None), roomy)
        sides = sorted({trace.yaxis or "y" for trace in self._traces} | {"y"})
        self._ys = {side: _axis_of(self._axis(side), *self._values("y", side), roomy) for side in sides}
        self._legend = self._legend_rows()
        self._lay_out()

    def svg(self) -> Markup:
        """Return the whole picture."""
        parts = [*self._grid(), *self._shapes(), *self._marks(), *self._annotations(), *self._keys()]
        return _tag("svg", Markup().join(parts), **{"class": "chart"}, viewBox=f"0 0 {_WIDTH:.0f} {self._height:.0f}",
                   width=int(_WIDTH), height=int(self._height), role="img", aria_label=self._alt,
                   xmlns="http://www.w3.org/2000/svg",
                   font_family="system-ui, 'Helvetica Neue', Arial, sans-serif")  # fmt: skip

    def _axis(self, side: str) -> Any:
        return getattr(self._layout, side.replace("y", "yaxis"))

    def _values(self, name: str, side: str | None) -> tuple[list[Any], list[Any], bool]:
        """Return the values on an axis, the ends of their errors, and whether bars begin at its zero."""
        values: list[Any] = []
        ends: list[Any] = []
        zero = False
        for trace in self._traces:
            if side is not None and (trace.yaxis or "y") != side:
                continue
            own = getattr(trace, name, None)
            along = trace.type == "bar" and (trace.orientation == "h") == (name == "x")
            zero |= along
            if trace.type == "box" and trace.q1 is not None and own is None:
                own = [*trace.lowerfence, *trace.upperfence]
            if own is None:
                own = [trace.name or ""] if trace.type == "box" else _indices(trace, name)
            if trace.type == "heatmap" and len(own) and not isinstance(own[0], str):
                whole = [float(value) for value in own]
                ends += [end for pair in _edges(whole) for end in pair]
            values += list(own)
            if trace.type == "bar" and not along:
                ends += [value + half for value in own if not isinstance(value, str) for half in (-0.5, 0.5)]
            error = getattr(trace, f"error_{name}", None)
            if error is not None and error.array is not None:
                least = error.arrayminus if error.arrayminus is not None else error.array
                for value, more, less in zip(own, error.array, least, strict=False):
                    if isinstance(value, int | float):
                        ends += [value + (more or 0), value - (less or 0)]
            if along:
                ends += self._stacked(trace, own)
        return values, ends, zero

    def _stacked(self, trace: Any, own: Any) -> list[float]:
        """Return the ends of bars that do not begin at zero."""
        if trace.base is None:
            return []
        base = trace.base if isinstance(trace.base, list | tuple) else [trace.base] * len(own)
        return [float(a) for a in base] + [float(a) + float(b) for a, b in zip(base, own, strict=False)]

    def _lay_out(self) -> None:
        """Set the pixels where the axes begin and end."""
        labels = [lines for axis in self._ys.values() for _, lines in axis.ticks]
        titles = [self._axis(side).title.text for side in self._ys]
        left = 14 + max(map(_width_of, labels), default=0.0) + (20 if any(titles) else 0)
        self._top = self._layout.xaxis.side == "top"
        self._every = max(1, math.ceil(sum(_width_of(lines) + 12 for _, lines in self._x.ticks) / (_WIDTH - left - 20)))
        tall = max((len(lines) for _, lines in self._x.ticks), default=1) * 1.2 * _FONT
        title = 22.0 if self._layout.xaxis.title.text else 0.0
        plot = float(self._layout.height or 420) - 90
        head = 14.0 + (tall + 8 + title if self._top else 0)
        foot = 8.0 if self._top else tall + 8 + title
        self._x.start, self._x.end = left, _WIDTH - _EDGE
        for side, axis in self._ys.items():
            low, high = self._axis(side).domain or (0.0, 1.0)
            axis.start, axis.end = head + plot * (1 - low), head + plot * (1 - high)
        self._head, self._bottom, self._foot = head, head + plot, foot
        self._height = head + plot + foot + _LEGEND_ROW * len(self._legend) + 8

    def _grid(self) -> Iterator[Markup]:
        x, near = self._x, -8.0 if self._top else 18.0
        base = self._head if self._top else self._bottom
        for number, (value, lines) in enumerate(x.ticks):
            at = x.at(value)
            if self._layout.xaxis.showgrid is not False and x.names is None:
                yield _tag("line", x1=at, x2=at, y1=self._head, y2=self._bottom, **_GRID)
            if number % self._every == 0:
                up = 1.2 * _FONT * (len(lines) - 1) if self._top else 0.0
                yield _words(lines, at, base + near - up)
        for side, axis in self._ys.items():
            for value, lines in axis.ticks:
                at = axis.at(value)
                if self._axis(side).showgrid is not False and axis.names is None:
                    yield _tag("line", x1=x.start, x2=x.end, y1=at, y2=at, **_GRID)
                yield _words(lines, x.start - 8, at + 4 - 0.6 * _FONT * (len(lines) - 1), anchor="end")
            title = _lines_of(self._axis(side).title.text)
            if any(title):
                middle = (axis.start + axis.end) / 2
                yield _words([" ".join(title)], 14, middle, transform=f"rotate(-90 14 {middle:.1f})", opacity=0.76)
        title = _lines_of(self._layout.xaxis.title.text)
        if any(title):
            y = 14.0 if self._top else self._bottom + self._foot - 6
            yield _words([" ".join(title)], (x.start + x.end) / 2, y, opacity=0.76)

    def _marks(self) -> Iterator[Markup]:
        stacked = self._layout.barmode in ("stack", "overlay", "relative")
        bars = [trace for trace in self._traces if trace.type == "bar" and trace.width is None]
        beside = 1 if stacked or len({trace.yaxis for trace in bars}) > 1 else len(bars)
        reached: dict[Any, float] = {}
        for number, trace in enumerate(self._traces):
            axes = TraceAxes(self._x, self._ys[trace.yaxis or "y"], _color_of(trace, number))
            width = 0.8 / max(1, beside)
            offset = (bars.index(trace) - (beside - 1) / 2) * width if beside > 1 and trace in bars else 0.0
            if trace.type == "bar" and self._layout.barmode == "stack":
                trace = _on_top(trace, reached)
            yield from _marks_of(trace, axes, (offset, width if trace.type == "bar" else 0.8))

    def _shapes(self) -> Iterator[Markup]:
        for shape in self._layout.shapes:
            y_axis = self._ys["y"]
            ends = [
                self._at(self._x, shape.xref, shape.x0, (self._x.start, self._x.end)),
                self._at(self._x, shape.xref, shape.x1, (self._x.start, self._x.end)),
                self._at(y_axis, shape.yref, shape.y0, (self._bottom, self._head)),
                self._at(y_axis, shape.yref, shape.y1, (self._bottom, self._head)),
            ]
            if shape.type == "line" and None not in ends:
                x1, x2, y1, y2 = ends
                dash = None if shape.line.dash in (None, "solid") else "6 4"
                yield _tag("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=shape.line.color or "currentColor",
                          stroke_width=float(shape.line.width or 1.5), stroke_dasharray=dash)  # fmt: skip

    def _annotations(self) -> Iterator[Markup]:
        for note in self._layout.annotations:
            x = self._at(self._x, note.xref, note.x, (self._x.start, self._x.end), logged=True)
            y = self._at(self._ys["y"], note.yref, note.y, (self._bottom, self._head), logged=True)
            if x is not None and y is not None:
                anchor = {"right": "end", "left": "start"}.get(note.xanchor or "", "middle")
                yield _words(_lines_of(note.text), x, y + {"bottom": -5, "top": 14}.get(note.yanchor or "", 4), anchor)

    def _at(self, axis: Axis, ref: str | None, value: Any, whole: tuple[float, float], logged: bool = False) -> Any:
        """Return the pixel of a shape's end: by ``ref``, ``value`` is on the axis or a share of the ``whole``."""
        if ref == "paper" or (ref or "").endswith("domain"):
            return whole[0] + float(value) * (whole[1] - whole[0])
        if logged and axis.log and isinstance(value, int | float):
            return axis.at(float(value))
        return axis.pixel(value)

    def _legend_rows(self) -> list[list[tuple[int, Any, str]]]:
        """Return the rows of the legend: its traces, each with its number and its label."""
        if self._layout.showlegend is False:
            return []
        named = [(i, t, " ".join(_lines_of(t.name))) for i, t in enumerate(self._traces)]
        named = [entry for entry in named if entry[1].name and entry[1].showlegend is not False]
        if len(named) < 2 and not self._layout.showlegend:
            return []
        rows: list[list[tuple[int, Any, str]]] = []
        room = 0.0
        for entry in named:
            needed = 46 + _width_of([entry[2]])
            if not rows or needed > room:
                rows.append([])
                room = _WIDTH - 40
            rows[-1].append(entry)
            room -= needed
        return rows

    def _keys(self) -> Iterator[Markup]:
        for number, row in enumerate(self._legend):
            x, y = 20.0, self._bottom + self._foot + _LEGEND_ROW * (number + 0.7)
            for position, trace, label in row:
                yield from _marks_of(*_key(trace, x, y, _color_of(trace, position)))
                yield _words([label], x + 30, y + 4, anchor="start")
                x += 46 + _width_of([label])


def _key(trace: Any, x: float, y: float, color: str) -> tuple[Any, TraceAxes]:
    """Return a short piece of a ``trace`` and its axes, to draw it as a key of the legend at (``x``, ``y``)."""
    axis = Axis(0.0, 1.0, False, None, start=x, end=x + 24), Axis(0.0, 1.0, False, None, start=y, end=y - 1)
    if trace.type != "scatter":
        return go.Scatter(x=[0.5], y=[0], mode="markers", marker={"symbol": "square", "size": 11}), TraceAxes(
            *axis, color
        )
    symbol = trace.marker.symbol if isinstance(trace.marker.symbol, str) else "circle"
    lines = {"dash": trace.line.dash, "color": trace.line.color, "width": trace.line.width}
    marker = {"symbol": symbol, "size": 8, "color": color}
    mode = "+".join(part for part in (trace.mode or "lines+markers").split("+") if part != "text") or "none"
    return go.Scatter(x=[0, 0.5, 1], y=[0, 0, 0], mode=mode, line=lines, marker=marker), TraceAxes(*axis, color)


def _on_top(trace: Any, reached: dict[Any, float]) -> Any:
    """Return the bars of ``trace`` on top of those that ``reached`` describes, and add them to it."""
    lying = trace.orientation == "h"
    sizes, names = (trace.x, trace.y) if lying else (trace.y, trace.x)
    base = [reached.get(name, 0.0) for name in names]
    reached.update({name: start + float(size or 0) for name, start, size in zip(names, base, sizes, strict=True)})
    return go.Bar(trace).update(base=base)


def _indices(trace: Any, name: str) -> list[Any]:
    """Return the values 0, 1, ... of a trace that names none."""
    other = getattr(trace, "z" if trace.type == "heatmap" else {"x": "y", "y": "x"}[name], None)
    if other is None:
        return []
    return list(range(len(other[0]) if trace.type == "heatmap" and name == "x" and len(other) else len(other)))


@dataclass
class Axis:
    """An axis from ``low`` to ``high`` between the pixels ``start`` and ``end``.

    The ends of a ``log`` axis are logarithms. ``names`` maps the categories of an axis of words to 0, 1, ... (None: an
    axis of numbers). ``ticks`` are numbers on the axis with the lines of their labels.
    """

    low: float
    high: float
    log: bool
    names: dict[str, int] | None
    ticks: list[tuple[float, list[str]]] = field(default_factory=list)
    start: float = 0.0
    end: float = 1.0

    def value(self, value: Any) -> float | None:
        """Return the number of ``value`` on this axis; None if it has none."""
        if self.names is not None and str(value) in self.names:
            return float(self.names[str(value)])
        if value is None or isinstance(value, str):
            return None
        number = float(value)
        if self.log:
            return math.log10(number) if number > 0 else None
        return number if math.isfinite(number) else None

    def at(self, number: float) -> float:
        """Return the pixel of a ``number`` on this axis."""
        span = (self.high - self.low) or 1.0
        return self.start + (number - self.low) / span * (self.end - self.start)

    def pixel(self, value: Any) -> float | None:
        """Return the pixel of a ``value``; None if it has no number on this axis."""
        number = self.value(value)
        return None if number is None else self.at(number)


def _axis_of(asked: Any, values: Sequence[Any], ends: Iterable[Any], zero: bool, roomy: bool = True) -> Axis:
    """Return the axis that Plotly's ``asked`` describes, for the ``values`` of its traces and the ``ends`` of errors.

    ``zero``: bars begin at zero. ``roomy``: the data need a gap at both ends; cells need none.
    """
    words = [value for value in values if isinstance(value, str)]
    names = None
    if words or asked.type == "category":
        order = [*(asked.categoryarray if asked.categoryarray is not None else ()), *map(str, values)]
        names = {name: number for number, name in enumerate(dict.fromkeys(map(str, order)))}
    axis = Axis(0.0, 1.0, asked.type == "log", names)
    if asked.range is not None:
        axis.low, axis.high = (float(end) for end in asked.range)
    else:
        axis.low, axis.high = _extent(axis, asked, [*values, *ends], zero, roomy)
        if asked.autorange == "reversed":
            axis.low, axis.high = axis.high, axis.low
    axis.ticks = [(number, _lines_of(label)) for number, label in _ticks(axis, asked) if _inside(axis, number)]
    return axis


def _extent(axis: Axis, asked: Any, values: Iterable[Any], zero: bool, roomy: bool) -> tuple[float, float]:
    if axis.names is not None:
        return -0.5, max(len(axis.names), 1) - 0.5
    known = [number for number in map(axis.value, values) if number is not None]
    if zero and not axis.log:
        known.append(0.0)
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    room = (_ROOM * (high - low) or 0.5) * roomy
    to_zero = (zero or asked.rangemode == "tozero") and not axis.log
    return (0.0 if to_zero and low >= 0 else low - room), (0.0 if to_zero and high <= 0 < -low else high + room)


def _ticks(axis: Axis, asked: Any) -> list[tuple[float, str]]:
    if asked.tickvals is not None:
        labels = asked.ticktext if asked.ticktext is not None else [_label(value, asked) for value in asked.tickvals]
        numbers = [axis.value(value) for value in asked.tickvals]
        return [(number, str(label)) for number, label in zip(numbers, labels, strict=False) if number is not None]
    if axis.names is not None:
        return [(float(number), name) for name, number in axis.names.items()]
    low, high = sorted((axis.low, axis.high))
    if axis.log:
        powers = range(math.floor(low), math.ceil(high) + 1)
        steps = (1,) if high - low >= 2 else (1, 2, 5)
        return [(math.log10(m * 10.0**e), _label(m * 10.0**e, asked)) for e in powers for m in steps]
    step = float(asked.dtick) if isinstance(asked.dtick, int | float) else _step((high - low) / _TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(number * step, _label(number * step, asked)) for number in range(first, min(last, first + 100) + 1)]


def _step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least or 1.0))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _label(value: Any, asked: Any) -> str:
    if isinstance(value, str):
        return value
    form, value = asked.tickformat or "", float(f"{value:.10g}")
    if form.endswith("%"):
        text = f"{100 * value:.{form[1] if form[1:2].isdigit() else 4}{'f' if form[1:2].isdigit() else 'g'}}%"
    else:
        text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.6f}".rstrip("0")
        text = text if float(text.replace(",", "")) else f"{value:.6g}"
    return f"{text}{asked.ticksuffix or ''}".replace("-", "−")


def _inside(axis: Axis, number: float) -> bool:
    low, high = sorted((axis.low, axis.high))
    room = 1e-6 * (high - low)
    return low - room <= number <= high + room


class TraceAxes(NamedTuple):
    """The two axes of a trace, and the default colour of its marks."""

    x: Axis
    y: Axis
    color: str


def _tag(name: str, content: str = "", /, **attributes: Any) -> Markup:
    """Return an element of an SVG. Each _ in an attribute's name becomes -; attributes of None are left out."""
    written = "".join(
        f' {key.replace("_", "-")}="{escape(f"{value:.2f}" if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{content}</{name}>")


def _words(lines: Sequence[str], x: float, y: float, anchor: str = "middle", **more: Any) -> Markup:
    """Return ``lines`` of text, one below the other, the first at (``x``, ``y``)."""
    spans = [_tag("tspan", str(escape(line)), x=x, dy=f"{1.2 * (i > 0)}em") for i, line in enumerate(lines)]
    look: dict[str, Any] = {"font_size": _FONT, "fill": "currentColor", **more}
    return _tag("text", Markup().join(spans), x=x, y=y, text_anchor=anchor, **look)


def _marks_of(trace: Any, axes: TraceAxes, bars: tuple[float, float] = (0.0, 0.8)) -> Iterator[Markup]:
    """Yield the marks of a ``trace``. ``bars`` are the offset and the width of its bars or boxes, in categories."""
    draw = {"scatter": _scatter, "heatmap": _cells}.get(trace.type)
    if draw is not None:
        yield from draw(trace, axes)
    elif trace.type == "bar":
        yield from _bars(trace, axes, bars)
    elif trace.type == "box":
        yield from _boxes(trace, axes, bars)


def _color_of(trace: Any, number: int) -> str:
    """Return the colour of a ``trace``, the ``number``th of its figure."""
    for part in (getattr(trace, "marker", None), getattr(trace, "line", None)):
        color = getattr(part, "color", None)
        if isinstance(color, str):
            return color
    return COLORS[number % len(COLORS)]


def _scatter(trace: Any, axes: TraceAxes) -> Iterator[Markup]:
    mode, values = trace.mode or "lines+markers", _pairs(trace, axes)
    if trace.fill is not None:
        corners = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in values if x is not None and y is not None)
        yield _tag("polygon", points=corners, fill=trace.fillcolor or axes.color, stroke="none")
    if "lines" in mode and (trace.line.width is None or trace.line.width > 0):
        for run in _runs(values):
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in run)
            dash = _DASHES.get(trace.line.dash or "")
            color, width = trace.line.color or axes.color, float(trace.line.width or 2)
            yield _tag("polyline", points=points, fill="none", stroke=color, stroke_width=width, stroke_dasharray=dash)
    yield from _errors(trace, axes)
    for i, x, y in values:
        if x is None or y is None:
            continue
        if "markers" in mode:
            marker = trace.marker
            yield _point(_nth(marker.symbol, i, "circle"), x, y, _size(marker, i), _nth(marker.color, i, axes.color),
                         _nth(marker.opacity, i, None))  # fmt: skip
        if "text" in mode:
            lines, above = _lines_of(_nth(trace.text, i, "")), (trace.textposition or "middle").split()[0]
            lower = {"top": -8.0, "bottom": 16.0}.get(above, 4.0 - 0.6 * _FONT * (len(lines) - 1))
            yield _words(lines, x, y + lower, opacity=trace.opacity)


def _errors(trace: Any, axes: TraceAxes) -> Iterator[Markup]:
    for along, error in (("x", trace.error_x), ("y", trace.error_y)):
        if error is None or error.array is None:
            continue
        axis = axes.x if along == "x" else axes.y
        least = error.arrayminus if error.arrayminus is not None else error.array
        for (_, x, y), value, more, less in zip(
            _pairs(trace, axes), getattr(trace, along), error.array, least, strict=False
        ):
            if x is None or y is None or not (more or less):
                continue
            low, high = axis.pixel(float(value) - float(less or 0)), axis.pixel(float(value) + float(more or 0))
            if low is None or high is None:
                continue
            ends = (
                {"x1": low, "x2": high, "y1": y, "y2": y} if along == "x" else {"x1": x, "x2": x, "y1": low, "y2": high}
            )
            yield _tag("line", **ends, stroke=error.color or axes.color, stroke_width=1.5)


def _bars(trace: Any, axes: TraceAxes, bars: tuple[float, float]) -> Iterator[Markup]:
    lying = trace.orientation == "h"
    along, across = (axes.x, axes.y) if lying else (axes.y, axes.x)
    sizes, places = (trace.x, trace.y) if lying else (trace.y, trace.x)
    base = trace.base if isinstance(trace.base, (list, tuple, np.ndarray)) else [trace.base or 0] * len(sizes)
    for i, (size, name, start) in enumerate(zip(sizes, places, base, strict=False)):
        middle = across.value(name)
        if middle is None or size is None or not math.isfinite(float(size)):
            continue
        width = _nth(trace.width, i, None) or bars[1]
        ends = sorted((_end(along, float(start)), _end(along, float(start) + float(size))))
        sides = sorted((across.at(middle + bars[0] - width / 2), across.at(middle + bars[0] + width / 2)))
        color = _nth(trace.marker.color, i, axes.color)
        (x1, x2), (y1, y2) = (ends, sides) if lying else (sides, ends)
        yield _tag("rect", x=x1, y=y1, width=max(1.0, x2 - x1), height=max(1.0, y2 - y1), fill=color,
                  fill_opacity=_nth(trace.marker.opacity, i, trace.opacity))  # fmt: skip
        if trace.text is not None:
            lines = _lines_of(_nth(trace.text, i, ""))
            fits = x2 + 5 + _width_of(lines) < axes.x.end + _EDGE
            if not lying:
                yield _words(lines, (x1 + x2) / 2, y1 - 5 - 1.2 * _FONT * (len(lines) - 1))
            elif fits:
                yield _words(lines, x2 + 5, (y1 + y2) / 2 + 4, anchor="start")
            else:
                yield _words(lines, x2 - 6, (y1 + y2) / 2 + 4, anchor="end", fill="#ffffff")
    yield from _errors(trace, axes)


def _boxes(trace: Any, axes: TraceAxes, bars: tuple[float, float]) -> Iterator[Markup]:
    lying = trace.orientation == "h" or (trace.y is None and trace.q1 is None)
    along, across = (axes.x, axes.y) if lying else (axes.y, axes.x)
    values, names = (trace.x, trace.y) if lying else (trace.y, trace.x)
    for name, quantiles in _quantiles(trace, values, names):
        middle = across.value(name)
        if middle is None:
            continue
        low, first, median, third, high = (_end(along, q) for q in quantiles)
        a, m, b = (across.at(middle + bars[0] + share * bars[1]) for share in (-0.35, 0.0, 0.35))
        for one, other in ((low, first), (third, high)):
            yield _line(lying, one, m, other, m, axes.color)
        corners = [(first, a), (third, a), (third, b), (first, b)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (corners if lying else [(y, x) for x, y in corners]))
        yield _tag("polygon", points=points, fill=axes.color, fill_opacity=0.3, stroke=axes.color, stroke_width=1.5)
        yield _line(lying, median, a, median, b, axes.color)


def _quantiles(trace: Any, values: Any, names: Any) -> Iterator[tuple[Any, Sequence[float]]]:
    """Yield each box's name and five numbers: those of the trace, or the quantiles of its values."""
    if trace.q1 is not None:
        five = zip(trace.lowerfence, trace.q1, trace.median, trace.q3, trace.upperfence, strict=True)
        yield from zip(names if values is None else values, five, strict=False)
        return
    own = [trace.name or ""] * len(values) if names is None else names
    groups: dict[Any, list[float]] = {}
    for value, name in zip(values, own, strict=False):
        if value is not None and math.isfinite(float(value)):
            groups.setdefault(name, []).append(float(value))
    for name, group in groups.items():
        yield name, np.quantile(group, (0, 0.25, 0.5, 0.75, 1)).tolist()


def _cells(trace: Any, axes: TraceAxes) -> Iterator[Markup]:
    z = [[math.nan if value is None else float(value) for value in row] for row in trace.z]
    known = [value for row in z for value in row if math.isfinite(value)] or [0.0]
    low = float(min(known) if trace.zmin is None else trace.zmin)
    high = float(max(known) if trace.zmax is None else trace.zmax)
    xs = _middles(trace.x, len(z[0]) if z else 0, axes.x)
    ys = _middles(trace.y, len(z), axes.y)
    for (y1, y2), row in zip(_edges(ys), z, strict=True):
        for (x1, x2), value in zip(_edges(xs), row, strict=True):
            if math.isfinite(value):
                sides = sorted((axes.x.at(x1), axes.x.at(x2))), sorted((axes.y.at(y1), axes.y.at(y2)))
                share = min(1.0, max(0.0, (value - low) / ((high - low) or 1.0)))
                yield _tag("rect", x=sides[0][0], y=sides[1][0], width=sides[0][1] - sides[0][0],
                          height=sides[1][1] - sides[1][0], fill=_between(trace.colorscale, share))  # fmt: skip


def _middles(values: Any, count: int, axis: Axis) -> list[float]:
    if values is None:
        return [float(i) for i in range(count)]
    return [axis.value(value) or 0.0 for value in values]


def _edges(middles: Sequence[float]) -> list[tuple[float, float]]:
    """Return the ends of cells around ``middles``, half-way to the next; outer cells are symmetric."""
    if len(middles) < 2:
        return [(m - 0.5, m + 0.5) for m in middles]
    between = [(a + b) / 2 for a, b in pairwise(middles)]
    borders = [2 * middles[0] - between[0], *between, 2 * middles[-1] - between[-1]]
    return list(pairwise(borders))


def _between(scale: Any, share: float) -> str:
    """Return the colour at ``share`` of a colour scale, a list of (share, colour)."""
    stops = [(float(position), _rgba(color)) for position, color in (scale or ((0, "#ffffff"), (1, GREY)))]
    for (a, first), (b, second) in pairwise(stops):
        if share <= b and b > a:
            t = max(0.0, (share - a) / (b - a))
            r, g, blue, alpha = ((1 - t) * one + t * other for one, other in zip(first, second, strict=True))
            return f"rgba({r:.0f},{g:.0f},{blue:.0f},{alpha:.3f})"
    return "none"


def _rgba(color: str) -> tuple[float, float, float, float]:
    if color.startswith("#"):
        return (*(float(int(color[i : i + 2], 16)) for i in (1, 3, 5)), 1.0)  # type: ignore[return-value]
    parts = [float(part) for part in color.partition("(")[2].rstrip(")").split(",")]
    r, g, b, alpha = (*parts, 1.0)[:4]
    return r, g, b, alpha


def _point(symbol: str, x: float, y: float, size: float, color: str, opacity: Any) -> Markup:
    shape, *_ = str(symbol).partition("-open")
    hollow = str(symbol).endswith("-open")
    look = {
        "fill": "none" if hollow else color,
        "stroke": color,
        "stroke_width": 1.5 if hollow else 0.5,
        "opacity": opacity,
    }
    r = size / 2
    if shape == "line-ns":
        return _tag("line", x1=x, x2=x, y1=y - r, y2=y + r, stroke=color, stroke_width=2)
    if shape == "x":
        d = f"M{x - r:.1f} {y - r:.1f}l{size:.1f} {size:.1f}m0 {-size:.1f}l{-size:.1f} {size:.1f}"
        return _tag("path", d=d, fill="none", stroke=color, stroke_width=2.5, opacity=opacity)
    if shape in _CORNERS or shape == "star":
        count, turn = _CORNERS.get(shape, (10, 0))
        radii = [r * 1.15 if shape != "star" or i % 2 == 0 else r * 0.5 for i in range(count)]
        angles = [math.radians(turn + 360 * i / count) for i in range(count)]
        corners = (f"{x + q * math.sin(a):.1f},{y - q * math.cos(a):.1f}" for q, a in zip(radii, angles, strict=True))
        return _tag("polygon", points=" ".join(corners), **look)
    return _tag("circle", cx=x, cy=y, r=r, **look)


def _line(lying: bool, a: float, b: float, c: float, d: float, color: str) -> Markup:
    x1, y1, x2, y2 = (a, b, c, d) if lying else (b, a, d, c)
    return _tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color, stroke_width=1.5)


def _end(axis: Axis, value: float) -> float:
    """Return the pixel where a bar ends: the axis' start for a value without a logarithm on a logarithmic axis."""
    number = axis.value(value)
    return axis.start if number is None else axis.at(number)


def _pairs(trace: Any, axes: TraceAxes) -> list[tuple[int, float | None, float | None]]:
    ys = trace.y if trace.y is not None else ()
    xs = trace.x if trace.x is not None else range(len(ys))
    return [(i, axes.x.pixel(x), axes.y.pixel(y)) for i, (x, y) in enumerate(zip(xs, ys, strict=False))]


def _runs(values: Sequence[tuple[int, float | None, float | None]]) -> Iterator[list[tuple[float, float]]]:
    run: list[tuple[float, float]] = []
    for _, x, y in values:
        if x is None or y is None:
            yield from ([run] if run else [])
            run = []
        else:
            run.append((x, y))
    yield from ([run] if run else [])


def _nth(value: Any, i: int, usual: Any) -> Any:
    """Return entry ``i`` of a list, or ``value`` itself if it is no list; ``usual`` in place of None."""
    if isinstance(value, (list, tuple, np.ndarray)):
        value = value[i] if i < len(value) else None
    return usual if value is None else value


def _size(marker: Any, i: int) -> float:
    return float(_nth(marker.size, i, 7))


def _lines_of(text: object) -> list[str]:
    """Return the words of a Plotly figure, which have a little HTML, as lines of plain text."""
    pieces = re.split(r"<br\s*/?>", str(text or ""))
    return [html.unescape(re.sub(r"<[^>]*>", "", piece)) for piece in pieces]


def _width_of(lines: list[str]) -> float:
    """Return about the width of the longest of ``lines``, in pixels."""
    return _CHARACTER * max(map(len, lines), default=0)
