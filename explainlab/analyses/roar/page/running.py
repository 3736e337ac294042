"""A grid that still trains: its models and its curves, which grow by themselves."""

from __future__ import annotations

import streamlit as st

from explainlab.analyses.roar.figures import curves
from explainlab.analyses.roar.page.results import draw_failures, draw_models
from explainlab.analyses.roar.result import RoarData
from explainlab.app.text import plain
from explainlab.service.jobs import Job

_EVERY = 3.0  # seconds


def draw_so_far(job: Job) -> None:
    """What is known of the answer of ``job`` now, drawn anew every few seconds; nothing is trained for it."""
    st.fragment(_draw, run_every=_EVERY)(job)


def _draw(job: Job) -> None:
    so_far = job.so_far
    if so_far is None:  # it has not begun, or has just ended
        st.skeleton(height=320)
        return
    body: RoarData = so_far().body
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
