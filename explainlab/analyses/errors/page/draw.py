"""Errors: what a model gets wrong in a data set, and which words speak for the wrong class."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.analyses.errors.page import ENTRY
from explainlab.analyses.errors.page import controls as errors_controls
from explainlab.analyses.errors.page import drivers as errors_drivers
from explainlab.analyses.errors.page import main as errors_page
from explainlab.analyses.errors.page import results as errors_results
from explainlab.analyses.errors.page import row as errors_row
from explainlab.analyses.errors.page import rows as errors_list
from explainlab.analyses.errors.page.main import PAGE
from explainlab.analyses.errors.page.view import ErrorsView
from explainlab.app import links, session
from explainlab.app.data.mapping import draw_cure, draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.page import draw_headline
from explainlab.app.question import card_of
from explainlab.app.sets.further import draw_further
from explainlab.app.sets.opening import draw_way_back, section_of
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    errors_page.draw_reported()
    ask = partial(errors_page.ask, service)
    name = file_tasks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(f"{PAGE.view.line()} · {name}"):
        card = errors_controls.draw_question(ask, PAGE.button)
    labels = card.labels if card else None
    draw_mapping(errors_controls.question, labels)
    draw_further(errors_controls.question, labels)
    view = errors_page.settle(service)

    st.divider()
    if len(view.cells) > 1:
        section_of(PAGE, service).draw(service, view.cells, PAGE.answer_set(service, view.text_requests()))
        links.draw(PAGE.link(service, view))
    else:
        draw_way_back(PAGE, view)
        _draw_one(service, view)


def _draw_one(service: Service, view: ErrorsView) -> None:
    """One model on one data set: the whole, the rows, and what drives the mistakes."""
    predictions = errors_page.find(service, view)
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [predictions.answer])
    card = card_of(view.model)
    draw_cure(errors_controls.question, card.labels if card else None, predictions.answer)
    if predictions.table is not None:
        with above:
            draw_headline(predictions.answer.result)
        errors_results.draw_summary(view, predictions.answer.result)
        st.divider()
        with st.container(key=errors_controls.ROWS):
            st.header("Rows", anchor=False, help="Pick a row to see why the model says what it says.")
        order = errors_list.draw_choice(view, predictions.table, predictions.answer.result.body.labels)
        if len(order):
            errors_row.draw(service, view, card, predictions.table, order)
        else:
            links.draw(PAGE.link(service, view))
        if predictions.table.rows.wrong.any():
            st.divider()
            errors_drivers.draw_drivers(service, view, predictions.table)
    else:
        if predictions.answer.running:
            st.skeleton(height=160)
        links.draw(PAGE.link(service, view))
