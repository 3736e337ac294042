"""Models: make a classifier of labelled texts; those that the user has made."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.analyses.training.page import ENTRY, controls
from explainlab.analyses.training.page import main as models_page
from explainlab.analyses.training.page.listing import draw_models
from explainlab.analyses.training.page.main import PAGE, TRAINING
from explainlab.analyses.training.page.results import draw_answer
from explainlab.app import links, session
from explainlab.app.cost_estimates import draw_cost_estimate
from explainlab.app.data.mapping import draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import require_training


def draw() -> None:
    """Draw the page: the training, then the models."""
    service = get_service()
    PAGE.open_view(service)
    draw_title(ENTRY, service.notice)
    try:
        require_training()
    except RequestError as error:
        st.info(plain(str(error)), icon=":material/lock:")
        draw_models(service)
        return
    name = file_tasks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(" · ".join(filter(None, (PAGE.view.line(), name)))):
        controls.draw_question(partial(TRAINING.press, service), PAGE.button)
    draw_mapping(controls.question, None)
    link = _draw_training(service)
    st.divider()
    draw_models(service)
    links.draw(link)


def _draw_training(service: Service) -> str:
    """The answer to the training that is shown, or how far it is; the link to it."""
    try:
        view = TRAINING.settle(service)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ""
    draw_cost_estimate(service, lambda: PAGE.draft().requests())
    answer = models_page.answer(service, view)
    if answer is not None:
        st.divider()
        TRAINING.draw_state(service, [answer])
        if answer.result is not None:
            draw_answer(service, answer.result)
    return PAGE.link(service, view)
