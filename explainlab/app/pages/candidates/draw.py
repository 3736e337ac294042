"""Candidates: all attributions of randomized path-integration, and what choosing among them is worth."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.app import links
from explainlab.app.frame import draw_title
from explainlab.app.page import draw_open_in
from explainlab.app.pages.candidates import ENTRY
from explainlab.app.pages.candidates import controls as candidates_controls
from explainlab.app.pages.candidates import data_results as candidates_data_results
from explainlab.app.pages.candidates import main as candidates_page
from explainlab.app.pages.candidates import results as candidates_results
from explainlab.app.pages.candidates.main import PAGE
from explainlab.app.pages.candidates.worth import draw_answer
from explainlab.app.question import card_of
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = candidates_controls.draw_text_controls(partial(candidates_page.ask_text, service), PAGE.button)
    view = PAGE.settle(service)
    shown = card_of(view.model)
    architecture = shown.architecture if shown else None
    answer = PAGE.answer(service, view.text_request())
    link = PAGE.link(service, view)

    st.divider()
    PAGE.draw_early([answer])
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            draw_answer(view, answer.result)
        candidates_results.draw_text(service, view, answer.result, architecture)
    else:
        candidates_results.give_up_text(service)
        if answer.running:
            st.skeleton(height=160)
    draw_open_in(service, view.carried(), PAGE.name)

    open_text = partial(candidates_page.open_text, service)
    PAGE.draw_data(
        service,
        view,
        "The same candidates for many texts: what is the choice worth on average? On several models or data sets: "
        "which method is ahead where all have as many maps?",
        partial(candidates_controls.draw_data_controls, card),
        lambda result: candidates_data_results.draw_data(service, view, result, architecture, open_text),
    )
    links.draw(link)
