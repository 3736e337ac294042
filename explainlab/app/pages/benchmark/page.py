"""Benchmark: how good each method is on a data set, by any metric, and which differences are real; or on several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.figures import heat_cells, heat_table
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.table import kinds_of
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution
from explainlab.analyses.masked_distribution.result import NAMES, MaskedDistributionData, Rejected, short_answer
from explainlab.analyses.precision.result import PrecisionData, PrecisionRow
from explainlab.analyses.wording import capital
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart, theme
from explainlab.app.data_set import WITH_MARKS, draw_cure, draw_mapping, draw_texts
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.pages.benchmark import ENTRY, form
from explainlab.app.pages.benchmark.form import PAGE, BenchmarkView
from explainlab.app.pages.benchmark.results import (
    draw_answer,
    draw_published,
    draw_results,
    draw_set,
    evaluated_set,
    result_of,
)
from explainlab.app.pages.benchmark.texts import MOST_LISTED
from explainlab.app.pages.benchmark.truth import draw_truth, follow
from explainlab.app.place import Answer, PageState
from explainlab.app.progress import finished_so_far
from explainlab.app.sections import charts, draw_asked
from explainlab.app.sets import draw_further
from explainlab.app.text import plain
from explainlab.figures.chart import Chart, percent
from explainlab.models.loading import ModelCard
from explainlab.request import GOLD
from explainlab.service import file_tasks
from explainlab.service.jobs import Job
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import shown_model


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)
    lanes = follow(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = PAGE.draw_data_question(partial(PAGE.ask_text, service))
    labels, needs_label = card.labels if card else None, form.question.now("target") == GOLD
    draw_mapping(form.question, labels, WITH_MARKS, needs_label=needs_label)
    draw_further(form.question, labels, WITH_MARKS, needs_label=needs_label)
    view = PAGE.settle(service)
    form.draw_missing_marks(view)
    answers = form.find(service, view)

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
    """Draw one of several cells, and the way back to all."""
    assert view.opened is not None
    with st.container(horizontal=True, vertical_alignment="center", key=form.ALONE):
        back = partial(form.question.set, "opened", None)
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
    """Draw one model on one data set."""
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    draw_cure(form.question, card.labels if card else None, answer)
    result = result_of(answer)
    if result is not None:
        with above:
            draw_answer(result)
        draw_results(service, view, result)
        draw_published(evaluated_set(view, [answer]))
        _draw_precision(service, view)
        _draw_masked(service, view)
    elif answer.running and answer.job is not None:
        draw_so_far(answer.job)


_EVERY = 2.0  # seconds
_MOST = 5_000
"""The statistics of more texts than these would take longer than a reader waits."""


def draw_so_far(job: Job) -> None:
    """Draw the finished part of the answer of ``job``, anew every two seconds; nothing is computed for it."""
    st.fragment(_draw, run_every=_EVERY)(job)


def _draw(job: Job) -> None:
    result = finished_so_far(job) if job.progress.done <= _MOST else None
    tables = () if result is None else cached_for(result, _tables, result, theme() == "dark")
    if result is None or not tables:
        st.skeleton(height=320)
        return
    st.info(
        f"**Unfinished: {result.body.n:,} of {job.progress.total:,} texts so far.** The means change until all are "
        "there; what is told apart follows then.",
        icon=":material/hourglass_top:",
    )
    for chart, cells in tables:
        st.markdown(f"**{plain(chart.title)}**")
        st.vega_lite_chart(cells, key=f"unfinished_{chart.name}", alt=chart.alt)
        for note in chart.notes:
            st.caption(plain(note))


def _tables(result: AnalysisResult[EvaluationData], dark: bool) -> tuple[tuple[Chart, dict[str, Any]], ...]:
    """Return the table and its drawing; comparisons with rationales are judged at the end."""
    body = result.body
    known = [kind for kind in kinds_of(body) if kind == "faithfulness"]
    return tuple((heat_table(body, kind), heat_cells(body, kind, dark=dark)) for kind in known)


MASKED = PageState("benchmark.masked")
"""The check of masked texts, once requested."""
_MASKED_HELP = (
    "Metrics put something in the place of words, or take them out, and ask the model again. Half of the texts stand "
    "for the training, and of the others more and more is masked: where they are told apart, the model is asked about "
    "what it has never seen."
)
_MASKED_CHART_HELP = (
    "The share of texts with a p-value of at most 5% among the texts that stand for the training, with Wilson's 95% "
    "interval. Of texts like those of the training it is 5%."
)


def _draw_masked(service: Service, view: BenchmarkView) -> None:
    """Draw the section: its button, or the answer in words, the shares by ratio, and the computation."""
    st.divider()
    st.header("Does the model know masked texts?", anchor=False, help=explained(_MASKED_HELP, "masked-text"))
    result = draw_asked(service, MASKED, "Check masked texts", view.masked_request)
    if result is None:
        return
    for chart in cached_for(result, charts, result):
        draw_chart(chart, f"benchmark_{chart.name}", help=explained(_MASKED_CHART_HELP, "masked-text", "interval"))
    st.dataframe(pd.DataFrame(_masked_rows(result)), hide_index=True, height="content")
    with st.expander("Definition", icon=":material/functions:", key="benchmark_masked_defined"):
        study = MaskedDistribution()
        st.markdown(f"**{plain(study.label)}**: {plain(study.definition)} ({plain(study.source)})")


def _masked_rows(result: AnalysisResult[MaskedDistributionData]) -> list[dict[str, Any]]:
    """Return the table: a row a baseline, a column a ratio; first the rows of whole and of shuffled texts."""
    body = result.body
    controls = [
        {"In place of a word": name, "Like training texts": "–", "0%": _share(own)}
        for name, own in (
            ("As in the texts that stand for the training", body.alike),
            ("The word itself", body.whole),
            ("Another of the text's words", body.shuffled),
        )
    ]
    baselines = [
        {"In place of a word": capital(NAMES[own.baseline]), "Like training texts": short_answer(own)}
        | {f"{at.ratio}%": _share(at) for at in own.ratios}
        for own in body.baselines
    ]
    rows: list[dict[str, Any]] = [*controls, *baselines]
    return [{name: row.get(name, "") for name in {**rows[0], **rows[-1]}} for row in rows]


def _share(own: Rejected) -> str:
    return f"{own.mean:.0%}"


PRECISION = PageState("benchmark.precision")
"""The comparison of number formats, once requested."""
_PRECISION_HELP = (
    "The model is loaded once more in bfloat16 and in float16, which take half the memory, and every map is made again "
    "there: of the same class as in float32, with the same draws. Grey marks say what numbers mean: the same method "
    "with another seed, and random maps."
)
_PRECISION_CHART_HELP = {
    "precision-rank-correlation": "1: the words stand in the same order. Maps all of whose scores are equal have none.",
    "precision-top-5": "Of the five words of highest score. Texts of five words or fewer are left out.",
    "precision-logits": "A prediction can only change where a logit moves by about as much as the class is ahead.",
}


def _draw_precision(service: Service, view: BenchmarkView) -> None:
    """Draw the section: its button, or the answer in words, by method, and text by text."""
    st.divider()
    st.header(
        "What does half precision change?",
        anchor=False,
        help=explained(_PRECISION_HELP, "half-precision", "rank-correlation"),
    )
    result = draw_asked(service, PRECISION, "Compare number formats", view.precision_request)
    if result is None:
        return
    for chart in cached_for(result, charts, result):
        draw_chart(chart, f"benchmark_{chart.name}", help=explained(_PRECISION_CHART_HELP[chart.name], "interval"))
    st.dataframe(pd.DataFrame(_precision_rows(result)), hide_index=True, height="content")
    draw_texts("benchmark_precision_texts", lambda: _texts(result.body), result.skipped, result.body.n)


def _precision_rows(result: AnalysisResult[PrecisionData]) -> list[dict[str, Any]]:
    """Return the table: a row for each method and number format."""
    labels = {own.method: own.label for own in result.body.methods}
    return [
        {
            "Method": labels[row.method],
            "Format": row.dtype,
            "Rank correlation": str(row.rank_correlation),
            "Top 5 kept": str(row.top_5),
            "Texts": row.n,
            "Left out": _left_out(row),
        }
        for row in result.body.rows
    ]


def _left_out(row: PrecisionRow) -> str:
    counts = {"no map": row.broken, "equal scores": row.undefined, "too short for a top 5": row.short}
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items() if count) or "–"


def _texts(body: PrecisionData) -> list[dict[str, Any]]:
    """Return the first texts with all values."""
    labels = {own.method: own.label for own in body.methods}
    rows = []
    for text in body.texts[:MOST_LISTED]:
        row: dict[str, Any] = {"Row": text.row, "Text": text.text, "float32": text.predicted}
        row |= {own.dtype: own.predicted for own in text.read}
        row |= {f"Logits, {own.dtype}": own.logits for own in text.read}
        for own in text.maps:
            name = f"{labels[own.method]}, {own.dtype}"
            row |= {f"{name}: ρ": own.rank_correlation, f"{name}: top 5": percent(own.top_5)}
        rows.append(row)
    return rows
