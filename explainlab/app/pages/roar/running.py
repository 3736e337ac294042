"""A grid that is not finished: its models and its curves, which grow by themselves while it trains."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explainlab.analyses.roar.figures import curves
from explainlab.analyses.roar.result import NodeFacts, RoarData
from explainlab.analyses.roar.verdict import is_random
from explainlab.analyses.wording import counted
from explainlab.app.once import once
from explainlab.app.pages.roar.results import draw_failures, draw_models
from explainlab.app.progress import GO_ON, finished_so_far
from explainlab.app.text import plain
from explainlab.service.jobs import Job

_EVERY = 3.0  # seconds
_PAUSE = "**Pause** stops after this batch. Models that are trained stay, also when the server stops; it goes on later."
_MEANS = "Means are over the seeds that are there, and what is told apart follows at the end."


def draw_so_far(job: Job) -> None:
    """What is known of the answer of ``job`` now, drawn anew every few seconds; nothing is trained for it."""
    st.caption(_PAUSE)
    st.fragment(_draw, run_every=_EVERY)(job)


def draw_paused(body: RoarData, go_on: Callable[[], None] | None) -> None:
    """What was trained of a grid before it was stopped; ``go_on`` trains the rest (None: a button above does)."""
    with st.container(horizontal=True, vertical_alignment="center"):
        left = sum(node.status in ("waiting", "running") for node in _distinct(body))
        goes_on = f"**{GO_ON}** trains only the {counted(left, 'model')} that {'is' if left == 1 else 'are'} left."
        st.info(f"**Paused: {_done(body)}.** {goes_on} {_MEANS}", icon=":material/pause_circle:")
        if go_on is not None:
            st.button(GO_ON, type="primary", icon=":material/play_arrow:", on_click=go_on, key="roar_go_on")
    _draw_known(body)


def _draw(job: Job) -> None:
    result = finished_so_far(job)
    if result is None:
        st.skeleton(height=320)
        return
    st.info(f"**Unfinished: {_done(result.body)} so far.** {_MEANS}", icon=":material/hourglass_top:")
    _draw_known(result.body)


def _done(body: RoarData) -> str:
    models = _distinct(body)
    return f"{sum(node.status == 'done' for node in models):,} of {counted(len(models), 'model')}"


def _distinct(body: RoarData) -> list[NodeFacts]:
    """The models: at the first ratio Recursive ROAR and ROAR share theirs."""
    both, first = len(body.recursive) > 1, body.ratios[1]
    shared = [both and not (node.recursive or is_random(body, node.measure)) for node in body.nodes]
    return [node for node, own in zip(body.nodes, shared, strict=True) if not (own and node.ratio == first)]


def _draw_known(body: RoarData) -> None:
    """Why models failed, the curves of those that are there, and which these are."""
    draw_failures(body)
    for place, kind in zip(st.columns(len(body.recursive), gap="large"), body.recursive, strict=True):
        chart = once(body, curves, body, kind)
        place.markdown(f"**{plain(chart.title)}, unfinished**")
        place.plotly_chart(chart.figure, key=f"unfinished_{chart.name}", config=chart.config, alt=chart.alt)
    draw_models(body, "unfinished", exports=False)
