"""Errors: what a model gets wrong in a data set, and which words speak for the wrong class."""

from functools import partial

import streamlit as st

from explainlab.analyses.errors.page import controls as errors_controls
from explainlab.analyses.errors.page import data as errors_data
from explainlab.analyses.errors.page import drivers as errors_drivers
from explainlab.analyses.errors.page import main as errors_page
from explainlab.analyses.errors.page import results as errors_results
from explainlab.analyses.errors.page import row as errors_row
from explainlab.analyses.errors.page import rows as errors_list
from explainlab.analyses.errors.page.main import PAGE
from explainlab.app import links
from explainlab.app.frame import guard
from explainlab.app.question import card_of
from explainlab.app.text import plain
from explainlab.service.service import service as get_service

guard()

service = get_service()
PAGE.open_view(service)

st.title("Errors", anchor=False)
st.caption("A model reads a data set: where is it wrong, and which words speak for the wrong class?")
if service.notice:
    st.warning(plain(service.notice), icon=":material/save:")
errors_page.draw_told()
ask = partial(errors_page.ask, service)
errors_data.draw_data_options(errors_controls.draw_question(ask), ask)
view = errors_page.settle(service)
found = errors_page.find(service, view)

st.divider()
PAGE.draw_state(service, [found.answer])
if found.table is not None:
    errors_results.draw_summary(view, found.answer.result)
    st.divider()
    st.header("Rows", anchor=False, help="Pick a row to see why the model says what it says.")
    order = errors_list.draw_choice(view, found.table, found.answer.result.body["labels"])
    if len(order):
        errors_row.draw(service, view, card_of(view.model), found.table, order)
    else:
        links.draw(PAGE.link(service, view))
    if found.table.wrong.any():
        st.divider()
        errors_drivers.draw_drivers(service, view, found.table)
else:
    links.draw(PAGE.link(service, view))
    if found.answer.running:
        st.skeleton(height=160)
