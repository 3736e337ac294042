"""Charts of attributions: sorted scores, the waterfall from baseline to text, and the agreement of several maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go

from explainlab.attribution.records import Attribution
from explainlab.figures.bars import Bars, sorted_bars, waterfall_bars
from explainlab.figures.chart import BLUE, GREY, NAME, RED, Chart, add_cells, hatched, layout, shortened, shown, wrapped
from explainlab.figures.heatmap import agreement, method_label
from explainlab.figures.palette import DEFAULT, PALETTES


def score_bars(attribution: Attribution, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """Return a chart of :func:`.bars.sorted_bars`."""
    return _chart("scores", sorted_bars(attribution), palette, theme)


def waterfall(attribution: Attribution, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """Return a chart of :func:`.bars.waterfall_bars`."""
    return _chart("from-baseline-to-output", waterfall_bars(attribution), palette, theme)


def agreement_matrix(attributions: Sequence[Attribution]) -> Chart:
    """Return a chart of Spearman's rank correlation of every two attributions of the same features."""
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


def _chart(name: str, drawn: Bars, palette: str, theme: str) -> Chart:
    hues = getattr(PALETTES[palette], theme)
    bars = [replace(bar, name=shortened(bar.name, NAME)) for bar in drawn.bars]
    figure = go.Figure(layout=layout(wrapped(drawn.axis), "", height=90 + 26 * max(len(bars), 3)))
    figure.add_bar(
        x=[bar.size for bar in bars],
        y=list(range(len(bars))),
        base=[bar.start for bar in bars],
        orientation="h",
        marker={
            "color": [getattr(hues, bar.kind, GREY) for bar in bars],
            "line": {"color": GREY, "width": 1},
            "pattern": hatched([0.0 if bar.kind == "total" else bar.size for bar in bars]),
        },
        customdata=[[shown(bar.name), bar.value] for bar in bars],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )
    labels = [shown(f"{bar.name}  {bar.value}") for bar in bars]
    figure.update_yaxes(tickvals=list(range(len(bars))), ticktext=labels, range=[len(bars) - 0.5, -0.5], showgrid=False)
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    rows = [{"name": b.name, "score": b.size, "from": b.start, "total": b.kind == "total"} for b in bars]
    return Chart(name, drawn.title, replace(drawn, bars=tuple(bars)).finding, figure, rows)


def _first(pair: tuple[float, object]) -> float:
    return pair[0]


def _clear(color: str, opacity: float) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
