"""Benchmark: how good each method is on a data set, by any metric, and which differences are real."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.analyses.evaluation.page import ENTRY
from explainlab.analyses.evaluation.page import controls as benchmark_controls
from explainlab.analyses.evaluation.page import main as benchmark_page
from explainlab.analyses.evaluation.page.main import PAGE
from explainlab.analyses.evaluation.page.results import draw_answer, draw_results
from explainlab.analyses.evaluation.page.truth import draw_truth, follow
from explainlab.analyses.evaluation.truth import shown
from explainlab.app import links, session
from explainlab.app.data.mapping import WITH_RATIONALES, draw_cure, draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.once import once
from explainlab.service import looks
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)
    lanes = follow(service)

    draw_title(ENTRY, service.notice)
    name = looks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(" · ".join(filter(None, (PAGE.view.line(), name)))):
        card = benchmark_controls.draw_question(partial(PAGE.ask_text, service), PAGE.button)
        cost = st.container()
    draw_mapping(benchmark_controls.question, card.labels if card else None, WITH_RATIONALES)
    view = PAGE.settle(service)
    benchmark_page.draw_missing_rationales(view)
    answer = benchmark_page.find(service, view)
    cost.caption(benchmark_page.cost_words(view, answer.result))

    st.divider()
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    if answer.result is not None:
        result = once(answer.result, shown, answer.result)
        with above:
            draw_answer(result)
        if card is not None:
            draw_cure(benchmark_controls.question, card.labels, answer.result.skipped)
        draw_results(service, view, result)
    elif answer.running:
        st.skeleton(height=320)
    draw_truth(service, view, lanes)
    links.draw(PAGE.link(service, view))
