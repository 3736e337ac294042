"""The rows of the Errors page: their list, and the open row with its maps, its remark and its edited text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from explainlab.analyses.errors.figures import difference
from explainlab.analyses.wording import counted
from explainlab.app import links, session
from explainlab.app.chart import draw_files
from explainlab.app.components import bring_into_view, component, draw_text_area, follow_press
from explainlab.app.heatmap import token_heatmap
from explainlab.app.page import draw_open_in
from explainlab.app.pages.errors import form, state
from explainlab.app.pages.errors.form import ErrorsView, of_row
from explainlab.app.pages.errors.state import PredictionTable, place_of, step
from explainlab.app.text import plain
from explainlab.app.view import SharedInputs
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method
from explainlab.errors import ExplainLabError
from explainlab.figures.export import ReportMap, to_csv, to_html, to_json
from explainlab.figures.heatmap import heatmap, limit
from explainlab.models.loading import ModelCard
from explainlab.request import validated
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.remarks import MOST_CHARACTERS, Remark, Remarks

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
    """Draw the filters; return the rows that pass them: int64 [m] positions in ``table``, in order."""
    form.FORM.columns("filters", labels=labels)
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
    """Draw the rows at the positions ``order``, with their files."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{len(order):,} of {len(table):,} rows**", width="stretch")
        with st.popover("Export", icon=":material/download:", key="errors_rows_export"):
            _draw_files(table, order, remarks)
    begin = place_of(table, order, view.row) // MOST_SHOWN * MOST_SHOWN
    if len(order) > MOST_SHOWN:
        _draw_pages(table, order, begin)
    _draw_table(view, table, order[begin : begin + MOST_SHOWN], remarks)


def _draw_walk(table: PredictionTable, order: np.ndarray, place: int) -> None:
    """Draw the open row, and buttons to the previous and the next row."""
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
    """Draw the range of rows in the table, and buttons to the others: it always shows the open one."""
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
    """Return the rows for the table, without empty columns."""
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
        ("CSV", lambda: state.to_csv(table.records(order, remarks)), "predictions.csv", "text/csv"),
        ("JSON", lambda: state.to_json(table.records(order, remarks)), "predictions.json", "application/json"),
    )
    draw_files(files, "errors_rows")


Row = dict[str, Any]

SIDE_BY_SIDE = 60
"""Content features up to which two heatmaps share a line."""
_DIFFERENCE_HELP = "The first map minus the second, feature by feature."


@st.fragment
def draw_rows(
    service: Service, view: ErrorsView, card: ModelCard | None, table: PredictionTable, order: np.ndarray
) -> None:
    """Draw the rows at the positions ``order``, and the open row, for a model of ``card`` (None: not known yet).

    Going from row to row runs only this part of the page again: the row first, then the list above it.
    """
    view = state.now(view)
    left = state.stored_remarks(service, view)
    above = st.container()
    place = state.place_of(table, order, view.row)
    row = table.row(order[place])
    following = [table.row(position) for position in order[place + 1 : place + 1 + state.AHEAD]]
    remarks = state.remarks(service, view)
    follow_press(OPENED)
    with st.container(key=OPENED):
        _draw_walk(table, order, place)
    form.FORM.columns("map", card=card)
    own = next((remark for remark in left if remark.row == row["row"] and not remark.edit), Remark(row=row["row"]))
    _draw_heatmaps(service, view, card, row, following, own)
    draw_open_in(service, row_inputs(view, row), form.PAGE.name)
    _draw_remark(view, remarks, left, own)
    edited = view.edit is not None and view.row == row["row"]
    editing = st.expander(
        "Edit the text", edited, icon=":material/edit_note:", key=of_row("edit", view, row["row"]), on_change="rerun"
    )
    if editing.open:
        with editing:
            _draw_edit(service, view, row, remarks, left)
    links.draw(form.PAGE.link(service, view))
    with above:
        draw_list(view, table, order, left)


def _draw_heatmaps(
    service: Service, view: ErrorsView, card: ModelCard | None, row: Row, following: Sequence[Row], remark: Remark
) -> None:
    """Draw the heatmaps for the predicted and for the true class, on one scale, and their difference."""
    unsupported = get_method(view.method).unsupported(card.architecture) if card else ""
    if unsupported:
        st.warning(plain(unsupported), icon=":material/block:")
        return
    try:
        wanted = state.map_requests(view, row)
        ahead = [request for other in following for request in state.map_requests(view, other)]
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    answers = state.ROW.answer_all(service, wanted, ahead)
    state.ROW.draw_state(service, answers)
    results = [answer.result for answer in answers]
    if None in results:
        if any(answer.running for answer in answers):
            st.skeleton(height=160)
        return
    maps = maps_of(row, results, view.palette)
    _draw_compared(maps)
    with st.popover("Export maps", icon=":material/download:", key="errors_maps_export"):
        _draw_map_files(view, row, maps, remark)


