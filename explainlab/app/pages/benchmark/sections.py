"""Below the table: what is told apart, quality against cost, slices, agreement, all texts, and definitions."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.agreement_figures import agreement_cells, agreement_matrix
from explainlab.analyses.evaluation.figures import quality_against_cost
from explainlab.analyses.evaluation.result import REVERSED, EvaluationData
from explainlab.analyses.evaluation.slice_figures import slice_means
from explainlab.analyses.evaluation.sweep_figures import sweep_charts
from explainlab.analyses.evaluation.told_apart import critical_diagram, differences
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.app.chart import draw_cells, draw_chart, theme
from explainlab.app.data.texts import draw_texts
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.pages.benchmark.controls import keep_known, open_pair, question
from explainlab.app.pages.benchmark.listing import metric_facts, names_of, pairs_records, text_records
from explainlab.app.pages.benchmark.texts import draw_pair
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.app.text import plain
from explainlab.attribution.registry import get_method, parse_method
from explainlab.errors import RequestError
from explainlab.figures.chart import Chart
from explainlab.metrics.registry import get_metric
from explainlab.service.service import Service

_HELP = {
    "differences": "The difference of each method to the best, text by text: positive where the best is better. p of "
    "Wilcoxon's signed-rank test, corrected by Holm for all pairs of methods and all metrics, as the best is chosen on "
    "the same texts; below 0.05 they are told apart.",
    "ranks": "Each text ranks the methods, 1 the best. A bar joins methods none of whose pairs is told apart.",
    "swept": "The means of the settings of one method that differ in one number; the dashed line is random.",
    "costs": "The Pareto front holds the methods that no other method beats at the same cost or less.",
    "slices": "The means for the texts of each class, those predicted right and wrong, and thirds by length.",
    "agreement": "Whether methods rank the features of a text alike. Press a cell to see the texts on which two "
    "methods disagree most; the boxes below do the same.",
}
_PAIRS = "benchmark_pairs"


def draw_by_metric(result: AnalysisResult[EvaluationData]) -> None:
    """What one metric tells apart, what its quality costs, and its means for parts of the texts."""
    facts = metric_facts(result.body)
    keep_known("by", list(facts), next(iter(facts)))
    st.header("By one metric", anchor=False)
    question.select("Metric", "by", {name: fact.directed_label for name, fact in facts.items()})
    st.subheader("What is told apart", anchor=False)
    _draw(result, differences, "differences")
    _draw(result, critical_diagram, "ranks")
    charts = once(result, sweep_charts, result.body, question.now("by"))
    if charts:
        st.subheader("Against a parameter", anchor=False)
    for chart in charts:
        draw_chart(chart, f"benchmark_{chart.name}", help=explained(_HELP["swept"], "interval"))
    st.subheader("Quality against cost", anchor=False)
    _draw(result, quality_against_cost, "costs")
    st.subheader("Slices", anchor=False)
    _draw(result, slice_means, "slices")


def draw_agreement(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """How far the methods agree, and the texts on which two of them disagree most."""
    body = result.body
    if not body.agreement:
        return
    st.header("Agreement", anchor=False)
    picked = view.first, view.second
    draw_cells(
        once(result, agreement_matrix, body),
        once(result, agreement_cells, body, *picked, theme() == "dark"),
        "benchmark_agreement",
        picked,
        lambda cell: open_pair(cell["first"], cell["second"]),
        explained(_HELP["agreement"], "rank-correlation", "sign-conflict"),
    )
    label = "All pairs, to sort and for the keyboard"
    pairs = st.expander(label, icon=":material/table:", key="benchmark_pairs_sorted", on_change="rerun")
    if pairs.open:
        with pairs:
            _draw_pairs(body)
    draw_pair(service, view, body)


def draw_all(result: AnalysisResult[EvaluationData]) -> None:
    """All texts with their values, and what was computed."""
    draw_texts("benchmark_texts_all", lambda: text_records(result.body), result.skipped, result.body.n)
    definitions = st.expander("Definitions", icon=":material/functions:", key="benchmark_defined", on_change="rerun")
    if definitions.open:
        with definitions:
            _draw_definitions(result.body)


def _draw(result: AnalysisResult[EvaluationData], make: Callable[[EvaluationData, str], Chart], name: str) -> None:
    """Draw a chart of the metric that is chosen, or say why there is nothing to draw."""
    chart = once(result, make, result.body, question.now("by"))
    if chart.rows:
        draw_chart(chart, f"benchmark_{name}", help=explained(_HELP[name], "interval"))
    else:
        st.info(plain(f"{chart.title}. {' '.join(chart.notes)}"), icon=":material/info:")


def _draw_pairs(body: EvaluationData) -> None:
    """Every two methods; one that is picked lists its texts."""

    def picked() -> None:
        for row in st.session_state[_PAIRS].selection.rows:
            open_pair(body.agreement[row].first, body.agreement[row].second)

    formats = {"Kendall's τ": "%.3f", "Sign conflicts": "percent"}
    st.dataframe(
        pd.DataFrame(pairs_records(body)),
        hide_index=True,
        key=_PAIRS,
        on_select=picked,
        selection_mode="single-row",
        column_config={name: st.column_config.NumberColumn(format=written) for name, written in formats.items()},
    )


def _draw_definitions(body: EvaluationData) -> None:
    for fact in metric_facts(body).values():
        words = f"{get_metric(fact.metric).plain} {fact.definition}"
        st.markdown(f"**{plain(fact.directed_label)}**: {plain(words)}")
    for name in names_of(body):
        if name.startswith(REVERSED):
            continue
        try:
            method = get_method(parse_method(name).method)
        except RequestError:  # the name of a file
            st.markdown(f"**{plain(name)}**: scores that were made elsewhere.")
        else:
            words = f"{method.plain} {method.definition} ({method.source})"
            st.markdown(f"**{plain(shown_name(name))}**: {plain(words)}")
    st.markdown("**Reversed**: the scores of a method with the opposite sign, a control that should do badly.")
