"""Figures of a metric's means over slices of the texts: by class, by right and wrong, by length."""

from __future__ import annotations

import plotly.graph_objects as go

from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, Slice, SliceMean
from explainlab.analyses.evaluation.table import metric_row
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import counted
from explainlab.figures.chart import GREY, NAME, Chart, error_bars, layout, name_rows, shortened, shown
from explainlab.figures.cost import color_symbols

MOST_CLASSES = 12
"""Classes that are drawn, the largest; the table of the chart has all."""
_SPREAD = 0.72  # of the height of a slice
_LONGEST, _DOT, _HEAD = 28, 15, 130


def slice_means(body: EvaluationData, metric: str) -> Chart:
    """Draw every method's mean with its interval in every slice; slices with few texts are grey.

    Reversed controls are left out. ``metric`` is its name with the preset (``asked``). Without slices the chart has no
    rows.
    """
    facts = metric_row(body, metric)
    title = f"{facts.label} by slices of the texts"
    drawn = _drawn(body)
    names = [row.method for row in body.rows if row.asked == metric and not row.method.startswith(REVERSED)]
    figure = go.Figure(layout=layout(shown(facts.directed_label), "", _HEAD + (_DOT * len(names) + 12) * len(drawn)))
    styles = color_symbols(names, RANDOM)
    for m, name in enumerate(names):
        offset = _SPREAD * ((m + 0.5) / len(names) - 0.5)
        means = [(i + offset, each, _mean(each, facts.key, name)) for i, each in enumerate(drawn)]
        _add_method(figure, name, [(y, each, mean) for y, each, mean in means if mean], *styles[name])
    name_rows(figure, [_label(each) for each in drawn])
    for i in range(1, len(drawn)):
        heavy = drawn[i].by != drawn[i - 1].by
        figure.add_hline(y=i - 0.5, line={"color": GREY, "width": 1.5 if heavy else 0.5})
    rows = [
        {"by": each.by, "slice": each.name, "texts": each.n, "few": each.few, **mean.model_dump()}
        for each in body.slices
        for mean in each.rows
        if mean.metric == facts.key
    ]
    listed = "; ".join(_best_words(each, facts.key, facts.sign) for each in drawn)
    return Chart("slices", title, f"{title}. Best: {listed}.", figure, rows, _notes(body))


def _drawn(body: EvaluationData) -> list[Slice]:
    """Return the slices to draw: all, but for the classes only the largest :data:`MOST_CLASSES`."""
    classes = sorted((each for each in body.slices if each.by == "label"), key=lambda each: -each.n)[:MOST_CLASSES]
    return [each for each in body.slices if each.by != "label" or each in classes]


def _add_method(
    figure: go.Figure, name: str, points: list[tuple[float, Slice, SliceMean]], color: str, symbol: str
) -> None:
    """Add the means of a method, grey for slices with few texts, and its entry in the legend."""
    label = shown(shortened(shown_name(name), 2 * NAME))
    figure.add_scatter(
        x=[None], y=[None], mode="markers", name=label, marker={"color": color, "symbol": symbol}, legendgroup=name
    )
    for few, hue in ((False, color), (True, GREY)):
        part = [point for point in points if point[1].few is few]
        if not part:
            continue
        bars = error_bars([mean for *_, mean in part])
        figure.add_scatter(
            x=[mean.mean for *_, mean in part],
            y=[y for y, *_ in part],
            error_x=bars and {**bars, "thickness": 1, "width": 0},
            mode="markers",
            marker={"color": hue, "symbol": symbol, "size": 8},
            opacity=0.6 if few else 1,
            customdata=[[shown(_label(each)), f"{mean.n:,}"] for _, each, mean in part],
            hovertemplate="%{customdata[0]}: %{x:.4g}, n = %{customdata[1]}<extra>" + label + "</extra>",
            legendgroup=name,
            showlegend=False,
        )


def _label(each: Slice) -> str:
    name = shortened(each.name or "(no label)", _LONGEST)
    named = {"label": f"Class {name}", "prediction": f"Predicted {name}", "length": f"{name} features"}[each.by]
    return f"{named}, n = {each.n:,}"


def _mean(each: Slice, key: str, method: str) -> SliceMean | None:
    rows = (row for row in each.rows if row.metric == key and row.method == method and row.mean is not None)
    return next(rows, None)


def _best_words(each: Slice, key: str, sign: int) -> str:
    rows = [row for row in each.rows if row.metric == key and not row.method.startswith(REVERSED)]
    known = [(sign * row.mean, row.method) for row in rows if row.mean is not None]
    return f"{_label(each)}: {shown_name(max(known, key=lambda pair: pair[0])[1]) if known else 'none'}"


def _notes(body: EvaluationData) -> tuple[str, ...]:
    few = [each for each in body.slices if each.few]
    hidden = sum(each.by == "label" for each in body.slices) - MOST_CLASSES
    notes = [f"Grey: {counted(len(few), 'slice')} with fewer than 20 texts, too few to lean on."] if few else []
    return (*notes, *([f"The largest {MOST_CLASSES} classes; the table has {hidden:,} more."] if hidden > 0 else []))