def maps_of(row: Row, results: Sequence[Attribution], palette: str) -> list[ReportMap]:
    """Return the maps for the predicted and, where it differs, the true class, on one scale; then their difference."""
    predicted, true = row["predicted"], row["label"]
    if len(results) == 1:
        return [ReportMap(results[0], heatmap(results[0], palette), f"Why {predicted}, which is predicted and true")]
    titles, top = (f"Why {predicted}, which is predicted", f"Why {true}, which is true"), limit(results)
    maps = [ReportMap(r, heatmap(r, palette, top), title) for r, title in zip(results, titles, strict=True)]
    between = difference(*results)
    return [*maps, ReportMap(between, heatmap(between, palette), f"Why {predicted} rather than {true}")]


def row_report(data: str, row: Row, maps: Sequence[ReportMap], palette: str, remark: Remark) -> str:
    """Return a standalone document about a row of ``data``: its true class, the reader's ``remark``, and its maps."""
    predicted, true = row["predicted"], row["label"]
    facts = {
        "Data set": data,
        "Row": f"{row['row']:,}",
        "True class": f"{true} ({100 * row['probability']:.1f}%)",
        "Loss": f"{row['loss']:.3f}",
        "Note": remark.note,
        "Tags": ", ".join(remark.tags),
    }
    said = "which is true" if predicted == true else f"but {true} is true"
    return to_html(
        maps,
        palette,
        title=f"Row {row['row']:,} of {data}",
        verdict=f"The model predicts {predicted} ({100 * row['confidence']:.1f}%), {said}.",
        facts={name: value for name, value in facts.items() if value},
    )


def _draw_compared(maps: Sequence[ReportMap]) -> None:
    first = maps[:2]
    beside = first[0].drawn.ranked <= SIDE_BY_SIDE
    places = st.columns(len(first), gap="medium") if beside else [st.container() for _ in first]
    kinds = (("predicted", None), ("true", None), ("difference", _DIFFERENCE_HELP))
    for place, entry, (kind, words) in zip([*places, st.container()], maps, kinds, strict=False):
        with place.container(border=True):
            st.markdown(f"**{plain(entry.title)}**", help=words)
            token_heatmap(entry.drawn, key=f"errors_map_{kind}")


def _draw_map_files(view: ErrorsView, row: Row, maps: Sequence[ReportMap], remark: Remark) -> None:
    shown, data = [entry.attribution for entry in maps], file_tasks.source_name(view.source, session.user())
    name = f"row-{row['row']}"
    files = (
        ("CSV", lambda: to_csv(*shown), f"{name}.csv", "text/csv"),
        ("JSON", lambda: to_json(shown), f"{name}.json", "application/json"),
        ("HTML", lambda: row_report(data, row, maps, view.palette, remark), f"{name}.html", "text/html"),
    )
    draw_files(files, "errors_maps")


def _draw_remark(view: ErrorsView, remarks: Remarks, left: Sequence[Remark], own: Remark) -> None:
    """Draw this user's note and tags on a row; each entry is stored at once."""
    number = own.row
    note, tags = of_row("note", view, number), of_row("tags", view, number)

    def keep() -> None:
        try:
            entered = {"note": st.session_state[note], "tags": tuple(st.session_state[tags])}
            remarks.keep(validated(Remark, row=number, **entered))
        except ExplainLabError as error:
            state.report(error)

    known = sorted({tag for remark in left for tag in remark.tags})
    writing, tagging = st.columns([3, 2], gap="medium")
    writing.text_area(
        "Note", own.note, key=note, height=80, max_chars=MOST_CHARACTERS, on_change=keep, help="Kept with this row."
    )
    tagging.multiselect(
        "Tags",
        known,
        list(own.tags),
        key=tags,
        accept_new_options=True,
        on_change=keep,
        placeholder="Choose or type a tag",
        help="Notes and tags are exported with the rows.",
    )


def row_inputs(view: ErrorsView, row: Row) -> SharedInputs:
    """Return the inputs that explain the text of ``row`` on other pages as here."""
    return {
        **view.shared_inputs(),
        "text": row["text"],
        "text_pair": row["text_pair"],
        "target": "predicted",
        "method": view.method,
        "output": view.output,
        "palette": view.palette,
    }


def _draw_edit(service: Service, view: ErrorsView, row: Row, remarks: Remarks, left: Sequence[Remark]) -> None:
    """Draw the text to edit, the edits that were kept, and the edited text compared with the original."""
    kept = [remark for remark in left if remark.edit and remark.row == row["row"]]
    _draw_boxes(view, row)
    if kept:
        _draw_kept(view, row, kept)
    edit = _edit_of(view, row)
    if edit is None:
        return
    try:
        target = row["predicted"]
        original = view.map_request(row["text"], row["text_pair"], target)
        edited = view.map_request(*edit, target)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    answers = state.EDIT.answer_all(service, [original, edited])
    state.EDIT.draw_state(service, answers)
    if all(answer.result is not None for answer in answers):
        _draw_changes(view, [answer.result for answer in answers])
        _draw_keep(view, row, kept, remarks)


