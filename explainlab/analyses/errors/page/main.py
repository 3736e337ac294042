"""What the Errors page shows and why: predictions kept as arrays, the row that is open, its maps and the next ones'."""

from __future__ import annotations

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
from explainlab.service import looks
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
"""The maps of the open row: asked, cancelled and run again on their own."""
EDIT = Place("errors.edit")
"""The maps of the open row and of its edited text."""
DRIVERS = Place("errors.drivers")
"""What drives the mistakes, once it is asked."""

AHEAD = 2
"""How many of the following rows are explained while the page is idle."""
_HELD, _TOLD = "errors.held", "errors.told"


@dataclass(frozen=True)
class Found:
    """The answer about a data set without its rows, and these as a ``table``; None until they are there."""

    answer: Answer
    table: PredictionTable | None = None


def ask(service: Service) -> None:
    """Ask what the controls say (a callback); of other predictions every row is let through again."""
    PAGE.seed(PAGE.view)  # filters that were not drawn, as there was nothing to filter, have no value
    with suppress(ExplainLabError):  # told by the page that follows
        if PAGE.draft().requests() != PAGE.view.requests():
            controls.let_through()
    PAGE.ask_text(service)


def now(view: ErrorsView) -> ErrorsView:
    """``view`` with the row that is open by now, for the part of the page that runs again without the rest."""
    draft = PAGE.draft()
    view = view.model_copy(update={name: getattr(draft, name) for name in controls.OF_ROW})
    PAGE.redraw(view)
    return view


def find(service: Service, view: ErrorsView) -> Found:
    """The predictions that ``view`` shows. They stay in the session: a stored result is read once."""
    request = view.request()
    try:
        if not view.source:
            raise RequestError("No data set is chosen.", "Choose the embedded examples or name a file.")
        key = (service.key(request, session.user()), known_digest(request.model))
    except ExplainLabError as error:
        return Found(Answer(problem=str(error)))
    held: tuple[object, Found] | None = st.session_state.get(_HELD)
    if held is not None and held[0] == key:
        return held[1]
    answer = PAGE.answer(service, request)
    if answer.result is None:
        return Found(answer)
    found = once(answer.result, _split, answer.result)
    st.session_state[_HELD] = (key, found)
    return found


def _split(result: AnalysisResult[PredictionsData]) -> Found:
    body = result.body
    return Found(Answer(result=replace(result, body=body.without_rows())), PredictionTable.of(body.rows))


def tell(error: ExplainLabError) -> None:
    """Let the page that follows tell what went wrong (from a callback)."""
    st.session_state[_TOLD] = str(error)


def draw_told() -> None:
    """What a callback has left to be told."""
    told = st.session_state.pop(_TOLD, "")
    if told:
        st.error(plain(told), icon=":material/error:")


def place_of(table: PredictionTable, order: np.ndarray, row: int | None) -> int:
    """Where in ``order`` the row of this number is; the first place if it is not let through."""
    at = np.flatnonzero(table.frame["row"].to_numpy()[order] == row)
    return int(at[0]) if at.size else 0


def step(table: PredictionTable, order: np.ndarray, place: int, by: int) -> None:
    """Open the row ``by`` places further, if there is one (a callback)."""
    if 0 <= place + by < len(order):
        controls.open_row(int(table.frame["row"].iat[order[place + by]]))


def map_requests(view: ErrorsView, row: dict[str, Any]) -> list[Request]:
    """The maps of a row against the class predicted and, where that is wrong, against the true one."""
    labels = dict.fromkeys([row["predicted"], row["label"]])
    return [view.map_request(row["text"], row["text_pair"], label) for label in labels]


def remarks(service: Service, view: ErrorsView) -> Remarks:
    """Where this session's user leaves remarks on the rows of the data set."""
    user = session.user()
    return service.store.remarks(user.id, looks.source_digest(view.source, user))


def left_on(service: Service, view: ErrorsView) -> list[Remark]:
    """What the user has left there; where the store fails that is told, and there is nothing."""
    try:
        return remarks(service, view).all()
    except ExplainLabError as error:
        st.warning(plain(str(error)), icon=":material/save:")
        return []
