"""A chart as an SVG without scripts, in the ink of the page around it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from explainlab.figures.chart import Chart
from explainlab.figures.still.axis import Axis, axis_of
from explainlab.figures.still.marks import EDGE, Place, color_of, edges, marks_of, tag, words
from explainlab.figures.still.text import SIZE, lines_of, width_of

WIDTH = 760.0
_ROW = 20.0
_GRID = {"stroke": "currentColor", "stroke_opacity": 0.14}


def picture(chart: Chart) -> Markup:
    """The chart as one SVG element; what it shows in words is its accessible name."""
    return _Drawing(chart.figure, chart.alt).svg()


class _Drawing:
    """One figure: its axes, and where they are."""

    def __init__(self, figure: go.Figure, alt: str) -> None:
        self._alt = alt
        self._layout = figure.layout
        self._traces = [trace for trace in figure.data if trace.visible in (None, True)]
        roomy = not any(trace.type == "heatmap" for trace in self._traces)
        self._x = axis_of(self._layout.xaxis, *self._values("x", None), roomy)
        sides = sorted({trace.yaxis or "y" for trace in self._traces} | {"y"})
        self._ys = {side: axis_of(self._axis(side), *self._values("y", side), roomy) for side in sides}
        self._legend = self._legend_rows()
        self._place()

    def svg(self) -> Markup:
        """The whole picture."""
        parts = [*self._grid(), *self._shapes(), *self._marks(), *self._annotations(), *self._keys()]
        return tag("svg", Markup().join(parts), **{"class": "chart"}, viewBox=f"0 0 {WIDTH:.0f} {self._height:.0f}",
                   width=int(WIDTH), height=int(self._height), role="img", aria_label=self._alt,
                   xmlns="http://www.w3.org/2000/svg",
                   font_family="system-ui, 'Helvetica Neue', Arial, sans-serif")  # fmt: skip

    def _axis(self, side: str) -> Any:
        return getattr(self._layout, side.replace("y", "yaxis"))

    def _values(self, name: str, side: str | None) -> tuple[list[Any], list[Any], bool]:
        """What the traces of an axis have on it: values, the ends of their errors, and whether bars begin at zero."""
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
                own = [trace.name or ""] if trace.type == "box" else _counted(trace, name)
            if trace.type == "heatmap" and len(own) and not isinstance(own[0], str):
                whole = [float(value) for value in own]
                ends += [end for pair in edges(whole) for end in pair]
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
        """The ends of bars that begin elsewhere than at zero."""
        if trace.base is None:
            return []
        base = trace.base if isinstance(trace.base, list | tuple) else [trace.base] * len(own)
        return [float(a) for a in base] + [float(a) + float(b) for a, b in zip(base, own, strict=False)]

    def _place(self) -> None:
        """Say where the axes begin and end."""
        labels = [lines for axis in self._ys.values() for _, lines in axis.ticks]
        titles = [self._axis(side).title.text for side in self._ys]
        left = 14 + max(map(width_of, labels), default=0.0) + (20 if any(titles) else 0)
        self._top = self._layout.xaxis.side == "top"
        self._every = max(1, math.ceil(sum(width_of(lines) + 12 for _, lines in self._x.ticks) / (WIDTH - left - 20)))
        tall = max((len(lines) for _, lines in self._x.ticks), default=1) * 1.2 * SIZE
        title = 22.0 if self._layout.xaxis.title.text else 0.0
        plot = float(self._layout.height or 420) - 90
        head = 14.0 + (tall + 8 + title if self._top else 0)
        foot = 8.0 if self._top else tall + 8 + title
        self._x.start, self._x.end = left, WIDTH - EDGE
        for side, axis in self._ys.items():
            low, high = self._axis(side).domain or (0.0, 1.0)
            axis.start, axis.end = head + plot * (1 - low), head + plot * (1 - high)
        self._head, self._bottom, self._foot = head, head + plot, foot
        self._height = head + plot + foot + _ROW * len(self._legend) + 8

    def _grid(self) -> Iterator[Markup]:
        x, near = self._x, -8.0 if self._top else 18.0
        base = self._head if self._top else self._bottom
        for number, (value, lines) in enumerate(x.ticks):
            at = x.at(value)
            if self._layout.xaxis.showgrid is not False and x.names is None:
                yield tag("line", x1=at, x2=at, y1=self._head, y2=self._bottom, **_GRID)
            if number % self._every == 0:
                up = 1.2 * SIZE * (len(lines) - 1) if self._top else 0.0
                yield words(lines, at, base + near - up)
        for side, axis in self._ys.items():
            for value, lines in axis.ticks:
                at = axis.at(value)
                if self._axis(side).showgrid is not False and axis.names is None:
                    yield tag("line", x1=x.start, x2=x.end, y1=at, y2=at, **_GRID)
                yield words(lines, x.start - 8, at + 4 - 0.6 * SIZE * (len(lines) - 1), anchor="end")
            title = lines_of(self._axis(side).title.text)
            if any(title):
                middle = (axis.start + axis.end) / 2
                yield words([" ".join(title)], 14, middle, transform=f"rotate(-90 14 {middle:.1f})", opacity=0.76)
        title = lines_of(self._layout.xaxis.title.text)
        if any(title):
            y = 14.0 if self._top else self._bottom + self._foot - 6
            yield words([" ".join(title)], (x.start + x.end) / 2, y, opacity=0.76)

    def _marks(self) -> Iterator[Markup]:
        stacked = self._layout.barmode in ("stack", "overlay", "relative")
        bars = [trace for trace in self._traces if trace.type == "bar" and trace.width is None]
        beside = 1 if stacked or len({trace.yaxis for trace in bars}) > 1 else len(bars)
        reached: dict[Any, float] = {}
        for number, trace in enumerate(self._traces):
            place = Place(self._x, self._ys[trace.yaxis or "y"], color_of(trace, number))
            width = 0.8 / max(1, beside)
            offset = (bars.index(trace) - (beside - 1) / 2) * width if beside > 1 and trace in bars else 0.0
            if trace.type == "bar" and self._layout.barmode == "stack":
                trace = _on_top(trace, reached)
            yield from marks_of(trace, place, (offset, width if trace.type == "bar" else 0.8))

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
                yield tag("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke=shape.line.color or "currentColor",
                          stroke_width=float(shape.line.width or 1.5), stroke_dasharray=dash)  # fmt: skip

    def _annotations(self) -> Iterator[Markup]:
        for note in self._layout.annotations:
            x = self._at(self._x, note.xref, note.x, (self._x.start, self._x.end), logged=True)
            y = self._at(self._ys["y"], note.yref, note.y, (self._bottom, self._head), logged=True)
            if x is not None and y is not None:
                anchor = {"right": "end", "left": "start"}.get(note.xanchor or "", "middle")
                yield words(lines_of(note.text), x, y + {"bottom": -5, "top": 14}.get(note.yanchor or "", 4), anchor)

    def _at(self, axis: Axis, ref: str | None, value: Any, whole: tuple[float, float], logged: bool = False) -> Any:
        """The place of a shape's end; ``ref`` says whether it is a value or a share of the whole."""
        if ref == "paper" or (ref or "").endswith("domain"):
            return whole[0] + float(value) * (whole[1] - whole[0])
        if logged and axis.log and isinstance(value, int | float):
            return axis.at(float(value))
        return axis.place(value)

    def _legend_rows(self) -> list[list[tuple[int, Any, str]]]:
        """The traces of the legend in rows that fit, each with its number and its words."""
        if self._layout.showlegend is False:
            return []
        named = [(i, t, " ".join(lines_of(t.name))) for i, t in enumerate(self._traces)]
        named = [entry for entry in named if entry[1].name and entry[1].showlegend is not False]
        if len(named) < 2 and not self._layout.showlegend:
            return []
        rows: list[list[tuple[int, Any, str]]] = []
        room = 0.0
        for entry in named:
            needed = 46 + width_of([entry[2]])
            if not rows or needed > room:
                rows.append([])
                room = WIDTH - 40
            rows[-1].append(entry)
            room -= needed
        return rows

    def _keys(self) -> Iterator[Markup]:
        for number, row in enumerate(self._legend):
            x, y = 20.0, self._bottom + self._foot + _ROW * (number + 0.7)
            for place, trace, label in row:
                yield from marks_of(*_key(trace, x, y, color_of(trace, place)))
                yield words([label], x + 30, y + 4, anchor="start")
                x += 46 + width_of([label])


