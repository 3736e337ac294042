"""The answer: in words, and as tables of methods by metrics whose cells list their texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.heat_table import heat_cells, heat_table
from explainlab.analyses.evaluation.latex import latex
from explainlab.analyses.evaluation.page.controls import open_cell
from explainlab.analyses.evaluation.page.sections import draw_agreement, draw_all, draw_by_metric
from explainlab.analyses.evaluation.page.texts import draw_cell
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.table import MetricTable, kinds_of, table_of
from explainlab.analyses.evaluation.truth import TITLES, Kind, meaning, withheld
from explainlab.analyses.evaluation.verdict import overview, paragraphs, shown_name
from explainlab.analyses.registry import get_analysis
from explainlab.app.chart import draw_cells, theme
from explainlab.app.components import is_narrow
from explainlab.app.data.masked import draw_masked_line
from explainlab.app.once import once
from explainlab.app.page import draw_words
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.figures.matrix import shade
from explainlab.service.service import Service

_TABLE_HELP = (
    "Press a cell to see the texts behind it; the boxes below do the same. An arrow says which way is better. Random "
    "maps and every method's scores with the opposite sign are there to compare with."
)


def draw_answer(result: AnalysisResult[EvaluationData]) -> None:
    """Draw the answer: the methods that each metric tells apart, the best one beside random, and the cost of each."""
    report = get_analysis(result.request.question).report(result)
    draw_words(overview(result.body), result, lambda: report.lines, paragraphs(result.body))


def draw_results(service: Service, view: BenchmarkView, result: AnalysisResult[EvaluationData]) -> None:
    """Everything below the answer in words."""
    if words := withheld(result.body):
        st.warning(plain(words), icon=":material/rule:")
    if not result.body.rows:
        return
    for kind in kinds_of(result.body):
        _draw_table(view, result, kind)
    draw_masked_line(service, result.request, (), "benchmark")
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
        st.caption(f"{plain(meaning(result.body, kind))}{_without_rationale(result.body)}")
    picked = view.cell_method, view.cell_metric
    draw_cells(
        once(result, heat_table, result.body, kind),
        once(result, heat_cells, result.body, kind, *picked, theme() == "dark"),
        f"benchmark_{kind}",
        picked,
        lambda cell: open_cell(cell["method"], cell["metric"]),
        explained(_TABLE_HELP, "interval", "random-map"),
        [("LaTeX", lambda: latex(result), "table.tex", "application/x-tex")],
    )
    label = f"{TITLES[kind]}, to sort and for the keyboard"
    sorting = st.expander(label, icon=":material/table:", key=f"benchmark_{kind}_sorted", on_change="rerun")
    if sorting.open:
        with sorting:
            _draw_sorted(table_of(result.body, kind), picked)


def _draw_sorted(table: MetricTable, picked: tuple[str, str]) -> None:
    """The means as a table through which the arrow keys go; a cell that is reached lists its texts."""
    names, labels = [*table.methods, *table.controls], [fact.directed_label for fact in table.metrics.values()]
    asked, key = list(table.metrics), f"benchmark_{table.kind}_table"

    def reached() -> None:
        for row, column in st.session_state[key].selection.cells:
            if column in labels:
                open_cell(names[row], asked[labels.index(column)])

    means = [[table.cells[name, metric].mean for metric in asked] for name in names]
    shades = [[_shade(table.share(name, metric)) for metric in asked] for name in names]
    frame = pd.DataFrame(means, index=pd.Index(map(shown_name, names), name="Method"), columns=labels, dtype=float)
    cells = [(names.index(picked[0]), labels[asked.index(picked[1])])] if picked in table.cells else []
    st.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": cells}}
    st.dataframe(
        frame.style.apply(lambda _: pd.DataFrame(shades, frame.index, frame.columns), axis=None),
        height="content",
        key=key,
        on_select=reached,
        selection_mode="single-cell",
        column_config=_columns(labels),
        alt=f"{TITLES[table.kind]}: a method a row, a metric a column.",
    )


def _columns(labels: Sequence[str]) -> dict[str, Any]:
    """How the columns are written; on a phone they are narrow, so that a method stands beside its values."""
    names, numbers = (130, 90) if is_narrow() else (None, None)
    columns: dict[str, Any] = {label: st.column_config.NumberColumn(format="%.3f", width=numbers) for label in labels}
    return {"Method": st.column_config.Column(width=names), **columns}


def _shade(share: float | None) -> str:
    """The colour of a cell, as in the drawing of the table."""
    return f"background-color: {shade(share or 0.0)}"


def _without_rationale(body: EvaluationData) -> str:
    """How many texts were left out, as nothing can be compared; empty for none."""
    left_out = str(body.rationales or "")
    return f" Left out: {left_out}." if left_out else ""
