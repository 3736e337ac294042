"""What choosing among candidates is worth, of a text or of a data set, and what every metric computes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from explainlab.analyses.ablation.figures import ablation
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates import figures as candidates
from explainlab.analyses.candidates.page.main import PAGE
from explainlab.analyses.candidates.page.view import CandidatesView
from explainlab.analyses.candidates.result import CandidatesData, CandidatesText
from explainlab.analyses.candidates.verdict import data_verdict, text_verdict
from explainlab.analyses.records import MetricFacts, metric_of
from explainlab.analyses.registry import get_study
from explainlab.app.chart import draw_chart
from explainlab.app.once import once
from explainlab.app.page import draw_words
from explainlab.app.place import Place
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.metrics.registry import get_metric
from explainlab.request import Request
from explainlab.service.service import Service

ORACLE = (
    "**The best map by the reported metric is an oracle.** It was chosen by the very number that is "
    "reported, so the best of many looks better than a single map even if all maps are noise. Compare "
    "it with the maps chosen by another metric or another k, and with the mean."
)


def draw_answer(view: CandidatesView, result: AnalysisResult[CandidatesText] | AnalysisResult[CandidatesData]) -> None:
    """What choosing by the metric that is reported is worth, in words."""
    body = result.body
    sort = sorted_by(list(body.selection), view.sort)
    words = text_verdict(body, sort) if isinstance(body, CandidatesText) else data_verdict(body, sort)
    draw_words(words, result, lambda: get_study(result.request.question).report(result).lines)


def draw_choice(
    result: AnalysisResult[CandidatesText] | AnalysisResult[CandidatesData], sort: str, prefix: str
) -> None:
    """The selection by every rule, the metric against draws and against layers, of a text or of a data set."""
    body = result.body
    st.warning(ORACLE, icon=":material/visibility:")
    metric = metric_of(body.metrics, sort)
    definition = explained(plain(metric.definition), metric.metric)
    draw_chart(once(result, candidates.selection, body, sort), f"{prefix}_selection", help=definition)
    every = st.expander("Every metric", icon=":material/table_rows:", key=f"{prefix}_every", on_change="rerun")
    if every.open:
        every.dataframe(_selection_table(body), hide_index=True)
    left, right = st.columns(2, gap="large")
    with left:
        draw_chart(once(result, candidates.by_draws, body, sort), f"{prefix}_draws", help=definition)
    with right:
        if body.by_layer:
            draw_chart(once(result, candidates.by_layer, body, sort), f"{prefix}_layers", help=definition)
        else:
            st.info("All maps come from one layer. To compare layers, choose several (all, or 3,4).")


def draw_ablation(service: Service, request: Request, sort: str, prefix: str) -> None:
    """Other methods with as many attributions, on request."""
    place = ablation_place(prefix)
    place.keep(service, [request])
    others = st.expander(
        "Other methods with as many maps", icon=":material/balance:", key=f"{prefix}_ablation", on_change="rerun"
    )
    if others.open:
        with others:
            (answer,) = PAGE.answers_in(place, service, [request])
            place.draw_state(service, [answer])
            if answer.result is not None:
                chart = once(answer.result, ablation, answer.result.body, sort)
                draw_chart(chart, f"{prefix}_ablation_chart")


def ablation_place(prefix: str) -> Place:
    """Where the other methods are asked, of the text or of the data set."""
    return Place(f"{prefix}.ablation")


def draw_definitions(metrics: Sequence[MetricFacts]) -> None:
    """What every metric computes, in a popover."""
    with st.popover("Definitions", icon=":material/functions:", width="stretch"):
        for metric in metrics:
            better = "Higher" if metric.higher_is_better else "Lower"
            words = f"{get_metric(metric.metric).plain} {metric.definition}"
            st.markdown(f"**{plain(metric.label)}** ({better} is better): {plain(words)}")


def _selection_table(body: candidates.Body) -> pd.DataFrame:
    """A row a choice, a column a reported metric."""
    columns = {
        candidates.directed(body, key): {name: value.mean for name, value in candidates.choices(selection, body)}
        for key, selection in body.selection.items()
    }
    frame = pd.DataFrame(columns)
    frame = frame.reindex([*[name for name in frame.index if name != candidates.BEST], candidates.BEST])
    return frame.rename_axis("Choice").reset_index()


def sorted_by(keys: list[str], wanted: str) -> str:
    """The metric ``wanted`` where it is among the ``keys``, else the first."""
    return wanted if wanted in keys else keys[0]
