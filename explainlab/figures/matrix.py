"""A matrix of coloured cells with words in them: as a chart to keep, and as cells that can be pressed.

Both look the same: blue above zero, red below, and the page's own background at zero. No library serves both uses:
Plotly's heatmap reports no press to Streamlit, and its words do not shrink with the cells of a phone; Altair writes
neither a page without the network nor a still picture unless a further renderer is installed.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd
import plotly.graph_objects as go

from explainlab.figures.chart import BLUE, GREY, NAME, RED, add_cells, layout, shortened
from explainlab.figures.svg import INK

INK_ON_DARK = "#e8eeea"
CELL = "cell"
"""The name under which Streamlit reports a press on a cell."""
FULL = 0.55
"""The opacity of a share of 1 or -1."""
WORSE = "▾"
"""The mark of a mean that is worse than random, for readers who do not see its colour."""
_BLUE, _RED = "rgba(47,128,208,{})", "rgba(214,69,80,{})"
COLORS = ((0.0, _RED.format(FULL)), (0.5, _RED.format(0)), (0.5, _BLUE.format(0)), (1.0, _BLUE.format(FULL)))
"""The colours from -1 over a clear 0 to 1, for :func:`.chart.add_cells`."""
_NAME_WIDTH = "windowSize()[0] < 640 ? 120 : 320"
_HEADING_WIDTH = "bandwidth('x') - 4"
"""The largest widths of labels in pixels, as expressions of Vega."""
_NARROW = 84
"""A cell below this width, in pixels, has only its first line in it."""
_LINE, _CELL_PADDING, _HEAD = 16, 16, 80


def shade(share: float) -> str:
    """Return the colour in CSS of a ``share`` from -1 to 1."""
    return (_BLUE if share >= 0 else _RED).format(round(FULL * abs(share), 3))


@dataclass(frozen=True)
class Cell:
    """A cell at ``row`` and ``column``, coloured by its ``share`` from -1 to 1 (None: not at all).

    ``lines`` are the words in it, the first the most important; ``hover`` is one sentence; a press selects ``key``.
    """

    row: int
    column: int
    key: Mapping[str, str]
    share: float | None
    lines: tuple[str, ...]
    hover: str


@dataclass(frozen=True)
class Matrix:
    """Cells under the headings of their ``columns`` (lines of words), beside the names of their ``rows``.

    A row without cells is a heading. Rows below ``faint_from`` have fainter words.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Cell]
    faint_from: int

    @property
    def height(self) -> int:
        """The height in pixels."""
        return _HEAD + self._row_height * len(self.rows)

    def figure(self) -> go.Figure:
        """Return the matrix with Plotly, to keep."""
        figure = go.Figure(layout=layout("", "", height=self.height))
        blank: list[list[Any]] = [[None] * len(self.columns) for _ in self.rows]
        values, texts, hover = ([list(row) for row in blank] for _ in range(3))
        for cell in self.cells:
            values[cell.row][cell.column] = cell.share
            texts[cell.row][cell.column] = "\n".join(cell.lines)
            hover[cell.row][cell.column] = cell.hover
        texts, hover = ([[text or "" for text in row] for row in rows] for rows in (texts, hover))
        add_cells(figure, self.columns, self._names, values, texts, hover, COLORS, -1, self.faint_from)
        return figure.update_xaxes(side="top")

    def pressable(self, picked: Mapping[str, str], dark: bool = False) -> dict[str, Any]:
        """Return the matrix as a Vega-Lite specification: a press selects a cell's ``key`` under :data:`CELL`.

        The matrix must have cells. The cell of the key ``picked`` is framed. On a phone, cells have only their first
        line. Words have the text colour of a light page, or of a ``dark`` one.
        """
        frame = pd.DataFrame([self._record(cell, picked) for cell in self.cells])
        base = alt.Chart(frame).encode(
            x=_axis(alt.X, "column", self._headings, _top(max(name.count("\n") for name in self.columns) + 1)),
            y=_axis(alt.Y, "row", self._names, _left(self._names)),
        )
        rect = base.mark_rect(cursor="pointer", cornerRadius=4, stroke=GREY).encode(
            color=alt.Color("kind:N", scale=alt.Scale(domain=["above", "below"], range=[BLUE, RED]), legend=None),
            fillOpacity=alt.FillOpacity("opacity:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
            strokeWidth=alt.condition(alt.datum.framed, alt.value(3), alt.value(0.4)),
            tooltip=alt.Tooltip("hover:N"),  # words with a tooltip would catch the press that is meant for the cell
        )
        rect = rect.add_params(alt.selection_point(name=CELL, fields=list(self.cells[0].key)))
        ink, most = INK_ON_DARK if dark else INK, max(len(cell.lines) for cell in self.cells)
        top = -_LINE * (most - 1) / 2
        below = f"datum.row >= {self.faint_from}"
        faint = alt.when(below).then(alt.value(0.75)).otherwise(alt.value(1))
        fits = alt.when(f"bandwidth('x') < {_NARROW}").then(alt.value(0)).when(below).then(alt.value(0.75))
        first = base.mark_text(fontSize=14, color=ink, dy=top).encode(text="top_line:N", opacity=faint)
        rest = base.mark_text(fontSize=11, color=ink, dy=top + _LINE, lineBreak="\n", lineHeight=_LINE - 1)
        figure = alt.layer(
            rect, first, rest.encode(text="other_lines:N", opacity=fits.otherwise(alt.value(1)))
        ).properties(height=self.height)
        drawn: dict[str, Any] = figure.to_dict()
        del drawn["config"]  # the page has its own
        return drawn

    @property
    def _names(self) -> list[str]:
        """The names of the rows in at most two lines."""
        return ["\n".join(textwrap.wrap(shortened(name, 2 * NAME - 4), NAME)) for name in self.rows]

    @property
    def _headings(self) -> list[str]:
        """The columns' headings, padded to the same number of lines, so that they end above the cells."""
        most = max(name.count("\n") for name in self.columns)
        return ["\u00a0\n" * (most - name.count("\n")) + name for name in self.columns]

    @property
    def _row_height(self) -> int:
        return _CELL_PADDING + _LINE * max((len(cell.lines) for cell in self.cells), default=1)

    def _record(self, cell: Cell, picked: Mapping[str, str]) -> dict[str, Any]:
        share = cell.share or 0.0
        return {
            **cell.key,
            "row": cell.row,
            "column": cell.column,
            "kind": "below" if share < 0 else "above",
            "opacity": FULL * abs(share),
            "top_line": cell.lines[0],
            "other_lines": "\n".join(cell.lines[1:]),
            "hover": cell.hover,
            "framed": dict(cell.key) == dict(picked),
        }


def _top(lines: int) -> alt.Axis:
    """Return an axis above the cells for labels of ``lines`` lines."""
    return alt.Axis(
        orient="top",
        title=None,
        labelAngle=0,
        labelAlign="center",
        labelBaseline="top",
        labelPadding=_LINE * lines + 4,
        labelLineHeight=_LINE,
        labelLimit=alt.expr(_HEADING_WIDTH),
        labelFlush=False,
        labelOverlap=False,
    )


def _left(names: Sequence[str]) -> alt.Axis:
    """Return an axis beside the cells for labels of one line or, around the middle of the cell, two."""
    two = [i for i, name in enumerate(names) if "\n" in name]
    middle = {"condition": {"test": f"indexof({two}, datum.value) >= 0", "value": "bottom"}, "value": "middle"}
    return alt.Axis(labelLimit=alt.expr(_NAME_WIDTH), labelBaseline=middle, title=None)


def _axis(channel: Any, field: str, names: Sequence[str], axis: alt.Axis) -> Any:
    """Return an axis of places whose labels are ``names``, which may be equal and have several lines."""
    axis.labelExpr = f"split({json.dumps(list(names))}[datum.value], '\\n')"
    return channel(f"{field}:O", scale=alt.Scale(domain=list(range(len(names)))), axis=axis)
