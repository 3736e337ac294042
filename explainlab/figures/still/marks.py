"""The marks of a trace: lines, points, bars, boxes and cells, as elements of an SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup, escape

from explainlab.figures.chart import COLORS, GREY
from explainlab.figures.still.axis import Axis
from explainlab.figures.still.text import SIZE, lines_of, width_of

EDGE = 20.0
"""Pixels between the plot and the right edge of the picture."""
_DASHES = {"dash": "7 5", "dot": "2 4", "dashdot": "7 4 2 4", "longdash": "11 5"}
_TURNS = {"square": (4, 45), "diamond": (4, 0), "triangle-up": (3, 0), "triangle-down": (3, 180)}


class Place(NamedTuple):
    """The two axes of a trace, and its colour unless it has its own."""

    x: Axis
    y: Axis
    color: str


def tag(name: str, content: str = "", /, **attributes: Any) -> Markup:
    """An element of an SVG; names have - in place of _, and what is None is left out."""
    written = "".join(
        f' {key.replace("_", "-")}="{escape(f"{value:.2f}" if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{content}</{name}>")


def words(lines: Sequence[str], x: float, y: float, anchor: str = "middle", **more: Any) -> Markup:
    """``lines`` of text at a place, one below the other, the first at ``y``."""
    spans = [tag("tspan", str(escape(line)), x=x, dy=f"{1.2 * (i > 0)}em") for i, line in enumerate(lines)]
    look: dict[str, Any] = {"font_size": SIZE, "fill": "currentColor", **more}
    return tag("text", Markup().join(spans), x=x, y=y, text_anchor=anchor, **look)


def marks_of(trace: Any, place: Place, bars: tuple[float, float] = (0.0, 0.8)) -> Iterator[Markup]:
    """What a ``trace`` draws; of bars and boxes the offset and the width are given in units of a category."""
    draw = {"scatter": _scatter, "heatmap": _cells}.get(trace.type)
    if draw is not None:
        yield from draw(trace, place)
    elif trace.type == "bar":
        yield from _bars(trace, place, bars)
    elif trace.type == "box":
        yield from _boxes(trace, place, bars)


def color_of(trace: Any, number: int) -> str:
    """The colour of a ``trace``, the ``number``th of its figure."""
    for part in (getattr(trace, "marker", None), getattr(trace, "line", None)):
        color = getattr(part, "color", None)
        if isinstance(color, str):
            return color
    return COLORS[number % len(COLORS)]


def _scatter(trace: Any, place: Place) -> Iterator[Markup]:
    mode, values = trace.mode or "lines+markers", _pairs(trace, place)
    if trace.fill is not None:
        corners = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in values if x is not None and y is not None)
        yield tag("polygon", points=corners, fill=trace.fillcolor or place.color, stroke="none")
    if "lines" in mode and (trace.line.width is None or trace.line.width > 0):
        for run in _runs(values):
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in run)
            dash = _DASHES.get(trace.line.dash or "")
            color, width = trace.line.color or place.color, float(trace.line.width or 2)
            yield tag("polyline", points=points, fill="none", stroke=color, stroke_width=width, stroke_dasharray=dash)
    yield from _errors(trace, place)
    for i, x, y in values:
        if x is None or y is None:
            continue
        if "markers" in mode:
            marker = trace.marker
            yield _point(_nth(marker.symbol, i, "circle"), x, y, _size(marker, i), _nth(marker.color, i, place.color),
                         _nth(marker.opacity, i, None))  # fmt: skip
        if "text" in mode:
            lines, above = lines_of(_nth(trace.text, i, "")), (trace.textposition or "middle").split()[0]
            lower = {"top": -8.0, "bottom": 16.0}.get(above, 4.0 - 0.6 * SIZE * (len(lines) - 1))
            yield words(lines, x, y + lower, opacity=trace.opacity)


def _errors(trace: Any, place: Place) -> Iterator[Markup]:
    for along, error in (("x", trace.error_x), ("y", trace.error_y)):
        if error is None or error.array is None:
            continue
        axis = place.x if along == "x" else place.y
        least = error.arrayminus if error.arrayminus is not None else error.array
        for (_, x, y), value, more, less in zip(
            _pairs(trace, place), getattr(trace, along), error.array, least, strict=False
        ):
            if x is None or y is None or not (more or less):
                continue
            low, high = axis.place(float(value) - float(less or 0)), axis.place(float(value) + float(more or 0))
            if low is None or high is None:
                continue
            ends = (
                {"x1": low, "x2": high, "y1": y, "y2": y} if along == "x" else {"x1": x, "x2": x, "y1": low, "y2": high}
            )
            yield tag("line", **ends, stroke=error.color or place.color, stroke_width=1.5)


def _bars(trace: Any, place: Place, bars: tuple[float, float]) -> Iterator[Markup]:
    lying = trace.orientation == "h"
    along, across = (place.x, place.y) if lying else (place.y, place.x)
    sizes, places = (trace.x, trace.y) if lying else (trace.y, trace.x)
    base = trace.base if isinstance(trace.base, (list, tuple, np.ndarray)) else [trace.base or 0] * len(sizes)
    for i, (size, name, start) in enumerate(zip(sizes, places, base, strict=False)):
        middle = across.value(name)
        if middle is None or size is None or not math.isfinite(float(size)):
            continue
        width = _nth(trace.width, i, None) or bars[1]
        ends = sorted((_end(along, float(start)), _end(along, float(start) + float(size))))
        sides = sorted((across.at(middle + bars[0] - width / 2), across.at(middle + bars[0] + width / 2)))
        color = _nth(trace.marker.color, i, place.color)
        (x1, x2), (y1, y2) = (ends, sides) if lying else (sides, ends)
        yield tag("rect", x=x1, y=y1, width=max(1.0, x2 - x1), height=max(1.0, y2 - y1), fill=color,
                  fill_opacity=_nth(trace.marker.opacity, i, trace.opacity))  # fmt: skip
        if trace.text is not None:
            lines = lines_of(_nth(trace.text, i, ""))
            fits = x2 + 5 + width_of(lines) < place.x.end + EDGE
            if not lying:
                yield words(lines, (x1 + x2) / 2, y1 - 5 - 1.2 * SIZE * (len(lines) - 1))
            elif fits:
                yield words(lines, x2 + 5, (y1 + y2) / 2 + 4, anchor="start")
            else:
                yield words(lines, x2 - 6, (y1 + y2) / 2 + 4, anchor="end", fill="#ffffff")
    yield from _errors(trace, place)


def _boxes(trace: Any, place: Place, bars: tuple[float, float]) -> Iterator[Markup]:
    lying = trace.orientation == "h" or (trace.y is None and trace.q1 is None)
    along, across = (place.x, place.y) if lying else (place.y, place.x)
    values, names = (trace.x, trace.y) if lying else (trace.y, trace.x)
    for name, quantiles in _quantiles(trace, values, names):
        middle = across.value(name)
        if middle is None:
            continue
        low, first, median, third, high = (_end(along, q) for q in quantiles)
        a, m, b = (across.at(middle + bars[0] + share * bars[1]) for share in (-0.35, 0.0, 0.35))
        for one, other in ((low, first), (third, high)):
            yield _line(lying, one, m, other, m, place.color)
        corners = [(first, a), (third, a), (third, b), (first, b)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (corners if lying else [(y, x) for x, y in corners]))
        yield tag("polygon", points=points, fill=place.color, fill_opacity=0.3, stroke=place.color, stroke_width=1.5)
        yield _line(lying, median, a, median, b, place.color)


def _quantiles(trace: Any, values: Any, names: Any) -> Iterator[tuple[Any, Sequence[float]]]:
    """Of each box its name and its five numbers: given, or those of its values."""
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


def _cells(trace: Any, place: Place) -> Iterator[Markup]:
    z = [[math.nan if value is None else float(value) for value in row] for row in trace.z]
    known = [value for row in z for value in row if math.isfinite(value)] or [0.0]
    low = float(min(known) if trace.zmin is None else trace.zmin)
    high = float(max(known) if trace.zmax is None else trace.zmax)
    xs = _middles(trace.x, len(z[0]) if z else 0, place.x)
    ys = _middles(trace.y, len(z), place.y)
    for (y1, y2), row in zip(edges(ys), z, strict=True):
        for (x1, x2), value in zip(edges(xs), row, strict=True):
            if math.isfinite(value):
                sides = sorted((place.x.at(x1), place.x.at(x2))), sorted((place.y.at(y1), place.y.at(y2)))
                share = min(1.0, max(0.0, (value - low) / ((high - low) or 1.0)))
                yield tag("rect", x=sides[0][0], y=sides[1][0], width=sides[0][1] - sides[0][0],
                          height=sides[1][1] - sides[1][0], fill=_between(trace.colorscale, share))  # fmt: skip


def _middles(values: Any, count: int, axis: Axis) -> list[float]:
    if values is None:
        return [float(i) for i in range(count)]
    return [axis.value(value) or 0.0 for value in values]


def edges(middles: Sequence[float]) -> list[tuple[float, float]]:
    """The ends of cells around ``middles``: half-way to the next, the outer ones as far to the other side."""
    if len(middles) < 2:
        return [(m - 0.5, m + 0.5) for m in middles]
    between = [(a + b) / 2 for a, b in pairwise(middles)]
    borders = [2 * middles[0] - between[0], *between, 2 * middles[-1] - between[-1]]
    return list(pairwise(borders))


def _between(scale: Any, share: float) -> str:
    """The colour of a colour scale, a list of (place, colour), at ``share``."""
    stops = [(float(place), _rgba(color)) for place, color in (scale or ((0, "#ffffff"), (1, GREY)))]
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
        return tag("line", x1=x, x2=x, y1=y - r, y2=y + r, stroke=color, stroke_width=2)
    if shape == "x":
        d = f"M{x - r:.1f} {y - r:.1f}l{size:.1f} {size:.1f}m0 {-size:.1f}l{-size:.1f} {size:.1f}"
        return tag("path", d=d, fill="none", stroke=color, stroke_width=2.5, opacity=opacity)
    if shape in _TURNS or shape == "star":
        count, turn = _TURNS.get(shape, (10, 0))
        radii = [r * 1.15 if shape != "star" or i % 2 == 0 else r * 0.5 for i in range(count)]
        angles = [math.radians(turn + 360 * i / count) for i in range(count)]
        corners = (f"{x + q * math.sin(a):.1f},{y - q * math.cos(a):.1f}" for q, a in zip(radii, angles, strict=True))
        return tag("polygon", points=" ".join(corners), **look)
    return tag("circle", cx=x, cy=y, r=r, **look)


def _line(lying: bool, a: float, b: float, c: float, d: float, color: str) -> Markup:
    x1, y1, x2, y2 = (a, b, c, d) if lying else (b, a, d, c)
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color, stroke_width=1.5)


def _end(axis: Axis, value: float) -> float:
    """Where a bar ends: on a logarithmic axis at the low end for what has no logarithm."""
    number = axis.value(value)
    return axis.start if number is None else axis.at(number)


def _pairs(trace: Any, place: Place) -> list[tuple[int, float | None, float | None]]:
    ys = trace.y if trace.y is not None else ()
    xs = trace.x if trace.x is not None else range(len(ys))
    return [(i, place.x.place(x), place.y.place(y)) for i, (x, y) in enumerate(zip(xs, ys, strict=False))]


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
    """Of a list the entry ``i``; ``value`` itself if it is no list, and ``usual`` where there is none."""
    if isinstance(value, (list, tuple, np.ndarray)):
        value = value[i] if i < len(value) else None
    return usual if value is None else value


def _size(marker: Any, i: int) -> float:
    return float(_nth(marker.size, i, 7))
