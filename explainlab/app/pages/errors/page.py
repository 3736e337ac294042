"""Errors: what a model gets wrong in a data set, and which words speak for the wrong class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.figures import confusion, confusion_cells, reliability_diagram
from explainlab.analyses.errors.result import PredictionsData
from explainlab.analyses.wording import counted
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_cells, draw_chart, draw_files, theme
from explainlab.app.components import bring_into_view
from explainlab.app.data_set import draw_cure, draw_mapping, draw_skipped
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.page import draw_headline
from explainlab.app.pages.errors import ENTRY, drivers, form, row, state
from explainlab.app.pages.errors.form import ROWS, ErrorsView, pick
from explainlab.app.pages.errors.row import row_keys
from explainlab.app.pages.errors.state import PAGE, PredictionTable, place_of, step, to_csv, to_json
from explainlab.app.question import card_of
from explainlab.app.sets import draw_further, draw_way_back, section_of
from explainlab.app.text import plain
from explainlab.service import looks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.remarks import Remark


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    state.draw_reported()
    ask = partial(state.ask, service)
    name = looks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(f"{PAGE.view.line()} · {name}"):
        card = form.draw_question(ask, PAGE.button)
    labels = card.labels if card else None
    draw_mapping(form.question, labels)
    draw_further(form.question, labels)
    view = state.settle(service)

    st.divider()
    if len(view.cells) > 1:
        section_of(PAGE, service).draw(service, view.cells, PAGE.answer_set(service, view.text_requests()))
        links.draw(PAGE.link(service, view))
    else:
        draw_way_back(PAGE, view)
        _draw_one(service, view)


def _draw_one(service: Service, view: ErrorsView) -> None:
    """One model on one data set: the whole, the rows, and what drives the mistakes."""
    predictions = state.find(service, view)
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [predictions.answer])
    card = card_of(view.model)
    draw_cure(form.question, card.labels if card else None, predictions.answer)
    if predictions.table is not None:
        with above:
            draw_headline(predictions.answer.result)
        draw_summary(view, predictions.answer.result)
        st.divider()
        with st.container(key=form.ROWS):
            st.header("Rows", anchor=False, help="Pick a row to see why the model says what it says.")
        order = draw_choice(view, predictions.table, predictions.answer.result.body.labels)
        if len(order):
            row.draw(service, view, card, predictions.table, order)
        else:
            links.draw(PAGE.link(service, view))
        if predictions.table.rows.wrong.any():
            st.divider()
            drivers.draw_drivers(service, view, predictions.table)
    else:
        if predictions.answer.running:
            st.skeleton(height=160)
        links.draw(PAGE.link(service, view))


_MATRIX = "errors_confusion"
_HELP = {
    "accuracy": explained(
        "The share of rows whose predicted class is the true one, with Wilson's 95% interval.", "interval"
    ),
    "macro_f1": "The mean of every class's F1: rare classes count as much as frequent ones.",
    "ece": explained(
        "Expected calibration error: how far confidence is from accuracy, by bins (Guo et al. 2017).", "calibration"
    ),
    "confusion": "Press a cell to see its rows, and again to see all. The boxes for the true and the "
    "predicted class below do the same. Colours show the share of the true class.",
    "reliability": explained(
        "A well calibrated model is right as often as it is sure: its bars end on the diagonal.", "calibration"
    ),
}


def draw_summary(view: ErrorsView, result: AnalysisResult[PredictionsData]) -> None:
    """Accuracy, macro F1, calibration, the matrix whose cells select, and what was left out."""
    body = result.body
    _draw_numbers(body)
    matrix, calibration = st.columns(2, gap="large")
    with matrix:
        _draw_matrix(view, result)
    with calibration:
        draw_chart(cached_for(result, reliability_diagram, body), "errors_reliability", help=_HELP["reliability"])
    classes = st.expander("Classes", icon=":material/category:", key="errors_classes", on_change="rerun")
    if classes.open:
        classes.dataframe(
            pd.DataFrame([scores.model_dump() for scores in body.per_class]).rename(columns=str.capitalize),
            hide_index=True,
            column_config={
                name: st.column_config.NumberColumn(format="%.3f") for name in ("Precision", "Recall", "F1")
            },
        )
    if result.skipped:
        label = f"Rows left out: {len(result.skipped):,}"
        left_out = st.expander(label, icon=":material/block:", key="errors_skipped", on_change="rerun")
        if left_out.open:
            with left_out:
                draw_skipped(result.skipped)


def _draw_numbers(body: PredictionsData) -> None:
    accuracy, wrong = body.accuracy, body.n - sum(counts[i] for i, counts in enumerate(body.confusion))
    between = f"{100 * accuracy.low:.1f}% to {100 * accuracy.high:.1f}%"
    metrics = (
        ("Accuracy", f"{100 * accuracy.mean:.1f}%", between, _HELP["accuracy"]),
        ("Macro F1", f"{body.macro_f1:.3f}", f"{len(body.labels)} classes", _HELP["macro_f1"]),
        ("Calibration error", f"{100 * body.calibration.ece:.1f}%", "confidence against accuracy", _HELP["ece"]),
        ("Mistakes", f"{wrong:,}", f"of {body.n:,} rows", None),
    )
    for column, (label, value, beside, help_text) in zip(st.columns(len(metrics)), metrics, strict=True):
        column.metric(label, value, beside, delta_color="off", delta_arrow="off", help=help_text)


def _draw_matrix(view: ErrorsView, result: AnalysisResult[PredictionsData]) -> None:
    def pressed(cell: dict[str, str]) -> None:
        again = (cell["true"], cell["predicted"]) == (view.true, view.predicted)
        pick(ROWS, *(("", "") if again else (cell["true"], cell["predicted"])))

    chart = cached_for(result, confusion, result.body)
    cells = cached_for(result, confusion_cells, result.body, view.true, view.predicted, theme() == "dark")
    draw_cells(chart, cells, _MATRIX, (view.true, view.predicted), pressed, _HELP["confusion"])


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
    form.draw_filters(labels)
    order = table.order(view)
    if view.numbers:
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.info(
            f"Only the {counted(len(view.numbers), 'row')} with what was picked below.", icon=":material/filter_alt:"
        )
        right.button("Show all mistakes", on_click=form.let_through, width="stretch")
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
        form.open_row(int(table.numbers[order[(st.session_state[_PAGE] - 1) * MOST_SHOWN]]))

    st.session_state[_PAGE] = begin // MOST_SHOWN + 1
    with st.container(horizontal=True, vertical_alignment="center"):
        st.number_input(f"Page of {last + 1:,}", 1, last + 1, key=_PAGE, on_change=turned, width=160)
        st.caption(f"{begin + 1:,} to {end:,} of {len(order):,} rows, in this order. The files have all.")


def _draw_table(view: ErrorsView, table: PredictionTable, order: np.ndarray, remarks: Sequence[Remark]) -> None:
    def picked() -> None:
        rows = st.session_state[_TABLE].selection.rows
        if rows and rows[0] < len(order):
            form.open_row(int(table.numbers[order[rows[0]]]))
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
