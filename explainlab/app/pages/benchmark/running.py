"""A benchmark that still runs: the table of the texts that are finished, which fills by itself."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.heat_table import heat_cells, heat_table
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.table import kinds_of
from explainlab.app.chart import theme
from explainlab.app.once import once
from explainlab.app.progress import finished_so_far
from explainlab.app.text import plain
from explainlab.figures.chart import Chart
from explainlab.service.jobs import Job

_EVERY = 2.0  # seconds
_MOST = 5_000
"""The statistics of more texts than these would take longer than a reader waits."""


def draw_so_far(job: Job) -> None:
    """What is known of the answer of ``job`` now, drawn anew every two seconds; nothing is computed for it."""
    st.fragment(_draw, run_every=_EVERY)(job)


def _draw(job: Job) -> None:
    result = finished_so_far(job) if job.progress.done <= _MOST else None
    tables = () if result is None else once(result, _tables, result, theme() == "dark")
    if result is None or not tables:
        st.skeleton(height=320)
        return
    st.info(
        f"**Unfinished: {result.body.n:,} of {job.progress.total:,} texts so far.** The means change until all are "
        "there; what is told apart follows then.",
        icon=":material/hourglass_top:",
    )
    for chart, cells in tables:
        st.markdown(f"**{plain(chart.title)}**")
        st.vega_lite_chart(cells, key=f"unfinished_{chart.name}", alt=chart.alt)
        for note in chart.notes:
            st.caption(plain(note))


def _tables(result: AnalysisResult[EvaluationData], dark: bool) -> tuple[tuple[Chart, dict[str, Any]], ...]:
    """The table and how it is drawn. What a comparison with rationales is worth is known at the end."""
    body = result.body
    known = [kind for kind in kinds_of(body) if kind == "faithfulness"]
    return tuple((heat_table(body, kind), heat_cells(body, kind, dark=dark)) for kind in known)
