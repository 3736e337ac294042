"""Benchmark: how good each method is on a data set, by any metric, and which differences are real; or on several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from explainlab.analyses.evaluation.page import ENTRY
from explainlab.analyses.evaluation.page import controls as benchmark_controls
from explainlab.analyses.evaluation.page import main as benchmark_page
from explainlab.analyses.evaluation.page.main import PAGE
from explainlab.analyses.evaluation.page.masked import draw_masked
from explainlab.analyses.evaluation.page.precision import draw_precision
from explainlab.analyses.evaluation.page.published import draw_published
from explainlab.analyses.evaluation.page.results import draw_answer, draw_results
from explainlab.analyses.evaluation.page.running import draw_so_far
from explainlab.analyses.evaluation.page.set_results import draw_set, evaluated_set, result_of
from explainlab.analyses.evaluation.page.truth import draw_truth, follow
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.app import links, session
from explainlab.app.data.mapping import WITH_MARKS, draw_cure, draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.place import Answer
from explainlab.app.sets.further import draw_further
from explainlab.app.text import plain
from explainlab.models.loading import ModelCard
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import shown_model


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)
    lanes = follow(service)

    draw_title(ENTRY, service.notice)
    name = file_tasks.source_name(PAGE.view.source, session.user())
    with PAGE.place_of_controls(" · ".join(filter(None, (PAGE.view.line(), name)))):
        card = benchmark_controls.draw_question(partial(PAGE.ask_text, service), PAGE.button)
    draw_mapping(benchmark_controls.question, card.labels if card else None, WITH_MARKS)
    draw_further(benchmark_controls.question, card.labels if card else None, WITH_MARKS)
    view = PAGE.settle(service)
    benchmark_page.draw_missing_marks(view)
    answers = benchmark_page.find(service, view)

    st.divider()
    if len(answers) == 1:
        _draw_one(service, view, answers[0], card)
    elif view.opened in view.cells:
        _draw_alone(service, view, answers)
    else:
        draw_set(service, view, answers)
    draw_truth(service, view, lanes)
    links.draw(PAGE.link(service, view))


def _draw_alone(service: Service, view: BenchmarkView, answers: Sequence[Answer]) -> None:
    """One of several cells, and the way back to all."""
    assert view.opened is not None
    with st.container(horizontal=True, vertical_alignment="center", key=benchmark_controls.ALONE):
        back = partial(benchmark_controls.question.set, "opened", None)
        st.button(f"All {len(answers)} cells", icon=":material/arrow_back:", on_click=back, key="benchmark_all_cells")
        (model, data), user = view.opened, session.user()
        about = f"{shown_model(model, user.id)} on {file_tasks.source_name(data, user)}"
        st.markdown(f"**{plain(about)}**", width="content")
    answer = answers[view.cells.index(view.opened)]
    if answer.result is None:
        PAGE.draw_state(service, [Answer(problem=answer.problem) if answer.problem else answer])
        return
    _draw_one(service, view.of_cell(*view.opened), answer, None)


def _draw_one(service: Service, view: BenchmarkView, answer: Answer, card: ModelCard | None) -> None:
    """One model on one data set."""
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    draw_cure(benchmark_controls.question, card.labels if card else None, answer)
    result = result_of(answer)
    if result is not None:
        with above:
            draw_answer(result)
        draw_results(service, view, result)
        draw_published(evaluated_set(view, [answer]))
        draw_precision(service, view)
        draw_masked(service, view)
    elif answer.running and answer.job is not None:
        draw_so_far(answer.job)
