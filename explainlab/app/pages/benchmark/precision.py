"""Precision on the Benchmark page: what half precision does to the maps of its methods, asked by a button."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.precision.result import PrecisionData, PrecisionRow
from explainlab.app.chart import draw_chart
from explainlab.app.data.asked import charts, draw_asked
from explainlab.app.data.texts import draw_texts
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.pages.benchmark.listing import MOST_LISTED
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.app.place import Place
from explainlab.figures.chart import percent
from explainlab.service.service import Service

PRECISION = Place("benchmark.precision")
"""The comparison of number formats, once requested."""
_HELP = (
    "The model is loaded once more in bfloat16 and in float16, which take half the memory, and every map is made again "
    "there: of the same class as in float32, with the same draws. Grey marks say what numbers mean: the same method "
    "with another seed, and random maps."
)
_CHART_HELP = {
    "precision-rank-correlation": "1: the words stand in the same order. Maps all of whose scores are equal have none.",
    "precision-top-5": "Of the five words of highest score. Texts of five words or fewer are left out.",
    "precision-logits": "A prediction can only change where a logit moves by about as much as the class is ahead.",
}


def draw_precision(service: Service, view: BenchmarkView) -> None:
    """The section: its button, or the answer in words, by method, and text by text."""
    st.divider()
    st.header(
        "What does half precision change?", anchor=False, help=explained(_HELP, "half-precision", "rank-correlation")
    )
    result = draw_asked(service, PRECISION, "Compare number formats", view.precision_request)
    if result is None:
        return
    for chart in once(result, charts, result):
        draw_chart(chart, f"benchmark_{chart.name}", help=explained(_CHART_HELP[chart.name], "interval"))
    st.dataframe(pd.DataFrame(_rows(result)), hide_index=True, height="content")
    draw_texts("benchmark_precision_texts", lambda: _texts(result.body), result.skipped, result.body.n)


def _rows(result: AnalysisResult[PrecisionData]) -> list[dict[str, Any]]:
    """A row a method and number format."""
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
    """The first texts with all values."""
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
