"""Activation: what a model says as a text is revealed feature by feature, and whose order brings the telling first."""

import streamlit as st

from explainlab.compute.service import service as get_service
from explainlab.ui import activation_controls, activation_data_results, activation_page, activation_results, links
from explainlab.ui.activation_page import PAGE
from explainlab.ui.navigation import guard
from explainlab.ui.text import plain

guard()

service = get_service()
PAGE.open_view(service)


def run_text() -> None:
    """Ask about the text."""
    PAGE.ask_text(service)


def run_data() -> None:
    """Ask about the data set too."""
    PAGE.ask_data(service)


def open_text(text: str, pair: str | None) -> None:
    """Show a text of the data set above."""
    PAGE.open_text(service, text, pair)


st.title("Activation", anchor=False)
st.caption("A text is revealed feature by feature, in a method's order: how soon does the model say what it will say?")
if service.notice:
    st.warning(plain(service.notice), icon=":material/save:")
card = activation_controls.draw_text_controls(run_text)
view = PAGE.settle(service)
found = PAGE.answer(service, view.text_request())
link = PAGE.link(service, view)

st.divider()
PAGE.draw_state(service, [found])
if found.result is not None:
    activation_results.draw_text(service, view, found.result, card.architecture if card else None)
elif found.running:
    st.skeleton(height=160)

st.divider()
st.header("A data set", anchor=False, help="The same curves for many texts: which method is worth its cost on average?")
activation_controls.draw_data_controls(card, run_data)
st.caption(activation_page.cost_words(view, found))
request = view.data_request()
if request is not None:
    study = PAGE.answer(service, request)
    PAGE.draw_state(service, [study])
    if study.result is not None:
        activation_data_results.draw_data(study.result.body, open_text)
links.draw(link)
