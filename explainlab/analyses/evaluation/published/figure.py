"""A published table in its own layout, with our number above the paper's in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from explainlab.analyses.evaluation.published.matching import Beside, Ours, Place
from explainlab.analyses.evaluation.published.papers import PaperRow
from explainlab.analyses.wording import counted
from explainlab.figures.chart import Chart
from explainlab.figures.latex import document, escaped, stacked, table_of_rows
from explainlab.figures.matrix import Cell, Matrix

_OURS = 0.3
"""The share of full colour of a cell with a number of ours."""
_NOTE = (
    "Blue: our mean with half the width of its 95% interval. In brackets: the paper's number. Other cells say what "
    "gives ours: benchmark that model and data set, or add that method or metric; none: no method here does it."
)
_SMALL = r"\tiny\setlength{\tabcolsep}{2pt}"
_NONE = dict.fromkeys(("mean", "low", "high", "n", "our_method", "our_metric", "our_model", "our_data"))

Block = tuple[str, list[tuple[int, PaperRow]]]
"""A data set of the rows (or none), and its rows with their numbers."""


def beside_published(beside: Beside) -> Chart:
    """Draw the table as a chart to keep."""
    table, names, drawn = beside.table, list[str](), list[Cell]()
    for data, rows in _blocks(beside):
        names += [data] if data else []
        for i, row in rows:
            drawn += [_cell(beside, (i, j), len(names)) for j in range(len(table.columns))]
            names.append(row.name)
    figure = Matrix(names, [column.heading for column in table.columns], drawn, len(names)).figure()
    figure.update_yaxes(autorange=None, range=[len(names) - 0.5, -0.5])
    title = f"Beside {table.source}, {table.title}"
    ours, published = counted(len(beside.numbers), "number"), len(beside.places)
    words = f"{title}: {ours} of ours beside {published} published."
    return Chart(f"beside-{table.id}", title, words, figure, published_rows(beside), (_NOTE, *beside.differences))


def published_rows(beside: Beside) -> list[dict[str, Any]]:
    """Return a record for every cell of the table: the paper's number, and ours or the next step to get it."""
    return [_record(beside, place) for place in beside.places]


def published_latex(beside: Beside) -> str:
    """Return a standalone document with ``booktabs``: a table for each data set of the rows."""
    return document(_block(beside, *block) for block in _blocks(beside))


def _blocks(beside: Beside) -> list[Block]:
    return [(data, list(rows)) for data, rows in groupby(enumerate(beside.table.rows), key=lambda row: row[1].data)]


def _cell(beside: Beside, place: Place, row: int) -> Cell:
    """Draw the cell of a ``place`` in this ``row``: our number or the next step, above the paper's number."""
    ours, known = beside.numbers.get(place), beside.table.rows[place[0]]
    published = f"{known.values[place[1]]:.3f}".replace("-", "−")
    heading = beside.table.columns[place[1]].heading.replace("\n", " ")
    name = f"{known.name}, {heading}{f', {known.data}' if known.data else ''}"
    if ours is None:
        short, long = beside.to_run(place)
        return Cell(row, place[1], {}, None, (short, f"({published})"), f"{name}: paper {published}. {long}")
    mean = f"{ours.row.mean:.3f}".replace("-", "−")
    around = () if ours.half is None else (f"±{ours.half:.3f}",)
    between = "" if ours.row.low is None else f" ({ours.row.low:.3f} to {ours.row.high:.3f})"
    own = f"ours {mean}{between}, {counted(ours.row.n, 'text')}, {ours.cell.model.name}"
    lines = (mean, *around, f"({published})")
    return Cell(row, place[1], {}, _OURS, lines, f"{name}: {own}; paper {published}")


def _record(beside: Beside, place: Place) -> dict[str, Any]:
    row, column, ours = beside.table.rows[place[0]], beside.table.columns[place[1]], beside.numbers.get(place)
    own: dict[str, Any] = _NONE
    if ours is not None:
        asked = {"n": ours.row.n, "our_method": ours.row.method, "our_metric": ours.row.asked}
        about = {"our_model": ours.cell.model.id, "our_data": ours.cell.data_name}
        own = {**ours.row.interval.model_dump(), **asked, **about}
    return {
        "source": f"{beside.table.source}, {beside.table.title}",
        "model": column.model,
        "data": row.data or column.data,
        "method": row.name,
        "metric": column.metric,
        "published": row.values[place[1]],
        **own,
        "to_run": None if ours else beside.to_run(place)[1],
    }


def _block(beside: Beside, data: str, rows: Sequence[tuple[int, PaperRow]]) -> str:
    on = f", {data}" if data else ""
    ours = "our mean, half the width of its 95% interval, and in brackets the paper's number"
    caption = f"{beside.table.source}, {beside.table.title}{on}: {ours}. {' '.join(beside.differences)}"
    headings = ["Method", *(stacked(column.heading.split("\n")) for column in beside.table.columns)]
    cells = [
        [escaped(row.name), *(_latex_cell(beside.numbers.get((i, j)), value) for j, value in enumerate(row.values))]
        for i, row in rows
    ]
    return table_of_rows(escaped(caption), "l" + "c" * len(beside.table.columns), headings, cells, _SMALL)


def _latex_cell(ours: Ours | None, published: float) -> str:
    if ours is None:
        return f"(${published:.3f}$)"
    around = "" if ours.half is None else rf" \\ $\pm {ours.half:.3f}$"
    return rf"\shortstack{{$\mathbf{{{ours.row.mean:.3f}}}${around} \\ (${published:.3f}$)}}"