def _key(trace: Any, x: float, y: float, color: str) -> tuple[Any, Place]:
    """A short piece of a ``trace`` at a place, as its key in the legend."""
    axis = Axis(0.0, 1.0, False, None, start=x, end=x + 24), Axis(0.0, 1.0, False, None, start=y, end=y - 1)
    if trace.type != "scatter":
        return go.Scatter(x=[0.5], y=[0], mode="markers", marker={"symbol": "square", "size": 11}), Place(*axis, color)
    symbol = trace.marker.symbol if isinstance(trace.marker.symbol, str) else "circle"
    lines = {"dash": trace.line.dash, "color": trace.line.color, "width": trace.line.width}
    marker = {"symbol": symbol, "size": 8, "color": color}
    mode = "+".join(part for part in (trace.mode or "lines+markers").split("+") if part != "text") or "none"
    return go.Scatter(x=[0, 0.5, 1], y=[0, 0, 0], mode=mode, line=lines, marker=marker), Place(*axis, color)


def _on_top(trace: Any, reached: dict[Any, float]) -> Any:
    """A bar of a stack, which begins where the one before ended."""
    lying = trace.orientation == "h"
    sizes, names = (trace.x, trace.y) if lying else (trace.y, trace.x)
    base = [reached.get(name, 0.0) for name in names]
    reached.update({name: start + float(size or 0) for name, start, size in zip(names, base, sizes, strict=True)})
    return go.Bar(trace).update(base=base)


def _counted(trace: Any, name: str) -> list[Any]:
    """The places 0, 1, ... of a trace that names none."""
    other = getattr(trace, "z" if trace.type == "heatmap" else {"x": "y", "y": "x"}[name], None)
    if other is None:
        return []
    return list(range(len(other[0]) if trace.type == "heatmap" and name == "x" and len(other) else len(other)))
