"""The grid of the ROAR page: the last one requested, the number of its models, and its duration."""

from __future__ import annotations

from contextlib import suppress

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study
from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar_estimate.result import RoarEstimate
from explainlab.analyses.wording import capital, counted, duration
from explainlab.app import session
from explainlab.app.page import Pressed, cells_words
from explainlab.app.pages.roar import form
from explainlab.app.pages.roar.form import PAGE, RoarView
from explainlab.app.place import Answer, PageState, Requests, resolved
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service.resolved import set_key
from explainlab.service.service import Service

GRID = Pressed("roar.grid", PAGE)
"""The grid that a press has asked for: opening a link trains no model."""


def answer(service: Service, view: RoarView) -> Answer | None:
    """Return the grid that ``view`` describes, or the job that trains it; None without either."""
    return GRID.answer_if_requested(service, *view.text_requests())


def answer_set(service: Service, view: RoarView) -> list[Answer]:
    """Return the grids of all cells of ``view``; missing ones are trained only after a press for these cells."""
    requests = view.requests()
    try:
        job = service.engine.job(set_key([resolved(request) for request in requests]))
    except ExplainLabError as error:
        return [Answer(problem=str(error))] * len(requests)
    asked = GRID.view is not None and GRID.view.requests() == requests
    if not asked and job is not None and session.user() in job.users and not job.progress.finished:
        GRID.ask(service, view, record=False)  # the page may have been loaded anew
        asked = True
    return GRID.answer_set(service, requests) if asked else [_stored(service, request) for request in requests]


def is_stale(view: RoarView) -> bool:
    """Return True if the controls describe other grids than the shown ``view``."""
    return bool(PAGE.draft().requests() != view.requests())


def size_words() -> str:
    """Return the number of models that the controls describe, in Markdown; empty for an invalid grid."""
    try:
        view = PAGE.draft()
        request = view.request()
        parameters = form.parameters(request)
    except ExplainLabError:  # shown where the page asks for the grid
        return ""
    grid, measures = Grid(parameters, request.seed), counted(len(parameters.requests), "measure")
    shared, models = len(grid.steps), counted(grid.distinct, "model")
    words = (
        f"**{models} to train**: {counted(parameters.seeds, 'seed')}, each with {shared} of random words, which all "
        f"measures share, and {grid.distinct // parameters.seeds - shared} of {measures}. What is trained stays."
    )
    same = " The test texts are the training texts: performance is not that on unseen texts."
    return words + cells_words(view) + (same if request.data == request.parameters["test"] else "")


def _stored(service: Service, request: Request) -> Answer:
    try:
        return Answer(service.find(resolved(request)))
    except ExplainLabError as error:
        return Answer(problem=str(error))


TIME = PageState("roar.time")
"""The estimate that a press has asked for."""
_MOST_SMALLER = 6


def ask_time(service: Service) -> None:
    """Time an epoch and the measures of the controls (a callback); the next run shows their problem."""
    with suppress(ExplainLabError):
        TIME.ask(service, Requests((PAGE.draft().time_request(),)), record=False)


def draw_time(service: Service) -> None:
    """Draw the estimate for the controls, if it was requested or is known."""
    try:
        view = PAGE.draft()
        answer = TIME.answer_if_requested(service, view.time_request())
    except ExplainLabError:  # shown where the page asks for the grid
        return
    if answer is not None:
        TIME.draw_state(service, [answer])
        if answer.result is not None:
            _draw_time(answer.result)
            if len(view.cells) > 1:
                st.caption(f"This is the first of {len(view.cells)} cells.")


def _draw_time(result: AnalysisResult[RoarEstimate]) -> None:
    st.info(plain(get_study(result.request.question).report(result).headline), icon=":material/timer:")
    if result.body.smaller:
        rows = [{"Grid": capital(own.changed), "Time": duration(own.seconds)} for own in result.body.smaller]
        smaller = st.expander("Smaller grids", icon=":material/compress:", key="roar_smaller", on_change="rerun")
        if smaller.open:
            alt = "What smaller grids take, the longest first."
            smaller.dataframe(pd.DataFrame(rows[:_MOST_SMALLER]), hide_index=True, alt=alt)
