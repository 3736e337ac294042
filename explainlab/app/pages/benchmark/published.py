"""Our numbers beside the published ones: a folded section with the table that fits the benchmark best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.evaluation.published.figure import beside_published, published_latex, published_rows
from explainlab.analyses.evaluation.published.matching import Beside, beside_best
from explainlab.analyses.evaluation.published.papers import paper_tables
from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.app.chart import draw_chart
from explainlab.app.components import is_narrow
from explainlab.app.glossary import explained
from explainlab.app.pages.benchmark.controls import PAGE, keep_known, question
from explainlab.app.sets.cells import drawn
from explainlab.app.text import plain
from explainlab.figures.chart import Chart

_HELP = "Tables of papers in their own layout. The models and the texts are not the same: what differs is said below."


def draw_published(evaluated: EvaluatedSet) -> None:
    """A table of a paper with our numbers from the cells, some of which have a result."""
    key = f"{PAGE}_published_open"
    section = st.expander("Beside the published", icon=":material/menu_book:", key=key, on_change="rerun")
    if not section.open:
        return
    with section:
        tables = paper_tables()
        keep_known("published", list(tables), drawn(evaluated, _best))
        names = {name: f"{table.source}, {table.title}" for name, table in tables.items()}
        question.select("Published table", "published", names, _HELP)
        name = question.now("published")
        beside = _beside(evaluated, name)
        if is_narrow():
            for note in beside.differences:
                st.caption(plain(note))
        else:
            chart = drawn(evaluated, _chart, name)
            files = [("LaTeX", partial(published_latex, beside), f"{chart.name}.tex", "application/x-tex")]
            draw_chart(chart, f"{PAGE}_beside", help=explained(_HELP, "interval"), files=files)
        _draw_table(drawn(evaluated, _rows, name))


def _best(evaluated: EvaluatedSet) -> str:
    return beside_best(evaluated.cells).table.id


def _beside(evaluated: EvaluatedSet, name: str) -> Beside:
    return Beside(paper_tables()[name], evaluated.cells)


def _chart(evaluated: EvaluatedSet, name: str) -> Chart:
    return beside_published(_beside(evaluated, name))


def _rows(evaluated: EvaluatedSet, name: str) -> list[dict[str, Any]]:
    return sorted(published_rows(_beside(evaluated, name)), key=lambda row: row["mean"] is None)


def _draw_table(rows: Sequence[dict[str, Any]]) -> None:
    """The same with a line a number, to sort and for the keyboard; those with a number of ours first."""
    shown = [
        {
            "Method": row["method"],
            "Metric": row["metric"],
            "Published": row["published"],
            "Ours": row["mean"],
            "Low": row["low"],
            "High": row["high"],
            "Model": row["model"],
            "Data": row["data"],
            "To run": row["to_run"] or "",
        }
        for row in rows
    ]
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in ("Published", "Ours", "Low", "High")}
    frame = pd.DataFrame(shown).astype(dict.fromkeys(numbers, float))
    st.dataframe(frame, hide_index=True, column_config={**numbers, "To run": st.column_config.Column(width="large")})
