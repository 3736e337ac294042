"""Masked texts on the Benchmark page: whether they look like training texts to the model, asked by a button."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution
from explainlab.analyses.masked_distribution.result import MaskedDistributionData, Rejected
from explainlab.analyses.masked_distribution.verdict import NAMES, short_answer
from explainlab.analyses.wording import capital
from explainlab.app.chart import draw_chart
from explainlab.app.data.asked import charts, draw_asked
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.app.place import Place
from explainlab.app.text import plain
from explainlab.service.service import Service

MASKED = Place("benchmark.masked")
"""The check of masked texts, once requested."""
_HELP = (
    "Metrics put something in the place of words, or take them out, and ask the model again. Half of the texts stand "
    "for the training, and of the others more and more is masked: where they are told apart, the model is asked about "
    "what it has never seen."
)
_CHART_HELP = (
    "The share of texts with a p-value of at most 5% among the texts that stand for the training, with Wilson's 95% "
    "interval. Of texts like those of the training it is 5%."
)


def draw_masked(service: Service, view: BenchmarkView) -> None:
    """The section: its button, or the answer in words, the shares by ratio, and what was computed."""
    st.divider()
    st.header("Does the model know masked texts?", anchor=False, help=explained(_HELP, "masked-text"))
    result = draw_asked(service, MASKED, "Check masked texts", view.masked_request)
    if result is None:
        return
    for chart in once(result, charts, result):
        draw_chart(chart, f"benchmark_{chart.name}", help=explained(_CHART_HELP, "masked-text", "interval"))
    st.dataframe(pd.DataFrame(_rows(result)), hide_index=True, height="content")
    with st.expander("Definition", icon=":material/functions:", key="benchmark_masked_defined"):
        study = MaskedDistribution()
        st.markdown(f"**{plain(study.label)}**: {plain(study.definition)} ({plain(study.source)})")


def _rows(result: AnalysisResult[MaskedDistributionData]) -> list[dict[str, Any]]:
    """A row a baseline, a column a ratio; before them texts that are whole and shuffled."""
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
