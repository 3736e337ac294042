"""Our numbers beside the published ones: a folded section with the table that fits the benchmark best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.evaluation.page.controls import PAGE, keep_known, question
from explainlab.analyses.evaluation.published.figure import beside_published, published_latex, published_rows
from explainlab.analyses.evaluation.published.matching import Beside, beside_best
from explainlab.analyses.evaluation.published.papers import paper_tables
from explainlab.analyses.evaluation.sets.records import SetCell
from explainlab.app.chart import draw_chart
from explainlab.app.components import is_narrow
from explainlab.app.words.terms import explained

_HELP = "Tables of papers in their own layout. The models and the texts are not the same: what differs is said below."


def draw_published(cells: Sequence[SetCell]) -> None:
    """A table of a paper with our numbers from ``cells``, which have a result or not."""
    key = f"{PAGE}_published_open"
    section = st.expander("Beside the published", icon=":material/menu_book:", key=key, on_change="rerun")
    if not section.open:
        return
    with section:
        tables = paper_tables()
        keep_known("published", list(tables), beside_best(cells).table.id)
        names = {name: f"{table.source}, {table.title}" for name, table in tables.items()}
        question.select("Published table", "published", names, _HELP)
        beside = Beside(tables[question.now("published")], cells)
        if not is_narrow():
            chart = beside_published(beside)
            files = [("LaTeX", partial(published_latex, beside), f"{chart.name}.tex", "application/x-tex")]
            draw_chart(chart, f"{PAGE}_beside", help=explained(_HELP, "interval"), files=files)
        _draw_table(beside)


def _draw_table(beside: Beside) -> None:
    """The same with a line a number, to sort and for the keyboard; those with a number of ours first."""
    rows = [
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
        for row in sorted(published_rows(beside), key=lambda row: row["mean"] is None)
    ]
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in ("Published", "Ours", "Low", "High")}
    frame = pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))
    st.dataframe(
        frame, hide_index=True, height=320, column_config={**numbers, "To run": st.column_config.Column(width="large")}
    )
