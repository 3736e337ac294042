"""Below the table: what is told apart, quality against cost, agreement, slices, all texts, and definitions."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.page.controls import keep_known, question
from explainlab.analyses.evaluation.page.listing import metric_facts, names_of, text_records
from explainlab.analyses.evaluation.page.texts import draw_pair
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.analyses.evaluation.result import REVERSED, EvaluationData
from explainlab.analyses.evaluation.statistics import FEW
from explainlab.analyses.evaluation.told_apart import critical_diagram, differences
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.app.chart import draw_chart
from explainlab.app.data.texts import draw_texts
from explainlab.app.once import once
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.attribution.registry import get_method, parse_method
from explainlab.errors import RequestError
from explainlab.figures.chart import Chart
from explainlab.metrics.registry import get_metric
from explainlab.service.service import Service

_APART_HELP = (
    "The difference of each method to the best, text by text: positive where the best is better. p of Wilcoxon's "
    "signed-rank test, corrected by Holm for all methods; below 0.05 they are told apart.",
    "Each text ranks the methods, 1 the best. A bar joins methods none of whose pairs is told apart.",
)
_SLICES_HELP = "The means for the texts of each class, those predicted right and wrong, and thirds by length."
_SLICED_BY = {"label": "class", "prediction": "predicted", "length": "length"}


def draw_by_metric(result: AnalysisResult[EvaluationData]) -> None:
    """What one metric tells apart, what its quality costs, and its means for parts of the texts."""
    body = result.body
    facts = metric_facts(body)
    keep_known("by", list(facts), next(iter(facts)))
    st.header("By one metric", anchor=False)
    question.select("Metric", "by", {name: fact.directed_label for name, fact in facts.items()})
    metric = question.now("by")
    st.subheader("What is told apart", anchor=False)
    for place, draw, name, help_text in zip(
        st.columns(2, gap="large"), (differences, critical_diagram), ("differences", "ranks"), _APART_HELP, strict=True
    ):
        with place:
            _draw_chart(once(result, draw, body, metric), f"benchmark_{name}", explained(help_text, "interval"))
    st.subheader("Slices", anchor=False, help=_SLICES_HELP)
    st.dataframe(pd.DataFrame(_sliced(body, metric)), hide_index=True)
    if any(part.few for part in body.slices):
        st.caption(f"Parts with fewer than {FEW} texts are too small to lean on.")


def draw_agreement(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """How far the methods agree, and the texts on which two of them disagree most."""
    body = result.body
    if not body.agreement:
        return
    st.header(
        "Agreement",
        anchor=False,
        help=explained("Whether methods rank the features of a text alike.", "rank-correlation", "sign-conflict"),
    )
    draw_pair(service, view, body)


def draw_all(result: AnalysisResult[EvaluationData]) -> None:
    """All texts with their values, and what was computed."""
    draw_texts("benchmark_texts_all", lambda: text_records(result.body), result.skipped)
    definitions = st.expander("Definitions", icon=":material/functions:", key="benchmark_defined", on_change="rerun")
    if definitions.open:
        with definitions:
            _draw_definitions(result.body)


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


def _draw_chart(chart: Chart, key: str, help_text: str) -> None:
    """Draw ``chart``, or say why there is nothing to draw."""
    if chart.rows:
        draw_chart(chart, key, help=help_text)
    else:
        st.info(plain(f"{chart.title}. {' '.join(chart.notes)}"), icon=":material/info:")


def _sliced(body: EvaluationData, metric: str) -> list[dict[str, Any]]:
    key = metric_facts(body)[metric].key
    means = {
        (part.by, part.name, mean.method): mean.mean for part in body.slices for mean in part.rows if mean.metric == key
    }
    return [
        {
            "Method": shown_name(name),
            **{
                f"{_SLICED_BY[part.by]} {part.name} ({part.n:,})": means.get((part.by, part.name, name))
                for part in body.slices
            },
        }
        for name in names_of(body)
        if not name.startswith(REVERSED)
    ]
