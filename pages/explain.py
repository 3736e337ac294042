"""Explain: one text, one model, any number of methods side by side."""

import streamlit as st

from explainlab.analyses.explain.page import controls, results
from explainlab.analyses.explain.page import main as explain_page
from explainlab.analyses.explain.page.beliefs import draw_beliefs
from explainlab.app.frame import guard
from explainlab.app.progress import draw_jobs
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.service.service import service as get_service

guard()

service = get_service()
explain_page.open_view(service)


def run() -> None:
    """Ask what the controls say."""
    explain_page.ask_draft(service)


def explain_class(label: str) -> None:
    """Explain another class."""
    controls.set_target(label)
    run()


st.title("Explain", anchor=False)
st.caption("One text, one model: which words speak for the prediction, and which against it?")
if service.notice:
    st.warning(plain(service.notice), icon=":material/save:")
card = controls.draw_question(run)
controls.draw_options(card, run)
try:
    view = explain_page.settle(service)
    answers = explain_page.collect(service, view, card)
except ExplainLabError as error:
    st.error(plain(str(error)), icon=":material/error:")
    st.stop()

link = explain_page.link(service, view)
st.divider()
for reason in answers.unsupported:
    st.warning(plain(reason), icon=":material/block:")
if answers.jobs:
    draw_jobs(service, answers.jobs, controls.PAGE)
if answers.results:
    results.draw_prediction(answers.results[0], explain_class)
    results.draw_maps(service, view, answers.results)
    draw_beliefs(service, answers.results[0].request, view.palette)
    results.draw_agreement(answers.results)
    results.draw_exports(view, answers.results, link)
elif not view.methods:
    st.info("Choose a method above to see which words speak for the prediction and which against it.")
elif any(not job.progress.finished for job in answers.jobs):
    st.skeleton(height=160)
