"""Activation: what a model says as a text is revealed feature by feature, and whose order brings the telling first."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.app import links
from explainlab.app.frame import draw_title
from explainlab.app.page import draw_headline, draw_open_in
from explainlab.app.pages.activation import ENTRY
from explainlab.app.pages.activation import controls as activation_controls
from explainlab.app.pages.activation import data_results as activation_data_results
from explainlab.app.pages.activation import results as activation_results
from explainlab.app.pages.activation.main import PAGE
from explainlab.app.question import card_of
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = activation_controls.draw_text_controls(partial(PAGE.ask_text, service), PAGE.button)
    view = PAGE.settle(service)
    answer = PAGE.answer(service, view.text_request())
    link = PAGE.link(service, view)

    st.divider()
    PAGE.draw_early([answer])
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            draw_headline(answer.result)
        activation_results.draw_text(service, view, answer.result, card_of(view.model))
    else:
        activation_results.BELIEFS.keep(service, [])
        if answer.running:
            st.skeleton(height=160)
    draw_open_in(service, view.carried(), PAGE.name)

    PAGE.draw_data(
        service,
        view,
        "The same curves for many texts: which method is worth its cost on average?",
        partial(activation_controls.draw_data_controls, card),
        partial(activation_data_results.draw_data, service, partial(PAGE.open_text, service)),
    )
    links.draw(link)
