"""The answer: in words, and as tables of methods by metrics whose cells list their texts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.page.controls import open_cell
from explainlab.analyses.evaluation.page.sections import draw_agreement, draw_all, draw_by_metric
from explainlab.analyses.evaluation.page.table import metric_facts, names_of
from explainlab.analyses.evaluation.page.texts import draw_cell
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.verdict import overview, paragraphs, shown_name
from explainlab.analyses.registry import get_analysis
from explainlab.app.page import draw_words
from explainlab.app.text import plain
from explainlab.service.service import Service


def draw_answer(result: AnalysisResult[EvaluationData]) -> None:
    """Who is best by which metric, who is not told apart from it, how far both are above random, and what they cost."""
    lines = partial(get_analysis(result.request.question).lines, result)
    draw_words(overview(result.body), result, lines)
    st.markdown("\n".join(f"* {plain(sentence)}" for sentence in paragraphs(result.body)))


def draw_results(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """Everything below the answer in words."""
    _draw_table(result.body)
    draw_cell(service, view, result.body)
    st.divider()
    draw_by_metric(result)
    st.divider()
    draw_agreement(service, view, result)
    draw_all(result)


def _draw_table(body: EvaluationData) -> None:
    facts, names, key = metric_facts(body), names_of(body), "benchmark_table"
    means = {(row.method, row.asked): row.mean for row in body.rows}
    records: list[dict[str, Any]] = [
        {"Method": shown_name(name), **{fact.directed_label: means[name, metric] for metric, fact in facts.items()}}
        for name in names
    ]
    by_label = {fact.directed_label: metric for metric, fact in facts.items()}

    def pressed() -> None:
        for row, column in st.session_state[key].selection.cells:
            if column in by_label:
                open_cell(names[row], by_label[column])

    st.dataframe(pd.DataFrame(records), hide_index=True, key=key, on_select=pressed, selection_mode="single-cell")
