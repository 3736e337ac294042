"""Figures of significance: paired differences to the best method, and average ranks with bars over equal methods."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.evaluation.result import REVERSED, CriticalDifferences, EvaluationData, MethodMetric
from explainlab.analyses.evaluation.table import best_row, metric_row
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import counted, joined, mean_words
from explainlab.figures.chart import BLUE, GREY, RED, Chart, Style, error_bars, layout, name_rows, shown
from explainlab.figures.heatmap import number

CHOSEN_HERE = "The best was chosen on these very texts, so it looks better than it is."
_BEST = Style("The best", GREY, "solid", "star")
_SAME = Style("Not told apart from the best", BLUE, "solid", "circle")
_APART = Style("Told apart from the best", RED, "solid", "diamond-open")
_RANKS = Style("Average rank", BLUE, "solid", "circle")
_ROW = 36


def differences(body: EvaluationData, metric: str) -> Chart:
    """Draw every method's mean difference to the best, text by text, with its 95% interval; above 0 the best is better.

    Reversed controls are left out. ``metric`` is its name with the preset (``asked``).
    """
    facts, best = metric_row(body, metric), best_row(body, metric)
    rows = [row for row in body.rows if row.asked == metric and row is not best]
    others = [row for row in rows if row.to_best and not row.method.startswith(REVERSED)]
    others = sorted(others, key=lambda row: row.to_best.mean or 0.0 if row.to_best else 0.0)
    title = f"{facts.label}: differences to the best, {counted(facts.n, 'text')}"
    listed = [best, *others] if best and others else []
    figure = go.Figure(layout=layout("How much worse than the best", "", 120 + _ROW * len(listed)))
    for style, rows in ((_BEST, listed[:1]), (_SAME, _told(listed, False)), (_APART, _told(listed, True))):
        _add_differences(figure, style, rows, listed)
    name_rows(figure, [shown_name(row.method) for row in listed])
    figure.add_vline(x=0, line={"color": GREY, "width": 1, "dash": "dash"})
    if best is None or not listed:
        none = "No two methods have values for the same texts."
        return Chart("differences", title, f"{title}. {none}", figure, [], (none,))
    words = f"{title}. Best: {shown_name(best.method)}, {mean_words(best.interval)}. {_told_words(listed)}"
    notes = (
        CHOSEN_HERE,
        "p: Wilcoxon's signed-rank test, corrected by Holm for all pairs and metrics; told apart: p < 0.05.",
    )
    return Chart("differences", title, words, figure, [_difference_row(row) for row in listed], notes)


def critical_diagram(body: EvaluationData, metric: str) -> Chart:
    """Draw the average ranks of all methods, 1 the best; bars join methods without a pair that differs.

    Without a diagram the chart has no rows, and a note says why. ``metric`` is its name ``asked``.
    """
    facts = metric_row(body, metric)
    title = f"{facts.label}: average ranks, and what is not told apart"
    ranks = {rank.method: rank.rank for rank in body.ranks if rank.metric == facts.key and rank.rank is not None}
    tested = next(each for each in body.critical if each.metric == facts.key)
    if tested.none:
        none = tested.none
        return Chart("ranks", title, f"{title}. {none}", go.Figure(layout=layout("", "")), [], (none,))
    order = sorted(ranks, key=lambda method: ranks[method])
    bars = [group for group in tested.groups if len(group) > 1]
    top = -0.6 - 0.4 * len(bars)
    figure = go.Figure(layout=layout("Average rank (1 is the best)", "", 110 + _ROW * len(order) + 14 * len(bars)))
    _add_stems(figure, order, ranks, top)
    for i, group in enumerate(bars):
        _add_bar(figure, group, ranks, -0.6 - 0.4 * i)
    figure.update_xaxes(side="top", range=[0.7, len(order) + 0.3], dtick=1, zeroline=False)
    name_rows(figure, [shown_name(method) for method in order], top)
    joins = "; ".join(joined([shown_name(name) for name in group]) for group in bars)
    words = f"{title}, {counted(tested.texts, 'text')}. Not told apart: {joins or 'none'}."
    rows = [{"method": name, "rank": ranks[name], "groups": _groups_of(name, tested)} for name in order]
    friedman = "" if tested.friedman is None else f" Friedman's test: p = {number(tested.friedman, signed=False)}."
    notes = (f"A bar joins methods none of whose pairs differs (Wilcoxon, Holm).{friedman}",)
    return Chart("ranks", title, words, figure, rows, notes)


def _add_differences(figure: go.Figure, style: Style, rows: list[MethodMetric], listed: list[MethodMetric]) -> None:
    """Add the dots of ``rows``, each in its place among those ``listed``; the best has no difference."""
    drawn = [row.to_best for row in rows if row.to_best]
    figure.add_scatter(
        x=[value.mean for value in drawn] or [0.0] * len(rows),
        y=[listed.index(row) for row in rows],
        error_x=error_bars(drawn) if drawn else None,
        mode="markers",
        name=style.label,
        marker={"color": style.color, "symbol": style.symbol, "size": 11},
        customdata=[[shown(shown_name(row.method)), shown(_p_words(row))] for row in rows],
        hovertemplate="%{customdata[0]}: %{x:.4g}%{customdata[1]}<extra></extra>",
        visible=bool(rows),
    )


def _add_stems(figure: go.Figure, order: list[str], ranks: dict[str, float], top: float) -> None:
    """Add a dot for each method at its rank, and a line from it up to the axis."""
    for i, method in enumerate(order):
        figure.add_scatter(
            x=[ranks[method]] * 2,
            y=[top, i],
            mode="lines",
            line={"color": GREY, "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(
        x=[ranks[method] for method in order],
        y=list(range(len(order))),
        mode="markers",
        name=_RANKS.label,
        marker={
            "color": [GREY if method == RANDOM else _RANKS.color for method in order],
            "symbol": ["cross" if method == RANDOM else _RANKS.symbol for method in order],
            "size": 10,
        },
        customdata=[shown(shown_name(method)) for method in order],
        hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
        showlegend=False,
    )


def _add_bar(figure: go.Figure, group: list[str], ranks: dict[str, float], height: float) -> None:
    """Add a thick line over the ranks of a group."""
    ends = [ranks[name] for name in group if name in ranks]
    figure.add_scatter(
        x=[min(ends) - 0.04, max(ends) + 0.04],
        y=[height, height],
        mode="lines",
        line={"color": BLUE, "width": 5},
        hovertext=shown(f"Not told apart: {joined([shown_name(name) for name in group])}"),
        hoverinfo="text",
        showlegend=False,
    )


def _told(rows: list[MethodMetric], apart: bool) -> list[MethodMetric]:
    return [row for row in rows[1:] if row.told_apart is apart]


def _told_words(listed: list[MethodMetric]) -> str:
    same = [shown_name(row.method) for row in _told(listed, False)]
    return f"Not told apart from it: {joined(same)}." if same else "The test tells all others apart from it."


def _p_words(row: MethodMetric) -> str:
    if row.to_best is None:
        return ", the best"
    p = "no text differs" if row.to_best.p is None else f"p = {number(row.to_best.p, signed=False)}"
    return f" ({number(row.to_best.low)} to {number(row.to_best.high)}), {p}"


def _difference_row(row: MethodMetric) -> dict[str, Any]:
    nothing = {"mean": None, "low": None, "high": None, "p": None}
    return {
        "method": row.method,
        "metric": row.asked,
        **(row.to_best.model_dump() if row.to_best else nothing),
        "told_apart": row.told_apart,
    }


def _groups_of(method: str, tested: CriticalDifferences) -> str:
    """Return the numbers of the bars that a method is part of, from 1."""
    bars = [group for group in tested.groups if len(group) > 1]
    return " ".join(str(i) for i, group in enumerate(bars, 1) if method in group)
