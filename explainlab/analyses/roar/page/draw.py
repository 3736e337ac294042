"""ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.analyses.roar.page import ENTRY
from explainlab.analyses.roar.page import controls as roar_controls
from explainlab.analyses.roar.page import main as roar_page
from explainlab.analyses.roar.page.example import draw_empty
from explainlab.analyses.roar.page.main import GRID, PAGE
from explainlab.analyses.roar.page.results import draw_result
from explainlab.analyses.roar.page.running import draw_so_far
from explainlab.analyses.roar.page.time import ask_time, draw_time
from explainlab.app import links, session
from explainlab.app.data.mapping import draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.service import looks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import require_training

_STALE = ":material/edit: The controls have changed: press **{button}** for a grid of these."
_PAUSE = "Cancel pauses the grid: models that are trained stay, and asked again it goes on from there."
_PAUSED = "What was trained is there: asked again, the grid goes on from it."


def draw() -> None:
    """Draw the page, from the controls to the answer."""
    service = get_service()
    PAGE.open_view(service)
    draw_title(ENTRY, service.notice)
    if not _may_train():
        _draw_example()
        return
    name = looks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(" · ".join(filter(None, (PAGE.view.line(), name)))):
        roar_controls.draw_question(partial(roar_page.ask, service), PAGE.button, partial(ask_time, service))
        st.caption(roar_page.size_words())
        draw_time(service)
    draw_mapping(roar_controls.question, None)
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
        view = roar_page.settle(service)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ""
    if roar_page.is_stale(view):
        st.caption(_STALE.format(button=PAGE.button))
    answer = roar_page.answer(service, view)
    st.divider()
    if answer is None:
        _draw_example()
        return PAGE.link(service, view)
    above = st.container()  # the answer comes before its warnings
    GRID.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            draw_result(answer.result)
    elif answer.job is not None:
        st.caption(_PAUSE if answer.running else _PAUSED)
        if answer.running:
            draw_so_far(answer.job)
    return PAGE.link(service, view)


def _draw_example() -> None:
    result = draw_empty()
    if result is not None:
        draw_result(result)