def _probability_rows(original: Attribution, edited: Attribution) -> pd.DataFrame:
    """Return the table: a row a class, with its probability for both texts, the largest difference first."""
    before, after = original.prediction.probabilities, edited.prediction.probabilities
    frame = pd.DataFrame(
        {"Class": list(before), "Original": before.values(), "Edited": [after[name] for name in before]}
    )
    frame["Difference"] = frame["Edited"] - frame["Original"]
    return frame.sort_values("Difference", key=abs, ascending=False, kind="stable")


def _keys(view: ErrorsView, row: Row) -> tuple[str, str]:
    """Return the keys of the boxes of the text and of the second text."""
    first, second = (form.of_row(name, view, row["row"]) for name in ("edit_text", "edit_pair"))
    return first, second


def _edit_of(view: ErrorsView, row: Row) -> tuple[str, str | None] | None:
    """Return the edited text and second text of ``row``; None if ``view`` edits another row, or none."""
    return (view.edit, view.edit_pair) if view.edit is not None and view.row == row["row"] else None


def _draw_boxes(view: ErrorsView, row: Row) -> None:
    text, pair = _keys(view, row)
    first, second = _edit_of(view, row) or (row["text"], row["text_pair"])

    def ask() -> None:
        edit_pair = st.session_state[pair] if row["text_pair"] is not None else None
        form.question.seed({"row": row["row"], "edit": st.session_state[text], "edit_pair": edit_pair}, force=True)

    draw_text_area("Edited text", first, text, 100)
    if row["text_pair"] is not None:
        draw_text_area("Edited second text", second or "", pair, 70)
    st.button("Predict the edited text", icon=":material/edit:", on_click=ask, key="errors_edit_ask")


def _draw_kept(view: ErrorsView, row: Row, kept: Sequence[Remark]) -> None:
    key = form.of_row("edit_kept", view, row["row"])

    def take() -> None:
        chosen = st.session_state[key]
        if chosen is not None:
            edit = {"edit": kept[chosen].text, "edit_pair": kept[chosen].text_pair}
            form.question.seed({"row": row["row"], **edit}, force=True)
            st.session_state.update(zip(_keys(view, row), edit.values(), strict=True))
            st.session_state[key] = None

    st.selectbox(
        f"Kept edits of row {row['row']}",
        range(len(kept)),
        index=None,
        key=key,
        on_change=take,
        format_func=lambda i: f"{i + 1}: {kept[i].text}",
        placeholder=f"{len(kept)} kept edits of row {row['row']}",
    )


def _draw_changes(view: ErrorsView, results: Sequence[Attribution]) -> None:
    original, edited = results
    st.dataframe(
        _probability_rows(original, edited),
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%+.4f" if name == "Difference" else "%.4f")
            for name in ("Original", "Edited", "Difference")
        },
    )
    if original.prediction.label != edited.prediction.label:
        words = f"The prediction changes from {original.prediction.label} to {edited.prediction.label}."
        st.info(plain(words), icon=":material/swap_horiz:")
    for column, title, result in zip(st.columns(2, gap="medium"), ("Original", "Edited"), results, strict=True):
        drawn = heatmap(result, view.palette)
        with column, st.container(border=True):
            st.markdown(f"**{title}**: why {plain(result.target.label)}")
            token_heatmap(drawn, key=f"errors_edit_map_{title.lower()}")


def _draw_keep(view: ErrorsView, row: Row, kept: Sequence[Remark], remarks: Remarks) -> None:
    """Keep the edited text, or forget it again."""
    edit = Remark.of_edit(row["row"], view.edit or "", view.edit_pair)
    there = any(remark.edit == edit.edit for remark in kept)

    def change() -> None:
        try:
            (remarks.forget if there else remarks.keep)(edit)
        except ExplainLabError as error:
            state.report(error)

    label = "Forget this edit" if there else f"Keep as a new row, based on row {row['row']}"
    st.button(label, icon=":material/delete:" if there else ":material/save:", on_click=change, key="errors_edit_keep")


_row_keys = component("row_keys", styles=())


def row_keys(on_step: Callable[[int], None]) -> None:
    """Bind the left and right arrow keys to ``on_step`` with -1 and 1, unless something else has a use for them."""

    def stepped() -> None:
        pressed = st.session_state.get("row_keys")
        if pressed is not None and pressed.step:
            on_step(int(pressed.step))

    _row_keys(data={}, key="row_keys", height=0, on_step_change=stepped)
