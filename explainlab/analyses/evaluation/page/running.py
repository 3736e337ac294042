"""A benchmark that still runs: the table of the texts that are finished, which fills by itself."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from explainlab.analyses.evaluation.heat_table import heat_cells, heat_table
from explainlab.analyses.evaluation.table import kinds_of
from explainlab.app.chart import theme
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
    done, total = job.progress.done, job.progress.total
    tables = _tables(job, done, theme() == "dark") if job.so_far is not None and done <= _MOST else ()
    if not tables:
        st.skeleton(height=320)
        return
    st.info(
        f"**Unfinished: {done:,} of {total:,} texts so far.** The means change until all are there; what is told apart "
        "follows then.",
        icon=":material/hourglass_top:",
    )
    for chart, cells in tables:
        st.markdown(f"**{plain(chart.title)}**")
        st.vega_lite_chart(cells, key=f"unfinished_{chart.name}", alt=chart.alt)
        for note in chart.notes:
            st.caption(plain(note))


@lru_cache(maxsize=4)
def _tables(job: Job, done: int, dark: bool) -> tuple[tuple[Chart, dict[str, Any]], ...]:
    """The table and how it is drawn, once ``done`` texts of ``job`` are finished; none if it has ended.

    What a comparison with rationales is worth is known at the end.
    """
    so_far = job.so_far
    if so_far is None:
        return ()
    result = so_far()
    if result is None:
        return ()
    body = result.body
    known = [kind for kind in kinds_of(body) if kind == "faithfulness"]
    return tuple((heat_table(body, kind), heat_cells(body, kind, dark=dark)) for kind in known)
