"""The state of the Errors page: predictions as arrays, the open row, its attributions and those of the next rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.page import controls
from explainlab.analyses.errors.page.table import PredictionTable
from explainlab.analyses.errors.page.view import ErrorsView, first_view, shows
from explainlab.analyses.errors.result import PredictionsData
from explainlab.app import session
from explainlab.app.once import once
from explainlab.app.page import AnalysisPage
from explainlab.app.place import Answer, Place
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.models.loading import known_digest
from explainlab.request import Request
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.remarks import Remark, Remarks

PAGE = AnalysisPage(
    controls.PAGE,
    question=controls.question,
    record=ErrorsView,
    first=first_view,
    seed=controls.seed_controls,
    draft=controls.draft,
    button="Predict",
    drawn=controls.DRAWN,
    shows=shows,
)
ROW = Place("errors.row")
"""The attributions of the open row: requested, cancelled and run again on their own."""
EDIT = Place("errors.edit")
"""The attributions of the open row and of its edited text."""
DRIVERS = Place("errors.drivers")
"""What drives the mistakes, once requested."""

AHEAD = 2
"""How many of the following rows are explained while the page is idle."""
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
            controls.let_through()
    st.session_state.pop(_CACHED, None)  # what is asked is a run, also where it is shown already
    PAGE.ask_text(service)


def settle(service: Service) -> ErrorsView:
    """The view to show; filters and the open row start anew where it is about another data set than before."""
    before = PAGE.view
    view: ErrorsView = PAGE.settle(service)
    if view.subject == before.subject:
        return view
    controls.let_through()
    return _with_controls(view, controls.DRAWN)


def now(view: ErrorsView) -> ErrorsView:
    """``view`` with the row that is open now, for the part of the page that runs again without the rest."""
    return _with_controls(view, controls.OF_ROW)


def _with_controls(view: ErrorsView, names: Sequence[str]) -> ErrorsView:
    """``view`` with the fields ``names``, which change no request, as the controls say now."""
    draft = PAGE.draft()
    view = view.model_copy(update={name: getattr(draft, name) for name in names})
    PAGE.redraw(view)
    return view


def find(service: Service, view: ErrorsView) -> TableAnswer:
    """The predictions that ``view`` shows. They stay in the session: a stored result is read once."""
    request = view.request()
    try:
        if not view.source:
            raise RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        key = (service.key(request, session.user()), known_digest(request.model))
    except ExplainLabError as error:
        return TableAnswer(Answer(problem=str(error)))
    cached: tuple[object, TableAnswer] | None = st.session_state.get(_CACHED)
    if cached is not None and cached[0] == key:
        return cached[1]
    answer = PAGE.answer(service, request)
    if answer.result is None:
        return TableAnswer(answer)
    table_answer = once(answer.result, _split, answer.result)
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
    """Where in ``order`` the row of this number is; the first place if it is not there."""
    at = np.flatnonzero(table.numbers[order] == row)
    return int(at[0]) if at.size else 0


def step(table: PredictionTable, order: np.ndarray, place: int, by: int) -> None:
    """Open the row ``by`` places further, if there is one (a callback)."""
    if 0 <= place + by < len(order):
        controls.open_row(int(table.numbers[order[place + by]]))


def map_requests(view: ErrorsView, row: dict[str, Any]) -> list[Request]:
    """Requests for the predicted class of a row and, where that is wrong, for the true class."""
    labels = dict.fromkeys([row["predicted"], row["label"]])
    return [view.map_request(row["text"], row["text_pair"], label) for label in labels]


def remarks(service: Service, view: ErrorsView) -> Remarks:
    """The store of this user's remarks on the rows of the data set."""
    user = session.user()
    return service.store.remarks(user.id, file_tasks.source_digest(view.source, user))


def stored_remarks(service: Service, view: ErrorsView) -> list[Remark]:
    """The user's remarks; if the store fails, a warning and none."""
    try:
        return remarks(service, view).all()
    except ExplainLabError as error:
        st.warning(plain(str(error)), icon=":material/save:")
        return []
