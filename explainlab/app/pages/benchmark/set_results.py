"""The answer of several cells: in words, a figure for every metric, a table, the cells, and what papers published."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.published.figure import beside_published
from explainlab.analyses.evaluation.published.matching import beside_best
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.sets.records import EvaluatedSet, set_rows
from explainlab.analyses.evaluation.sets.shares import set_shares, share_tables
from explainlab.analyses.evaluation.sets.verdict import set_overview, set_paragraphs
from explainlab.analyses.evaluation.share_figures import share_charts
from explainlab.analyses.evaluation.truth import shown
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.sets.export import set_csv, set_html, set_json
from explainlab.analyses.sets.latex import set_latex
from explainlab.analyses.sets.records import SetCell
from explainlab.app.chart import File, draw_chart
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.pages.benchmark.controls import open_alone, question
from explainlab.app.pages.benchmark.main import PAGE
from explainlab.app.pages.benchmark.published import draw_published
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.app.place import Answer
from explainlab.app.sets.cells import drawn, set_of
from explainlab.app.sets.results import SetSection
from explainlab.app.text import plain
from explainlab.figures.chart import Chart
from explainlab.service.service import Service

_SECTION = SetSection(PAGE, question, open_alone)


def result_of(answer: Answer) -> AnalysisResult[EvaluationData] | None:
    """The result as readers see it: see :func:`explainlab.analyses.evaluation.truth.shown`."""
    return None if answer.result is None else once(answer.result, shown, answer.result)


def evaluated_set(view: BenchmarkView, answers: Sequence[Answer]) -> EvaluatedSet:
    """The cells of ``view`` with their ``answers``."""
    return set_of(EvaluatedSet, view.cells, answers, result_of)


def draw_set(service: Service, view: BenchmarkView, answers: Sequence[Answer]) -> None:
    """All that there is of the cells so far, and how the others are getting on."""
    evaluated = evaluated_set(view, answers)
    if evaluated.done or all(answer.problem for answer in answers):
        _SECTION.draw_words(set_overview(evaluated), _files(evaluated) if evaluated.done else ())
        st.markdown("\n".join(f"* {plain(words)}" for words in set_paragraphs(evaluated)))
    _SECTION.draw_state(service, answers)
    if evaluated.done:
        _draw_figures(evaluated)
        st.header("Models by methods", anchor=False)
        _SECTION.keep_known("by", list(evaluated.measures))
        question.select("Metric", "by", {name: fact.directed_label for name, fact in evaluated.measures.items()})
        _SECTION.draw_table(evaluated, question.now("by"))
    elif any(answer.running for answer in answers):
        st.skeleton(height=320)
    _SECTION.draw_list(evaluated, {"Best": partial(_best, evaluated)})
    if evaluated.done:
        draw_published(evaluated)


def _files(evaluated: EvaluatedSet) -> list[File]:
    def sentences() -> list[str]:
        return [set_overview(evaluated), *set_paragraphs(evaluated)]

    def page() -> str:
        more = [*share_charts(evaluated), beside_published(beside_best(evaluated.cells))]
        return set_html("Benchmark", sentences(), evaluated, more)

    def record() -> str:
        shares = [row.model_dump(mode="json") for row in set_shares(evaluated)]
        return set_json(evaluated, sentences(), **({"shares": shares} if shares else {}))

    return [
        ("CSV", lambda: set_csv(set_rows(evaluated)), "benchmark.csv", "text/csv"),
        ("JSON", record, "benchmark.json", "application/json"),
        ("HTML", page, "benchmark.html", "text/html"),
        ("LaTeX", lambda: set_latex(evaluated, share_tables(evaluated)), "benchmark.tex", "application/x-tex"),
    ]


def _draw_figures(evaluated: EvaluatedSet) -> None:
    """One figure a metric, on one of the data sets."""
    sources = evaluated.data
    _SECTION.keep_known("on", list(sources))
    single = len(evaluated.groups) == 1
    st.header("By data set" if single else "By model", anchor=False)
    if len(sources) > 1 and not single:
        question.select("Data set", "on", sources)
    for metric in evaluated.measures:
        _SECTION.draw_figure(evaluated, metric)
    for chart in drawn(evaluated, _share_charts):
        draw_chart(chart, f"benchmark_{chart.name}", help=explained("", "rationale"))


def _share_charts(evaluated: EvaluatedSet) -> list[Chart]:
    return [*share_charts(evaluated)]


def _best(evaluated: EvaluatedSet, cell: SetCell) -> str:
    """The method of a cell that is told apart from all others by the metric that is chosen; empty for none."""
    best = evaluated.winner(cell, question.now("by"))
    return shown_name(best) if best else ""
