"""Stability and axioms on the Sanity page, asked by buttons: tables whose cells tell more."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.axioms.analysis import answer_words
from explainlab.analyses.axioms.figures import answer_cells
from explainlab.analyses.axioms.result import AxiomsData
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.heat_table import heat_cells, heat_table
from explainlab.app.chart import draw_cells, theme
from explainlab.app.components import is_narrow
from explainlab.app.data.asked import charts, draw_asked
from explainlab.app.once import once
from explainlab.app.pages.sanity.controls import question
from explainlab.app.pages.sanity.main import AXIOMS, STABILITY
from explainlab.app.pages.sanity.view import SanityView
from explainlab.app.text import plain
from explainlab.attribution.registry import label_of
from explainlab.figures.chart import Chart
from explainlab.service.service import Service

_AXIOMS_HELP = (
    "What a map must fulfil, on functions made of this very model so that the right answer is known: a word that the "
    "function does not read must score nothing, equal words must score the same. Press The numbers for the reasons."
)
_STABILITY_HELP = (
    "Every text is explained again: with its embeddings moved a little, with typos and near words. Infidelity asks "
    "whether sums of scores foretell what masking those words does."
)


def draw_stability(service: Service, view: SanityView) -> None:
    """Whether maps hold for texts that are nearly the same."""
    st.header("Stability", anchor=False, help=_STABILITY_HELP)
    result = draw_asked(service, STABILITY, "Explain again", view.stability_request)
    if result is not None:
        cells = once(result, heat_cells, result.body, "faithfulness", *view.stability_cell, theme() == "dark")
        table = once(result, heat_table, result.body)
        _draw_cells(table, cells, "stability_cell", view.stability_cell, ("method", "metric"))


def draw_axioms(service: Service, view: SanityView) -> None:
    """Which axioms the maps fulfil on this model."""
    st.header("Axioms", anchor=False, help=_AXIOMS_HELP)
    result = draw_asked(service, AXIOMS, "Try the axioms", view.axioms_request)
    if result is not None and is_narrow():
        st.dataframe(pd.DataFrame(_answers(result.body)), hide_index=True, height="content")
    elif result is not None:
        cells = once(result, _axiom_cells, result, *view.axioms_cell, theme() == "dark")
        (chart,) = once(result, charts, result)
        _draw_cells(chart, cells, "axioms_cell", view.axioms_cell, ("method", "axiom"))


def _draw_cells(chart: Chart, cells: dict[str, Any], name: str, picked: tuple[str, str], keys: tuple[str, str]) -> None:
    """A matrix whose cells can be pressed; below it what is behind the one that was."""

    def open_cell(cell: dict[str, Any]) -> None:
        question.set(name, tuple(cell[key] for key in keys))

    draw_cells(chart, cells, f"sanity_{name}", picked, open_cell, "Press a cell to read what is behind it.")
    rows = [row for row in next(iter(cells["datasets"].values())) if tuple(row[key] for key in keys) == picked]
    if rows:
        st.info(plain(rows[0]["hover"]), icon=":material/ads_click:")


def _axiom_cells(result: AnalysisResult[AxiomsData], method: str, axiom: str, dark: bool) -> dict[str, Any]:
    return answer_cells(result.body.rows, method, axiom, dark)


def _answers(body: AxiomsData) -> list[dict[str, str]]:
    """The answers in words, a row an axiom and a column a method: six columns are too many for a phone."""
    return [
        {
            "Axiom": axiom.replace("_", " "),
            **{label_of(row.method): answer_words(row) for row in body.rows if row.axiom == axiom},
        }
        for axiom in dict.fromkeys(row.axiom for row in body.rows)
    ]
