"""Integration: how many steps does this text need, and what do too few do to its map?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.app import links
from explainlab.app.frame import draw_title
from explainlab.app.page import draw_headline, draw_open_in
from explainlab.app.pages.integration import ENTRY
from explainlab.app.pages.integration import controls as integration_controls
from explainlab.app.pages.integration import data_results as integration_data_results
from explainlab.app.pages.integration import results as integration_results
from explainlab.app.pages.integration.main import PAGE
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = integration_controls.draw_text_controls(partial(PAGE.ask_text, service), PAGE.button)
    view = PAGE.settle(service)
    errors, path = (PAGE.answer(service, request) for request in view.text_requests())
    link = PAGE.link(service, view)

    st.divider()
    PAGE.draw_early([errors, path])
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [errors, path])
    if errors.result is not None:
        with above:
            draw_headline(errors.result)
        integration_results.draw_errors(errors.result)
        integration_results.draw_morph(view, errors.result)
    if path.result is not None:
        integration_results.draw_path(view, path.result)
    if errors.running or path.running:
        st.skeleton(height=160)
    draw_open_in(service, view.carried(), PAGE.name)

    PAGE.draw_data(
        service,
        view,
        "The same question for many texts: do they all need as many steps?",
        partial(integration_controls.draw_data_controls, card),
        partial(integration_data_results.draw_data, view.rule, partial(PAGE.open_text, service)),
    )
    links.draw(link)
