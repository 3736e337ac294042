"""ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from explainlab.analyses.roar.page import ENTRY
from explainlab.analyses.roar.page import controls as roar_controls
from explainlab.analyses.roar.page import main as roar_page
from explainlab.analyses.roar.page.example import draw_empty
from explainlab.analyses.roar.page.main import GRID, PAGE
from explainlab.analyses.roar.page.results import draw_result
from explainlab.analyses.roar.page.running import draw_paused, draw_so_far
from explainlab.analyses.roar.page.time import ask_time, draw_time
from explainlab.analyses.roar.page.view import RoarView
from explainlab.analyses.roar.sets.figures import COLUMNS, set_charts
from explainlab.app import links, session
from explainlab.app.components import is_narrow
from explainlab.app.data.mapping import draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.place import Answer
from explainlab.app.sets.opening import draw_way_back, section_of
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import require_training

_WAITING = "Press **{button}** for the cells that wait. What is trained of them already stays."
_STALE = ":material/edit: The controls have changed: press **{button}** for a grid of these."


def draw() -> None:
    """Draw the page, from the controls to the answer."""
    service = get_service()
    PAGE.open_view(service)
    draw_title(ENTRY, service.notice)
    if not _may_train():
        _draw_example()
        return
    name = file_tasks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(" · ".join(filter(None, (PAGE.view.line(), name)))):
        roar_controls.draw_question(partial(GRID.press, service), PAGE.button, partial(ask_time, service))
        st.caption(roar_page.size_words())
        draw_time(service)
    draw_mapping(roar_controls.question, None)
    roar_controls.draw_further_cells()
    links.draw(_draw_grid(service))


def _may_train() -> bool:
    """Whether models are made here; where not, the reason is told."""
    try:
        require_training()
    except RequestError as error:
        st.info(plain(str(error)), icon=":material/lock:")
        return False
    return True


def _draw_grid(service: Service) -> str:
    """The grid that is shown, how far it is, or the example; the link to it."""
    try:
        view = GRID.settle(service)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ""
    if roar_page.is_stale(view):
        st.caption(_STALE.format(button=PAGE.button))
    st.divider()
    if len(view.cells) > 1:
        _draw_set(service, view)
        return PAGE.link(service, view)
    draw_way_back(PAGE, view)
    answer = roar_page.answer(service, view) or Answer()
    above = st.container()  # the answer comes before its warnings
    GRID.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            draw_result(answer.result, service)
    elif answer.job is not None and answer.running:
        draw_so_far(answer.job)
    elif not answer.problem:
        _draw_stopped(service, view, answer)
    return PAGE.link(service, view)


def _draw_set(service: Service, view: RoarView) -> None:
    """The grids of several bases and data sets, and what is there of the one that is trained now."""
    answers = roar_page.answer_set(service, view)
    if any(answer == Answer() for answer in answers):
        st.caption(_WAITING.format(button=PAGE.button))
    section_of(PAGE, service, GRID, partial(set_charts, columns=1 if is_narrow() else COLUMNS)).draw(
        service, view.cells, answers
    )
    job = next((answer.job for answer in answers if answer.running), None)
    if job is not None:
        st.header("The grid that is trained now", anchor=False)
        draw_so_far(job)


def _draw_stopped(service: Service, view: RoarView, answer: Answer) -> None:
    """What is there of a grid that is not trained now; the example where nothing is."""
    so_far: Any = service.so_far(view.request(), session.user())
    if so_far is not None:
        asked_above = answer.job is not None  # its row has a button
        draw_paused(so_far.body, None if asked_above else partial(GRID.press, service))
    elif answer.job is None:
        _draw_example()


def _draw_example() -> None:
    result = draw_empty()
    if result is not None:
        draw_result(result)
