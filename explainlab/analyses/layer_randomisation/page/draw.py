"""Sanity: whether a map comes from what a model has learned, and whether it can be fooled."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.layer_randomisation.page import ENTRY
from explainlab.analyses.layer_randomisation.page import asked as sanity_asked
from explainlab.analyses.layer_randomisation.page import attacks as sanity_attacks
from explainlab.analyses.layer_randomisation.page import controls as sanity_controls
from explainlab.analyses.layer_randomisation.page import results as sanity_results
from explainlab.analyses.layer_randomisation.page.lines import method_lines, open_questions
from explainlab.analyses.layer_randomisation.page.main import PAGE
from explainlab.analyses.layer_randomisation.page.view import SanityView
from explainlab.analyses.layer_randomisation.result import RandomisationData
from explainlab.analyses.registry import get_analysis
from explainlab.app import links, session
from explainlab.app.data.mapping import draw_cure, draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.page import draw_words
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
    name = file_tasks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(" · ".join(filter(None, (PAGE.view.line(), name)))):
        card = sanity_controls.draw_question(partial(PAGE.ask_text, service), PAGE.button)
    labels = card.labels if card else None
    draw_mapping(sanity_controls.question, labels)
    draw_further(sanity_controls.question, labels)
    view = PAGE.settle(service)

    st.divider()
    if len(view.cells) > 1:
        section_of(PAGE, service).draw(service, view.cells, PAGE.answer_set(service, view.text_requests()))
    else:
        draw_way_back(PAGE, view)
        _draw_one(service, view)
    links.draw(PAGE.link(service, view))


def _draw_answer(service: Service, view: SanityView, result: AnalysisResult[RandomisationData]) -> None:
    """The answer in words: what all methods have in common, and a line for each, of all that has been asked."""
    analysis, user = get_analysis(result.request.question), session.user()
    lines = method_lines(view, result.body, partial(service.find, user=user))
    draw_words(analysis.headline(result), result, partial(analysis.lines, result), lines)
    missing = open_questions(view, partial(service.has, user=user))
    if missing:
        st.caption(missing)


def _draw_one(service: Service, view: SanityView) -> None:
    """One model on one data set."""
    answer = PAGE.answer(service, view.request())
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    card = card_of(view.model)
    draw_cure(sanity_controls.question, card.labels if card else None, answer)
    if answer.result is None:
        if answer.running:
            st.skeleton(height=320)
        return
    with above:
        _draw_answer(service, view, answer.result)
    sanity_results.draw_randomisation(answer.result)
    st.divider()
    sanity_results.draw_text(service, view, answer.result)
    st.divider()
    row = sanity_results.row_of(view, answer.result.body)
    sanity_attacks.draw_attacks(service, view, (row.text, row.text_pair))
    st.divider()
    sanity_attacks.draw_substitution(service, view, (row.text, row.text_pair))
    st.divider()
    sanity_asked.draw_stability(service, view)
    st.divider()
    sanity_asked.draw_axioms(service, view)
