"""An axis of a still picture: where values are, and which are labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from explainlab.figures.still.text import lines_of

_ROOM = 0.05
"""The share of an axis that is left free at both ends of the data."""
_WANTED = 6
"""About so many labels on an axis of numbers."""


@dataclass
class Axis:
    """Values of ``low`` to ``high`` between two places in pixels; of a ``log`` axis these are logarithms.

    ``names`` are the categories of an axis of words, whose values are 0, 1, ... (None: an axis of numbers).
    """

    low: float
    high: float
    log: bool
    names: dict[str, int] | None
    ticks: list[tuple[float, list[str]]] = field(default_factory=list)
    start: float = 0.0
    end: float = 1.0

    def value(self, value: Any) -> float | None:
        """The number of ``value`` on this axis; None where it has none."""
        if self.names is not None and str(value) in self.names:
            return float(self.names[str(value)])
        if value is None or isinstance(value, str):
            return None
        number = float(value)
        if self.log:
            return math.log10(number) if number > 0 else None
        return number if math.isfinite(number) else None

    def at(self, number: float) -> float:
        """The place of a ``number`` in pixels."""
        span = (self.high - self.low) or 1.0
        return self.start + (number - self.low) / span * (self.end - self.start)

    def place(self, value: Any) -> float | None:
        """The place of a ``value`` in pixels; None where it has none."""
        number = self.value(value)
        return None if number is None else self.at(number)


def axis_of(asked: Any, values: Sequence[Any], ends: Iterable[Any], zero: bool, roomy: bool = True) -> Axis:
    """The axis that Plotly's ``asked`` describes, of the ``values`` of its traces, with the ``ends`` of their errors.

    ``zero``: bars begin there; ``roomy``: some room is left beside the data, as cells need none.
    """
    words = [value for value in values if isinstance(value, str)]
    names = None
    if words or asked.type == "category":
        order = [*(asked.categoryarray if asked.categoryarray is not None else ()), *map(str, values)]
        names = {name: place for place, name in enumerate(dict.fromkeys(map(str, order)))}
    axis = Axis(0.0, 1.0, asked.type == "log", names)
    if asked.range is not None:
        axis.low, axis.high = (float(end) for end in asked.range)
    else:
        axis.low, axis.high = _extent(axis, asked, [*values, *ends], zero, roomy)
        if asked.autorange == "reversed":
            axis.low, axis.high = axis.high, axis.low
    axis.ticks = [(place, lines_of(label)) for place, label in _ticks(axis, asked) if _inside(axis, place)]
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
        places = [axis.value(value) for value in asked.tickvals]
        return [(place, str(label)) for place, label in zip(places, labels, strict=False) if place is not None]
    if axis.names is not None:
        return [(float(place), name) for name, place in axis.names.items()]
    low, high = sorted((axis.low, axis.high))
    if axis.log:
        powers = range(math.floor(low), math.ceil(high) + 1)
        steps = (1,) if high - low >= 2 else (1, 2, 5)
        return [(math.log10(m * 10.0**e), _label(m * 10.0**e, asked)) for e in powers for m in steps]
    step = float(asked.dtick) if isinstance(asked.dtick, int | float) else _step((high - low) / _WANTED)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(number * step, _label(number * step, asked)) for number in range(first, min(last, first + 100) + 1)]


def _step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least ``least``."""
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


def _inside(axis: Axis, place: float) -> bool:
    low, high = sorted((axis.low, axis.high))
    room = 1e-6 * (high - low)
    return low - room <= place <= high + room
