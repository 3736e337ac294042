"""The answer: in words, and as tables of methods by metrics whose cells list their texts."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.heat_table import TITLES, heat_cells, heat_table
from explainlab.analyses.evaluation.page.controls import open_cell
from explainlab.analyses.evaluation.page.sections import draw_agreement, draw_all, draw_by_metric
from explainlab.analyses.evaluation.page.texts import draw_cell
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.table import Kind, kinds_of
from explainlab.analyses.evaluation.verdict import overview, paragraphs
from explainlab.analyses.registry import get_analysis
from explainlab.app.chart import draw_cells, theme
from explainlab.app.once import once
from explainlab.app.page import draw_words
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.service.service import Service

_TABLE_HELP = (
    "Press a cell to see the texts behind it; the boxes below do the same. An arrow says which way is better. Random maps "
    "and every method's scores with the opposite sign are there to compare with."
)
_OF_PEOPLE = (
    "How well the maps mark what people marked as the evidence. A map may agree with people and say nothing of the "
    "model, and the other way round."
)


def draw_answer(result: AnalysisResult[EvaluationData]) -> None:
    """Who is best by which metric, who is not told apart from it, how far both are above random, and what they cost."""
    lines = partial(get_analysis(result.request.question).lines, result)
    draw_words(overview(result.body), result, lines)
    st.markdown("\n".join(f"* {plain(sentence)}" for sentence in paragraphs(result.body)))


def draw_results(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """Everything below the answer in words."""
    for kind in kinds_of(result.body):
        _draw_table(view, result, kind)
    draw_cell(service, view, result.body)
    st.divider()
    draw_by_metric(result)
    st.divider()
    draw_agreement(service, view, result)
    draw_all(result)


def _draw_table(view: BenchmarkView, result: AnalysisResult[EvaluationData], kind: Kind) -> None:
    """The table of one kind, with what a reader must know of its kind."""
    if kind != "faithfulness":
        st.header(TITLES[kind], anchor=False, help=explained("", "rationale"))
        st.caption(f"{_OF_PEOPLE}{_without_rationale(result.body)}")
    picked = view.cell_method, view.cell_metric
    draw_cells(
        once(result, heat_table, result.body, kind),
        once(result, heat_cells, result.body, kind, *picked, theme() == "dark"),
        f"benchmark_{kind}",
        picked,
        lambda cell: open_cell(cell["method"], cell["metric"]),
        explained(_TABLE_HELP, "interval", "random-map"),
    )


def _without_rationale(body: EvaluationData) -> str:
    """How many texts were left out, as nothing can be compared; empty for none."""
    left_out = str(body.rationales or "")
    return f" Left out: {left_out}." if left_out else ""
