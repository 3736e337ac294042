"""The curves of several bases and data sets as small charts with shared axes (paper 003, Figures 4 and 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explainlab.analyses.roar.figures import curves
from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.roar.verdict import METRICS, judged, kind_name, labels_of, whole_areas
from explainlab.analyses.sets.records import SetCell, StudySet
from explainlab.analyses.wording import capital
from explainlab.figures.chart import NAME, Chart, layout, shown, wrapped

COLUMNS = 3
"""Small charts beside each other."""
_HEIGHT, _AROUND = 230, 130  # pixels: of a small chart, and of titles and legend
_SMALL = {"size": 13}
_Place = tuple[int, int]
"""Row and column of a small chart, from 0 on."""


def set_charts(studies: StudySet, columns: int = COLUMNS) -> list[Chart]:
    """Return a chart for Recursive ROAR, for ROAR, or for both, with at most ``columns`` columns."""
    kinds = dict.fromkeys(kind for cell in studies.done for kind in _body(cell).recursive)
    return [small_curves(studies, kind, columns) for kind in kinds]


def small_curves(studies: StudySet, recursive: bool, columns: int = COLUMNS) -> Chart:
    """Draw performance by the share of masked tokens, a small chart for each cell that has a result of this kind.

    Each base has a row of its own where its data sets fit into the ``columns``; else they follow each other.
    """
    cells = [cell for cell in studies.done if recursive in _body(cell).recursive]
    charts = [curves(_body(cell), recursive) for cell in cells]
    places = _places(studies, cells, columns)
    titles = [_title(studies, cell) for cell in cells]
    figure = _frame(places, titles, charts[0].figure.layout)
    for place, trace in _traces(places, charts):
        figure.add_trace(trace, row=place[0] + 1, col=place[1] + 1)
    ends = [end for chart in charts for end in chart.figure.layout.yaxis.range]
    figure.update_yaxes(range=[min(ends), max(ends)])
    kind = "recursive" if recursive else "plain"
    title = f"{capital(METRICS[_body(cells[0]).metric])} by {kind_name(recursive)}, cell by cell"
    found = [f"{name}: {_judged(_body(cell), recursive)}" for name, cell in zip(titles, cells, strict=True)]
    rows = [
        {"model": cell.model.name, "data": cell.data_name, **row}
        for cell, chart in zip(cells, charts, strict=True)
        for row in chart.rows
    ]
    notes = tuple(dict.fromkeys(note for chart in charts for note in chart.notes))
    return Chart(f"set-curves-{kind}", title, f"{title}. {'. '.join(found)}.", figure, rows, notes)


def _body(cell: SetCell) -> RoarData:
    assert cell.result is not None
    body: RoarData = cell.result.body
    return body


def _judged(body: RoarData, recursive: bool) -> str:
    labels, rows = labels_of(body), [row for row in whole_areas(body) if row.recursive == recursive]
    return ", ".join(f"{labels[row.measure]} {judged(row)}" for row in rows)


def _title(studies: StudySet, cell: SetCell) -> str:
    """Return the name that distinguishes a cell: its data set, its base, or both."""
    several = [
        name for name, n in ((cell.data_name, len(studies.data)), (cell.model.name, len(studies.groups))) if n > 1
    ]
    return ", ".join(several) or cell.data_name


def _places(studies: StudySet, cells: Sequence[SetCell], columns: int) -> list[_Place]:
    models = list(dict.fromkeys(cell.model.id for cell in cells))
    if len(models) > 1 and 1 < len(studies.data) <= columns:
        sources = list(studies.data)
        return [(models.index(cell.model.id), sources.index(cell.data)) for cell in cells]
    return [divmod(i, min(columns, len(cells))) for i in range(len(cells))]


def _frame(places: Sequence[_Place], titles: Sequence[str], first: go.Layout) -> go.Figure:
    """Lay out empty small charts with equal axes; the titles of ``first`` stand at the left and below each column."""
    rows, columns = (1 + max(place[i] for place in places) for i in (0, 1))
    named = dict(zip(places, titles, strict=True))
    every = [(row, column) for row in range(rows) for column in range(columns)]
    width = NAME * COLUMNS // columns
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=[wrapped(named.get(place, ""), width) for place in every],
        vertical_spacing=0.35 / (rows + 1),
        horizontal_spacing=0.04,
    )
    figure.update_layout(layout("", "", _AROUND + _HEIGHT * rows), margin={"t": 36})
    figure.update_annotations(font=_SMALL)
    ticks = {"tickvals": first.xaxis.tickvals, "ticktext": first.xaxis.ticktext, "range": _ends(first.xaxis.tickvals)}
    figure.update_xaxes(**ticks, automargin=True, zeroline=False)
    figure.update_yaxes(automargin=True, zeroline=False)
    for row, column in every:
        here, last = {"row": row + 1, "col": column + 1}, (row + 1, column) not in named
        title = {"text": first.xaxis.title.text, "font": _SMALL}
        figure.update_xaxes(**here, visible=(row, column) in named, showticklabels=last, title=title if last else None)
        left = column == 0
        title = {"text": first.yaxis.title.text if left else "", "font": _SMALL}
        figure.update_yaxes(**here, visible=(row, column) in named, showticklabels=left, title=title)
    return figure


def _ends(ticks: Sequence[float]) -> list[float]:
    room = 0.04 * (ticks[-1] - ticks[0])
    return [ticks[0] - room, ticks[-1] + room]


def _traces(places: Sequence[_Place], charts: Sequence[Chart]) -> Iterator[tuple[_Place, go.Scatter]]:
    """Yield the lines of all charts; each name is once in the legend, which shows and hides it everywhere."""
    known = set[str]()
    for place, chart in zip(places, charts, strict=True):
        for trace in chart.figure.data:
            if trace.name:
                trace.legendgroup = trace.legendgroup or shown(trace.name)
                trace.showlegend = trace.name not in known
                known.add(trace.name)
            yield place, trace
