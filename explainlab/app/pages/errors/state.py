"""The state of the Errors page: predictions as arrays, the open row, its attributions and those of the next rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.result import PredictionsData
from explainlab.analyses.errors.rows import COLUMNS, PredictedRows
from explainlab.app import session
from explainlab.app.cached import cached_for
from explainlab.app.pages.errors import form
from explainlab.app.pages.errors.form import PAGE, ErrorsView
from explainlab.app.place import Answer, PageState, resolved
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.figures.export import inert
from explainlab.models.loading import known_digest
from explainlab.request import Request
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.remarks import Remark, Remarks

ROW = PageState("errors.row")
"""The attributions of the open row: requested, cancelled and run again on their own."""
EDIT = PageState("errors.edit")
"""The attributions of the open row and of its edited text."""
DRIVERS = PageState("errors.drivers")
"""The section on the drivers of mistakes, once requested."""

AHEAD = 2
"""Number of following rows that are explained while the page is idle."""
_CACHED, _REPORTED = "errors.held", "errors.told"


@dataclass(frozen=True)
class TableAnswer:
    """The answer about a data set without its rows, and the rows as a ``table``; None until they are computed."""

    answer: Answer
    table: PredictionTable | None = None


def ask(service: Service) -> None:
    """Request what the controls say (a callback); reset the filters if the predictions change."""
    PAGE.seed(PAGE.view)  # filters that were never drawn have no value
    with suppress(ExplainLabError):  # the next run of the page reports it
        if PAGE.draft().requests() != PAGE.view.requests():
            form.let_through()
    st.session_state.pop(_CACHED, None)  # a request becomes a run, also where its result is shown already
    PAGE.ask_text(service)


def settle(service: Service) -> ErrorsView:
    """Return the view to show; filters and the open row start anew with another data set."""
    before = PAGE.view
    view: ErrorsView = PAGE.settle(service)
    if view.subject == before.subject:
        return view
    form.let_through()
    return _with_controls(view, PAGE.drawn)


def now(view: ErrorsView) -> ErrorsView:
    """Return ``view`` with the row that is open now, for the part of the page that runs again without the rest."""
    return _with_controls(view, form.OF_ROW)


def _with_controls(view: ErrorsView, names: Sequence[str]) -> ErrorsView:
    """Return ``view`` with the fields ``names``, which change no request, as the controls say now."""
    draft = PAGE.draft()
    view = view.model_copy(update={name: getattr(draft, name) for name in names})
    PAGE.redraw(view)
    return view


def find(service: Service, view: ErrorsView) -> TableAnswer:
    """Return the predictions that ``view`` shows. They stay in the session: a stored result is read once."""
    request = view.request()
    try:
        if not view.source:
            raise RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        key = (resolved(request).key, known_digest(request.model))
    except ExplainLabError as error:
        return TableAnswer(Answer(problem=str(error)))
    cached: tuple[object, TableAnswer] | None = st.session_state.get(_CACHED)
    if cached is not None and cached[0] == key:
        return cached[1]
    answer = PAGE.answer(service, request)
    if answer.result is None:
        return TableAnswer(answer)
    table_answer = cached_for(answer.result, _split, answer.result)
    st.session_state[_CACHED] = (key, table_answer)
    return table_answer


def _split(result: AnalysisResult[PredictionsData]) -> TableAnswer:
    body = result.body
    return TableAnswer(Answer(result=replace(result, body=body.without_rows())), PredictionTable(body.rows))


def report(error: ExplainLabError) -> None:
    """Show ``error`` at the next run of the page (from a callback)."""
    st.session_state[_REPORTED] = str(error)


def draw_reported() -> None:
    """Show the error that a callback reported."""
    words = st.session_state.pop(_REPORTED, "")
    if words:
        st.error(plain(words), icon=":material/error:")


def place_of(table: PredictionTable, order: np.ndarray, row: int | None) -> int:
    """Return the position in ``order`` of the row of this number; the first position if it is missing."""
    at = np.flatnonzero(table.numbers[order] == row)
    return int(at[0]) if at.size else 0


def step(table: PredictionTable, order: np.ndarray, place: int, by: int) -> None:
    """Open the row ``by`` places further, if there is one (a callback)."""
    if 0 <= place + by < len(order):
        form.open_row(int(table.numbers[order[place + by]]))


def map_requests(view: ErrorsView, row: dict[str, Any]) -> list[Request]:
    """Return requests for the predicted class of a row and, where that is wrong, for the true class."""
    labels = dict.fromkeys([row["predicted"], row["label"]])
    return [view.map_request(row["text"], row["text_pair"], label) for label in labels]


def remarks(service: Service, view: ErrorsView) -> Remarks:
    """Return the store of this user's remarks on the rows of the data set."""
    user = session.user()
    return service.store.remarks(user.id, file_tasks.source_digest(view.source, user))


