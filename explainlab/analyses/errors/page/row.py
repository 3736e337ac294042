"""The open row: its heatmaps for both classes, the reader's remarks, and its text edited in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from explainlab.analyses.errors.figures import difference
from explainlab.analyses.errors.page import main as errors_page
from explainlab.analyses.errors.page.controls import draw_map_options, of_row
from explainlab.analyses.errors.page.edit import draw_edit
from explainlab.analyses.errors.page.rows import OPENED, draw_list, draw_walk
from explainlab.analyses.errors.page.table import PredictionTable
from explainlab.analyses.errors.page.view import ErrorsView
from explainlab.app import links, session
from explainlab.app.chart import draw_files
from explainlab.app.components import follow_press
from explainlab.app.heatmap import token_heatmap
from explainlab.app.page import draw_open_in
from explainlab.app.text import plain
from explainlab.app.view import CarriedText
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method
from explainlab.errors import ExplainLabError
from explainlab.figures.export import ReportMap, to_csv, to_html, to_json
from explainlab.figures.heatmap import heatmap, limit
from explainlab.models.loading import ModelCard
from explainlab.request import checked
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.remarks import MOST_CHARACTERS, Remark, Remarks

Row = dict[str, Any]

SIDE_BY_SIDE = 60
"""Content features up to which two heatmaps share a line."""
_DIFFERENCE_HELP = "The first map minus the second, feature by feature."


@st.fragment
def draw(service: Service, view: ErrorsView, card: ModelCard | None, table: PredictionTable, order: np.ndarray) -> None:
    """The rows at the positions ``order``, and the open row, for a model of ``card`` (None: not known yet).

    Going from row to row runs only this part of the page again: the row first, then the list above it.
    """
    view = errors_page.now(view)
    left = errors_page.stored_remarks(service, view)
    above = st.container()
    place = errors_page.place_of(table, order, view.row)
    row = table.row(order[place])
    following = [table.row(position) for position in order[place + 1 : place + 1 + errors_page.AHEAD]]
    remarks = errors_page.remarks(service, view)
    follow_press(OPENED)
    with st.container(key=OPENED):
        draw_walk(table, order, place)
    draw_map_options(card)
    own = next((remark for remark in left if remark.row == row["row"] and not remark.edit), Remark(row=row["row"]))
    _draw_heatmaps(service, view, card, row, following, own)
    draw_open_in(service, carried(view, row), errors_page.PAGE.name)
    _draw_remark(view, remarks, left, own)
    edited = view.edit is not None and view.row == row["row"]
    editing = st.expander(
        "Edit the text", edited, icon=":material/edit_note:", key=of_row("edit", view, row["row"]), on_change="rerun"
    )
    if editing.open:
        with editing:
            draw_edit(service, view, row, remarks, left)
    links.draw(errors_page.PAGE.link(service, view))
    with above:
        draw_list(view, table, order, left)


def _draw_heatmaps(
    service: Service, view: ErrorsView, card: ModelCard | None, row: Row, following: Sequence[Row], remark: Remark
) -> None:
    """The heatmaps for the predicted and for the true class, on one scale, and their difference."""
    unsupported = get_method(view.method).unsupported(card.architecture) if card else ""
    if unsupported:
        st.warning(plain(unsupported), icon=":material/block:")
        return
    try:
        wanted = errors_page.map_requests(view, row)
        ahead = [request for other in following for request in errors_page.map_requests(view, other)]
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    answers = errors_page.ROW.answer_all(service, wanted, ahead)
    errors_page.ROW.draw_state(service, answers)
    results = [answer.result for answer in answers]
    if None in results:
        if any(answer.running for answer in answers):
            st.skeleton(height=160)
        return
    maps = maps_of(row, results, view.palette)
    _draw_compared(maps)
    with st.popover("Export maps", icon=":material/download:", key="errors_maps_export"):
        _draw_files(view, row, maps, remark)


def maps_of(row: Row, results: Sequence[Attribution], palette: str) -> list[ReportMap]:
    """Why the predicted class and, where it is another, why the true one, both on one scale; then their difference."""
    predicted, true = row["predicted"], row["label"]
    if len(results) == 1:
        return [ReportMap(results[0], heatmap(results[0], palette), f"Why {predicted}, which is predicted and true")]
    titles, top = (f"Why {predicted}, which is predicted", f"Why {true}, which is true"), limit(results)
    maps = [ReportMap(r, heatmap(r, palette, top), title) for r, title in zip(results, titles, strict=True)]
    between = difference(*results)
    return [*maps, ReportMap(between, heatmap(between, palette), f"Why {predicted} rather than {true}")]


def row_report(data: str, row: Row, maps: Sequence[ReportMap], palette: str, remark: Remark) -> str:
    """A standalone document about a row of ``data``: its true class, the reader's ``remark``, and its maps."""
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


def _draw_files(view: ErrorsView, row: Row, maps: Sequence[ReportMap], remark: Remark) -> None:
    shown, data = [entry.attribution for entry in maps], file_tasks.source_name(view.source, session.user())
    name = f"row-{row['row']}"
    files = (
        ("CSV", lambda: to_csv(*shown), f"{name}.csv", "text/csv"),
        ("JSON", lambda: to_json(shown), f"{name}.json", "application/json"),
        ("HTML", lambda: row_report(data, row, maps, view.palette, remark), f"{name}.html", "text/html"),
    )
    draw_files(files, "errors_maps")


def _draw_remark(view: ErrorsView, remarks: Remarks, left: Sequence[Remark], own: Remark) -> None:
    """This user's note and tags on a row; what is entered is stored at once."""
    number = own.row
    note, tags = of_row("note", view, number), of_row("tags", view, number)

    def keep() -> None:
        try:
            entered = {"note": st.session_state[note], "tags": tuple(st.session_state[tags])}
            remarks.keep(checked(Remark, row=number, **entered))
        except ExplainLabError as error:
            errors_page.report(error)

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


def carried(view: ErrorsView, row: Row) -> CarriedText:
    """The text of ``row``, explained on other pages as here."""
    return {
        **view.carried(),
        "text": row["text"],
        "text_pair": row["text_pair"],
        "target": "predicted",
        "method": view.method,
        "output": view.output,
        "palette": view.palette,
    }
