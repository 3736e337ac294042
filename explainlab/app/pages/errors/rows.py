"""The rows that the filters show: a table to open a row, and buttons to the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from explainlab.analyses.wording import counted
from explainlab.app.chart import draw_files
from explainlab.app.components import bring_into_view
from explainlab.app.pages.errors import controls
from explainlab.app.pages.errors.component import row_keys
from explainlab.app.pages.errors.main import place_of, step
from explainlab.app.pages.errors.table import PredictionTable, to_csv, to_json
from explainlab.app.pages.errors.view import ErrorsView
from explainlab.app.text import plain
from explainlab.service.store.remarks import Remark

OPENED = "errors_open_row"
"""The container of the open row."""
MOST_SHOWN = 1_000
"""Rows that the table shows at once."""
_TABLE = "errors_table"
_PAGE = "errors_page_of_rows"
_NAMES = {
    "row": "Row",
    "text": "Text",
    "text_pair": "Second text",
    "label": "True",
    "predicted": "Predicted",
    "confidence": "Confidence",
    "loss": "Loss",
    "tokens": "Tokens",
    "cut": "Cut",
}
_COLUMNS = {
    "Text": st.column_config.TextColumn(width="large"),
    "Confidence": st.column_config.NumberColumn(help="The probability of the predicted class.", format="percent"),
    "Loss": st.column_config.NumberColumn(
        help="How much the true class surprises the model: −ln of its probability.", format="%.3f"
    ),
    "Cut": st.column_config.CheckboxColumn(help="The model read only the beginning of the text."),
    "Tags": st.column_config.ListColumn(),
    "Edits": st.column_config.NumberColumn(help="Edited versions of this text that were kept."),
}


def draw_choice(view: ErrorsView, table: PredictionTable, labels: Sequence[str]) -> np.ndarray:
    """The filters, and the rows that pass them: int64 [m] positions in ``table``, in order."""
    controls.draw_filters(labels)
    order = table.order(view)
    if view.numbers:
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.info(
            f"Only the {counted(len(view.numbers), 'row')} with what was picked below.", icon=":material/filter_alt:"
        )
        right.button("Show all mistakes", on_click=controls.let_through, width="stretch")
    if not len(order):
        _draw_nothing(view, table)
    return order


def draw_list(view: ErrorsView, table: PredictionTable, order: np.ndarray, remarks: Sequence[Remark]) -> None:
    """The rows at the positions ``order``, with their files."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{len(order):,} of {len(table):,} rows**", width="stretch")
        with st.popover("Export", icon=":material/download:", key="errors_rows_export"):
            _draw_files(table, order, remarks)
    begin = place_of(table, order, view.row) // MOST_SHOWN * MOST_SHOWN
    if len(order) > MOST_SHOWN:
        _draw_pages(table, order, begin)
    _draw_table(view, table, order[begin : begin + MOST_SHOWN], remarks)


def draw_walk(table: PredictionTable, order: np.ndarray, place: int) -> None:
    """The open row, and buttons to the previous and the next row."""
    row = table.row(order[place])
    move = partial(step, table, order, place)
    heading, before, after = st.columns([6, 1.2, 1.2], vertical_alignment="center")
    heading.subheader(
        f"Row {row['row']:,}", anchor=False, help="The left and right arrow keys move through the rows, too."
    )
    last = len(order) - 1
    before.button(
        "Previous", icon=":material/chevron_left:", on_click=move, args=(-1,), disabled=place == 0, width="stretch"
    )
    after.button(
        "Next", icon=":material/chevron_right:", on_click=move, args=(1,), disabled=place == last, width="stretch"
    )
    row_keys(move)
    facts = [
        f"{place + 1:,} of {len(order):,}",
        f"true **{plain(row['label'])}** ({100 * row['probability']:.1f}%)",
        f"predicted **{plain(row['predicted'])}** ({100 * row['confidence']:.1f}%)",
        f"loss {row['loss']:.3f}",
        f"{counted(row['tokens'], 'token')}{', the rest was cut' if row['cut'] else ''}",
    ]
    st.markdown(" · ".join(facts))


def _draw_nothing(view: ErrorsView, table: PredictionTable) -> None:
    narrowed = view.true or view.predicted or view.search or view.numbers
    if view.show == "mistakes" and not narrowed:
        words = f"No mistakes: the model is right about each of the {len(table):,} rows. Show all rows to read them."
        st.success(words, icon=":material/celebration:")
    else:
        st.info("No row matches. Loosen a filter, or search for something else.", icon=":material/filter_alt_off:")


def _draw_pages(table: PredictionTable, order: np.ndarray, begin: int) -> None:
    """Which of the rows the table shows, and the way to the others: it always shows the open one."""
    last, end = (len(order) - 1) // MOST_SHOWN, min(begin + MOST_SHOWN, len(order))

    def turned() -> None:
        controls.open_row(int(table.numbers[order[(st.session_state[_PAGE] - 1) * MOST_SHOWN]]))

    st.session_state[_PAGE] = begin // MOST_SHOWN + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        st.number_input(f"Page of {last + 1:,}", 1, last + 1, key=_PAGE, on_change=turned, width=160)
        st.caption(f"{begin + 1:,} to {end:,} of {len(order):,} rows, in this order. The files have all.")


def _draw_table(view: ErrorsView, table: PredictionTable, order: np.ndarray, remarks: Sequence[Remark]) -> None:
    def picked() -> None:
        rows = st.session_state[_TABLE].selection.rows
        if rows and rows[0] < len(order):
            controls.open_row(int(table.numbers[order[rows[0]]]))
            bring_into_view(OPENED)

    st.session_state[_TABLE] = {"selection": {"rows": [place_of(table, order, view.row)], "columns": [], "cells": []}}
    st.dataframe(
        _shown(table, order, remarks),
        hide_index=True,
        column_config=_COLUMNS,
        key=_TABLE,
        on_select=picked,
        selection_mode="single-row-required",
        alt=f"{len(order):,} rows with their true and predicted classes; pick one to read it below.",
    )


def _shown(table: PredictionTable, order: np.ndarray, remarks: Sequence[Remark]) -> pd.DataFrame:
    """The rows as the table shows them, without empty columns."""
    columns = table.rows.table
    empty = [name for name in ("text_pair",) if columns[name].null_count == len(table)]
    empty += [name for name in ("cut",) if not table.rows.column(name).any()]
    names = {name: shown for name, shown in _NAMES.items() if name not in empty}
    frame = pd.DataFrame(table.rows.at(order), columns=[*names]).rename(columns=names)
    own = {remark.row: remark for remark in remarks if not remark.edit}
    edits = pd.Series([remark.row for remark in remarks if remark.edit], dtype=int).value_counts()
    if own:
        frame["Tags"] = [list(own[row].tags) if row in own else [] for row in frame["Row"]]
        frame["Note"] = [own[row].note if row in own else "" for row in frame["Row"]]
    if len(edits):
        frame["Edits"] = frame["Row"].map(edits).astype("Int64")
    return frame


def _draw_files(table: PredictionTable, order: np.ndarray, remarks: Sequence[Remark]) -> None:
    files = (
        ("CSV", lambda: to_csv(table.records(order, remarks)), "predictions.csv", "text/csv"),
        ("JSON", lambda: to_json(table.records(order, remarks)), "predictions.json", "application/json"),
    )
    draw_files(files, "errors_rows")
