"""Explain: one text, one model, any number of methods side by side."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.app.frame import draw_title
from explainlab.app.page import draw_open_in
from explainlab.app.pages.explain import ENTRY, controls, pictures, results, trust
from explainlab.app.pages.explain import main as explain_page
from explainlab.app.pages.explain.beliefs import draw_beliefs
from explainlab.app.pages.explain.main import PAGE
from explainlab.app.text import plain
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    ask = partial(PAGE.ask_text, service)

    def explain_class(label: str) -> None:
        controls.question.set("target", label)
        ask()

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = controls.question.draw(ask)
        controls.draw_options(card, ask)
    view = PAGE.settle(service)
    requests = view.requests()
    refused = explain_page.unsupported(requests, card)
    answers = explain_page.answer(service, [r for i, r in enumerate(requests) if i not in refused], requests)
    link = "" if any(answer.problem for answer in answers) else PAGE.link(service, view)

    st.divider()
    for reason in refused.values():
        st.warning(plain(reason), icon=":material/block:")
    PAGE.draw_early(answers)
    PAGE.draw_state(service, [answer for answer in answers if answer.result is None])
    attributions = [answer.result for answer in answers if answer.result is not None]
    if attributions:
        comparisons = trust.comparisons(service, attributions, ask=not PAGE.waiting)
        judged = {i: answer.result for i, answer in enumerate(comparisons) if answer and answer.result is not None}
        first, words = results.draw_verdict(attributions, judged)
        results.draw_prediction(attributions, explain_class)
        results.draw_maps(service, view, attributions, comparisons)
        pictures.draw_scores(attributions, view.palette, first)
        draw_beliefs(service, attributions[0].request, view.palette)
        pictures.draw_agreement(attributions)
        pictures.draw_ranking(service, attributions, judged)
        results.draw_exports(view, attributions, comparisons, words, link)
    elif not view.methods:
        st.info("Choose a method above to see which words speak for the prediction and which against it.")
    elif any(answer.running for answer in answers):
        st.skeleton(height=160)
    draw_open_in(service, view.carried(), PAGE.name)
