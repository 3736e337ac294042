"""Integration: how many steps does this text need, and what do too few do to its map?"""

import streamlit as st

from explainlab.compute.service import service as get_service
from explainlab.ui import integration_controls, integration_data_results, integration_page, integration_results, links
from explainlab.ui.integration_controls import PAGE
from explainlab.ui.navigation import guard
from explainlab.ui.text import plain

guard()

service = get_service()
integration_page.open_view(service)


def run_text() -> None:
    """Ask about the text."""
    integration_page.ask_text(service)


def run_data() -> None:
    """Ask about the data set too."""
    integration_page.ask_data(service)


def open_text(text: str, pair: str | None) -> None:
    """Show a text of the data set above."""
    integration_page.open_text(service, text, pair)


st.title("Integration", anchor=False)
st.caption("Integrated gradients sums gradients along a path: how many steps does this text need?")
if service.notice:
    st.warning(plain(service.notice), icon=":material/save:")
card = integration_controls.draw_text_controls(run_text)
view = integration_page.settle(service)
errors, path = (integration_page.answer(service, request) for request in view.text_requests())
link = integration_page.link(service, view)

st.divider()
integration_results.draw_state(service, [errors, path], PAGE)
if errors.result is not None:
    integration_results.draw_errors(errors.result.body)
    integration_results.draw_morph(view, errors.result.body)
if path.result is not None:
    integration_results.draw_path(view, path.result.body)
if any(answer.job is not None and not answer.job.progress.finished for answer in (errors, path)):
    st.skeleton(height=160)

st.divider()
st.header("A data set", anchor=False, help="The same question for many texts: do all of them need as many steps?")
integration_controls.draw_data_controls(card, run_data, integration_page.pace(errors, path))
request = view.data_request()
if request is not None:
    study = integration_page.answer(service, request)
    integration_results.draw_state(service, [study], PAGE)
    if study.result is not None:
        integration_data_results.draw_data(study.result.body, view.rule, open_text)
links.draw(link)
