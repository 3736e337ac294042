"""A grid that still trains: its models and its curves, which grow by themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.roar.figures import curves
from explainlab.analyses.roar.page.results import draw_failures, draw_models
from explainlab.analyses.roar.result import RoarData
from explainlab.app.text import plain
from explainlab.service.jobs import Job

_EVERY = 3.0  # seconds


@lru_cache(maxsize=4)
def _known(so_far: Callable[[], AnalysisResult[RoarData]], percent: int) -> RoarData:
    """What ``so_far`` makes, once for every ``percent`` of the job: its intervals take a moment."""
    return so_far().body


def draw_so_far(job: Job) -> None:
    """What is known of the answer of ``job`` now, drawn anew every few seconds; nothing is trained for it."""
    st.fragment(_draw, run_every=_EVERY)(job)


def _draw(job: Job) -> None:
    if job.so_far is None:  # it has not begun, or has just ended
        st.skeleton(height=320)
        return
    body = _known(job.so_far, round(100 * job.progress.share))
    done = sum(node.status == "done" for node in body.nodes)
    st.info(
        f"**Unfinished: {done:,} of {len(body.nodes):,} models so far.** Means are over the seeds that are there, and "
        "what is told apart follows at the end.",
        icon=":material/hourglass_top:",
    )
    draw_failures(body)
    for place, kind in zip(st.columns(len(body.recursive), gap="large"), body.recursive, strict=True):
        chart = curves(body, kind)
        place.markdown(f"**{plain(chart.title)}, unfinished**")
        place.plotly_chart(chart.figure, key=f"unfinished_{chart.name}", config=chart.config, alt=chart.alt)
    draw_models(body, "unfinished", exports=False)
