"""The scores of an attribution as bars, for charts and reports: sorted, or from the baseline's output to the text's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import method_label, number, spelled

MOST = 15
"""Features with a bar of their own; all others share one."""
_VISIBLE = 0.005  # a remainder below this share of the axis is not drawn


@dataclass(frozen=True)
class Bar:
    """A bar from ``start`` over ``size``. ``kind``: total, positive, negative or, without a sign, magnitude."""

    name: str
    size: float
    kind: str
    start: float = 0.0

    @property
    def value(self) -> str:
        """The size as text, with its sign if it has one."""
        return number(self.size, signed=self.kind in ("positive", "negative"))


@dataclass(frozen=True)
class Bars:
    """Bars from top to bottom; ``axis`` says what they measure."""

    title: str
    axis: str
    bars: tuple[Bar, ...]

    @property
    def finding(self) -> str:
        """The title and the largest score, in words."""
        first = max((bar for bar in self.bars if bar.kind != "total"), key=lambda bar: abs(bar.size), default=None)
        return f"{self.title}." + ("" if first is None else f" Largest: {first.name}, {first.value}.")

    @property
    def places(self) -> list[tuple[Bar, float, float]]:
        """Every bar with its left end and its width, as shares of an axis that holds all bars and zero."""
        low, length = self._extent
        return [
            (bar, (min(bar.start, bar.start + bar.size) - low) / length, abs(bar.size) / length) for bar in self.bars
        ]

    @property
    def zero(self) -> float:
        """The place of zero on the same axis."""
        low, length = self._extent
        return -low / length

    @property
    def _extent(self) -> tuple[float, float]:
        ends = [0.0, *(end for bar in self.bars for end in (bar.start, bar.start + bar.size))]
        return min(ends), (max(ends) - min(ends)) or 1.0


def sorted_bars(attribution: Attribution) -> Bars:
    """Return the scores as bars, the largest first, one for each feature; one bar sums those beyond the first 15."""
    title = f"Scores by {method_label(attribution)}, the largest first"
    return Bars(title, f"Score for {attribution.target.label}", tuple(_features(attribution)))


def has_waterfall(attribution: Attribution) -> bool:
    """Return True if its method promises that the scores add up to a change of the output."""
    return attribution.signed and attribution.completeness is not None


def waterfall_bars(attribution: Attribution) -> Bars:
    """Return bars from the output where all scores start, over the features, to the output for the text.

    The difference between the sum of the scores and the promised sum has its own bar. For a logit, and for the
    difference of two classes, only the change is known. Needs :func:`has_waterfall`.
    """
    sums, output, label = attribution.completeness, attribution.request.output, attribution.target.label
    assert sums is not None
    known = output == "probability" and label in attribution.prediction.probabilities
    end = attribution.prediction.probabilities[label] if known else sums.expected
    names = ("Baseline's output", "Output") if known else ("Start", "Change of the output")
    bars, at = [Bar(names[0], end - sums.expected, "total")], end - sums.expected
    for step in (*_features(attribution), *_rest(attribution)):
        bars.append(Bar(step.name, step.size, step.kind, at))
        at += step.size
    bars.append(Bar(names[1], end, "total"))
    title = "From the baseline's output to the text's" if known else "How the scores add up to the change"
    title = f"{title}, by {method_label(attribution)}"
    return Bars(title, f"{output.capitalize()}{'' if known else ', from the start,'} of {label}", tuple(bars))


def first_bars(attribution: Attribution) -> Bars:
    """Return the waterfall if there is one, else the sorted scores."""
    return waterfall_bars(attribution) if has_waterfall(attribution) else sorted_bars(attribution)


def _features(attribution: Attribution) -> list[Bar]:
    """Return a bar for each content feature, the largest first; one bar has all beyond the first 15."""
    content = np.flatnonzero(attribution.content)
    scores = attribution.scores if attribution.signed else np.abs(attribution.scores)
    order = content[np.argsort(-np.abs(scores[content]), kind="stable")].tolist()
    alone = order if len(order) == MOST + 1 else order[:MOST]
    names = [spelled(attribution.features[i].text) or "(nothing)" for i in alone]
    bars = [_bar(name, float(scores[i]), attribution.signed) for name, i in zip(names, alone, strict=True)]
    others = order[len(alone) :]
    if others:
        name = f"{len(others):,} other {attribution.request.unit}s"
        bars.append(_bar(name, float(scores[others].sum()), attribution.signed))
    return bars


def _rest(attribution: Attribution) -> Iterable[Bar]:
    """Yield a bar for all special tokens and one for the rest of the promised sum, if large enough to see."""
    sums = attribution.completeness
    assert sums is not None
    scale = max(abs(sums.expected), float(np.abs(attribution.scores).max(initial=0.0)))
    special = float(attribution.scores[~attribution.content].sum())
    for name, size in (("Special tokens", special), ("Missing from the sum", sums.expected - sums.sum)):
        if abs(size) > _VISIBLE * scale:
            yield _bar(name, size, signed=True)


def _bar(name: str, size: float, signed: bool) -> Bar:
    return Bar(name, size, "magnitude" if not signed else "positive" if size >= 0 else "negative")
