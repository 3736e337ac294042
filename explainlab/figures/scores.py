"""Charts of attributions: the scores sorted, from the baseline's output to the text's, and how far several agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from explainlab.attribution.records import Attribution
from explainlab.figures.chart import BLUE, GREY, RED, Chart, add_cells, hatched, layout, shortened, shown
from explainlab.figures.heatmap import agreement, method_label, number, spelled
from explainlab.figures.palette import DEFAULT, PALETTES

MOST = 15
"""Features with a bar of their own; all others share one."""
_LONGEST = 24
_VISIBLE = 0.005  # a remainder below this share of the axis is not drawn


@dataclass(frozen=True)
class _Bar:
    """A bar from ``start`` over ``size``; a ``total`` has no sign."""

    name: str
    size: float
    start: float = 0.0
    total: bool = False


def score_bars(attribution: Attribution, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """The scores, the largest first, a bar a feature; those beyond the first 15 are summed."""
    bars = _features(attribution)
    title = f"Scores by {method_label(attribution)}, the largest first"
    return _chart("scores", title, f"Score for {attribution.target.label}", attribution, bars, palette, theme)


def has_waterfall(attribution: Attribution) -> bool:
    """Whether its scores are promised to add up to a change of the output."""
    return attribution.signed and attribution.completeness is not None


def waterfall(attribution: Attribution, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """From the output where all scores start, over the features, to the output for the text.

    What the scores miss of the sum that the method promises has a bar of its own. Of a logit only the change is known.
    Needs :func:`has_waterfall`.
    """
    sums = attribution.completeness
    assert sums is not None
    is_probability = attribution.request.output == "probability"
    end = attribution.prediction.probabilities[attribution.target.label] if is_probability else sums.expected
    steps = [*_features(attribution), *_rest(attribution)]
    names = ("Baseline's output", "Output") if is_probability else ("Start", "Change of the output")
    bars, at = [_Bar(names[0], end - sums.expected, total=True)], end - sums.expected
    for step in steps:
        bars.append(_Bar(step.name, step.size, at))
        at += step.size
    bars.append(_Bar(names[1], end, total=True))
    what = attribution.request.output if is_probability else "logit, from the start"
    title = f"From the baseline's output to the text's, by {method_label(attribution)}"
    axis = f"{what.capitalize()} of {attribution.target.label}"
    return _chart("from-baseline-to-output", title, axis, attribution, bars, palette, theme)


def agreement_matrix(attributions: Sequence[Attribution]) -> Chart:
    """Spearman's rank correlation of every two attributions of the same features, which are numbered."""
    n, names = len(attributions), [method_label(attribution) for attribution in attributions]
    values: list[list[float | None]] = [[1.0 if i == j else None for j in range(n)] for i in range(n)]
    pairs = agreement(attributions)
    for pair in pairs:
        values[pair.first][pair.second] = values[pair.second][pair.first] = pair.rank_correlation
    figure = go.Figure(layout=layout("", "", height=130 + 44 * n))
    texts = [["–" if value is None else f"{value:.2f}".replace("-", "−") for value in row] for row in values]
    hover = [
        [f"{first} and {second}: {text}" for second, text in zip(names, row, strict=True)]
        for first, row in zip(names, texts, strict=True)
    ]
    numbers, numbered = [str(i + 1) for i in range(n)], [f"{name}  {i}" for i, name in enumerate(names, 1)]
    colors = [(0, _clear(RED, 0.35)), (0.5, _clear(GREY, 0.05)), (1, _clear(BLUE, 0.35))]
    add_cells(figure, numbers, numbered, values, texts, hover, colors, low=-1)
    rows = [
        {"map": method_label(attributions[i]), "and": method_label(attributions[j]), "rank_correlation": values[i][j]}
        for i in range(n)
        for j in range(n)
    ]
    known = [(pair.rank_correlation, pair) for pair in pairs if pair.rank_correlation is not None]
    title = "How far the maps agree: rank correlation"
    if not known:
        return Chart("agreement", title, f"{title}. None is defined.", figure, rows)
    (low, apart), (high, near) = min(known, key=_first), max(known, key=_first)
    most, least = (
        f"{method_label(attributions[pair.first])} and {method_label(attributions[pair.second])}"
        for pair in (near, apart)
    )
    return Chart("agreement", title, f"{title}. Highest: {most}, {high:.2f}; lowest: {least}, {low:.2f}.", figure, rows)


def _chart(
    name: str, title: str, axis: str, attribution: Attribution, bars: Sequence[_Bar], palette: str, theme: str
) -> Chart:
    hues = getattr(PALETTES[palette], theme)
    figure = go.Figure(layout=layout(shown(axis), "", height=90 + 26 * max(len(bars), 3)))
    figure.add_bar(
        x=[bar.size for bar in bars],
        y=list(range(len(bars))),
        base=[bar.start for bar in bars],
        orientation="h",
        marker={
            "color": [_hue(bar, attribution, hues) for bar in bars],
            "line": {"color": GREY, "width": 1},
            "pattern": hatched([0.0 if bar.total else bar.size for bar in bars]),
        },
        customdata=[[shown(bar.name), _value(bar, attribution)] for bar in bars],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )
    labels = [shown(f"{bar.name}  {_value(bar, attribution)}") for bar in bars]
    figure.update_yaxes(tickvals=list(range(len(bars))), ticktext=labels, range=[len(bars) - 0.5, -0.5], showgrid=False)
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    rows = [{"name": bar.name, "score": bar.size, "from": bar.start, "total": bar.total} for bar in bars]
    first = max((bar for bar in bars if not bar.total), key=lambda bar: abs(bar.size), default=None)
    largest = "" if first is None else f" Largest: {first.name}, {_value(first, attribution)}."
    return Chart(name, title, f"{title}.{largest}", figure, rows)


def _features(attribution: Attribution) -> list[_Bar]:
    """A bar a content feature, the largest first; those beyond the first 15 in one."""
    content = np.flatnonzero(attribution.content)
    scores = attribution.scores if attribution.signed else np.abs(attribution.scores)
    order = content[np.argsort(-np.abs(scores[content]), kind="stable")].tolist()
    alone = order if len(order) == MOST + 1 else order[:MOST]
    names = [shortened(spelled(attribution.features[i].text) or "(nothing)", _LONGEST) for i in alone]
    bars = [_Bar(name, float(scores[i])) for name, i in zip(names, alone, strict=True)]
    others = order[len(alone) :]
    unit = attribution.request.unit
    return bars + ([_Bar(f"{len(others):,} other {unit}s", float(scores[others].sum()))] if others else [])


def _rest(attribution: Attribution) -> Iterable[_Bar]:
    """The special tokens together, and what the scores miss of the promised sum, where they can be seen."""
    sums = attribution.completeness
    assert sums is not None
    scale = max(abs(sums.expected), float(np.abs(attribution.scores).max(initial=0.0)))
    special = float(attribution.scores[~attribution.content].sum())
    for bar in (_Bar("Special tokens", special), _Bar("Missing from the sum", sums.expected - sums.sum)):
        if abs(bar.size) > _VISIBLE * scale:
            yield bar


def _value(bar: _Bar, attribution: Attribution) -> str:
    return number(bar.size, signed=attribution.signed and not bar.total)


def _hue(bar: _Bar, attribution: Attribution, hues: object) -> str:
    if bar.total:
        return GREY
    sign = "magnitude" if not attribution.signed else "positive" if bar.size >= 0 else "negative"
    return str(getattr(hues, sign))


def _first(pair: tuple[float, object]) -> float:
    return pair[0]


def _clear(color: str, opacity: float) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