def stored_remarks(service: Service, view: ErrorsView) -> list[Remark]:
    """Return the user's remarks; if the store fails, a warning and none."""
    try:
        return remarks(service, view).all()
    except ExplainLabError as error:
        st.warning(plain(str(error)), icon=":material/save:")
        return []


_SORTED_BY = {
    "loss": ("loss", -1),
    "confident": ("confidence", -1),
    "unsure": ("confidence", 1),
    "long": ("tokens", -1),
    "short": ("tokens", 1),
    "row": ("row", 1),
}


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The ``rows`` of a body. Positions count them from 0; row numbers are those of the file."""

    rows: PredictedRows

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def numbers(self) -> np.ndarray:
        """int64 [n]: the rows' numbers."""
        return self.rows.column("row")

    def order(self, view: ErrorsView) -> np.ndarray:
        """Return int64 [m]: positions of the rows that ``view`` shows, in its order; ties as in the file."""
        keep = self.rows.wrong.copy() if view.show == "mistakes" else np.ones(len(self), dtype=bool)
        for column, label in (("label", view.true), ("predicted", view.predicted)):
            if label:
                keep &= self.rows.where(column, label)
        if view.numbers:
            keep &= np.isin(self.numbers, view.numbers)
        if view.search:
            keep &= self.rows.finds(view.search)
        positions = np.flatnonzero(keep)
        column, sign = _SORTED_BY[view.sort]
        values = sign * self.rows.column(column)[positions].astype(float)
        return positions[np.argsort(values, kind="stable")]

    def row(self, position: int) -> dict[str, Any]:
        """Return one row."""
        return {**self.rows[int(position)]}

    def records(self, positions: np.ndarray, remarks: Sequence[Remark]) -> list[dict[str, Any]]:
        """Return the rows at ``positions`` with note and tags, each followed by the texts edited from it.

        Those have the row's number as their ``parent``, its label, and no prediction.
        """
        left: dict[int, list[Remark]] = {}
        for remark in remarks:
            left.setdefault(remark.row, []).append(remark)
        records = []
        for row in self.rows.at(positions):
            record: dict[str, Any] = {**row}
            of_row = left.get(record["row"], [])
            own = next((remark for remark in of_row if not remark.edit), Remark(row=record["row"]))
            records.append({**record, "parent": None, "note": own.note, "tags": list(own.tags)})
            records += [_edited(record, remark) for remark in of_row if remark.edit]
        return records


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return records as a table; a text that a spreadsheet would take for a formula gets a leading apostrophe."""
    rows = [{**record, "tags": ", ".join(record["tags"])} for record in records]
    cells = [{name: inert(v) if isinstance(v, str) else v for name, v in row.items()} for row in rows]
    return str(pd.DataFrame(cells).to_csv(index=False, lineterminator="\r\n"))


def to_json(records: Sequence[dict[str, Any]]) -> str:
    """Return ``{"rows": [...]}``."""
    return json.dumps({"rows": list(records)}, ensure_ascii=False, allow_nan=False, indent=2)


def _edited(parent: dict[str, Any], remark: Remark) -> dict[str, Any]:
    record = dict.fromkeys(COLUMNS) | {"text": remark.text, "text_pair": remark.text_pair, "label": parent["label"]}
    return {**record, "parent": parent["row"], "note": remark.note, "tags": list(remark.tags)}
