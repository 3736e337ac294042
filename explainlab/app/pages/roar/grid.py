"""The grid of the ROAR page: the one that was asked for, how long it takes, and what it shows while it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study
from explainlab.analyses.roar.figures import curves
from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.result import NodeFacts, RoarData
from explainlab.analyses.roar.verdict import is_random
from explainlab.analyses.roar_estimate.result import RoarEstimate
from explainlab.analyses.wording import capital, counted, duration
from explainlab.app import session
from explainlab.app.cached import cached_for
from explainlab.app.page import AnalysisPage, Pressed, cells_words
from explainlab.app.pages.roar import form
from explainlab.app.pages.roar.form import RoarView, first_view, shows
from explainlab.app.pages.roar.page import draw_failures, draw_models
from explainlab.app.place import Answer, PageState, Requests
from explainlab.app.progress import GO_ON, finished_so_far
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.resolved import resolve, set_key
from explainlab.service.service import Service

PAGE = AnalysisPage(
    form.NAME,
    question=form.question,
    record=RoarView,
    first=first_view,
    seed=form.seed_controls,
    draft=form.draft,
    button="Train the grid",
    drawn=("minutes", "example", "by", "on"),
    shows=shows,
)
GRID = Pressed("roar.grid", PAGE)
"""The grid that a press has asked for: opening a link trains no model."""


def answer(service: Service, view: RoarView) -> Answer | None:
    """The grid that ``view`` describes, the job that trains it, or None: neither is there."""
    return GRID.answer_if_requested(service, view.request())


def answer_set(service: Service, view: RoarView) -> list[Answer]:
    """The grids of all cells of ``view``; what is not there is trained only where a press has asked for these cells."""
    requests = view.requests()
    try:
        job = service.engine.job(set_key([resolve(request, session.user()) for request in requests]))
    except ExplainLabError as error:
        return [Answer(problem=str(error))] * len(requests)
    asked = GRID.view is not None and GRID.view.requests() == requests
    if not asked and job is not None and session.user() in job.users and not job.progress.finished:
        GRID.ask(service, view, record=False)  # the page may have been loaded anew
        asked = True
    return GRID.answer_set(service, requests) if asked else [_stored(service, request) for request in requests]


def is_stale(view: RoarView) -> bool:
    """Whether the controls describe other grids than ``view``, which is shown."""
    return bool(PAGE.draft().requests() != view.requests())


def size_words() -> str:
    """How many models the controls ask for, in Markdown; empty where they describe no grid."""
    try:
        view = PAGE.draft()
        request = view.request()
        parameters = form.parameters(request)
    except ExplainLabError:  # told where the grid is asked for
        return ""
    grid, measures = Grid(parameters, request.seed), counted(len(parameters.requests), "measure")
    shared, models = len(grid.steps), counted(grid.distinct, "model")
    words = (
        f"**{models} to train**: {counted(parameters.seeds, 'seed')}, each with {shared} of random words, which all "
        f"measures share, and {grid.distinct // parameters.seeds - shared} of {measures}. What is trained stays."
    )
    same = " The test texts are the training texts: performance is not that on unseen texts."
    return words + cells_words(view) + (same if request.data == request.parameters["test"] else "")


def _stored(service: Service, request: Request) -> Answer:
    try:
        return Answer(service.find(resolve(request, session.user())))
    except ExplainLabError as error:
        return Answer(problem=str(error))


TIME = PageState("roar.time")
"""The estimate that a press has asked for."""
_MOST_SMALLER = 6


def ask_time(service: Service) -> None:
    """Time an epoch and the measures of the controls (a callback); the next run says what is wrong with them."""
    with suppress(ExplainLabError):
        TIME.ask(service, Requests((PAGE.draft().time_request(),)), record=False)


def draw_time(service: Service) -> None:
    """The estimate for the controls, if it was asked for or is known."""
    try:
        view = PAGE.draft()
        answer = TIME.answer_if_requested(service, view.time_request())
    except ExplainLabError:  # told where the grid is asked for
        return
    if answer is not None:
        TIME.draw_state(service, [answer])
        if answer.result is not None:
            _draw_time(answer.result)
            if len(view.cells) > 1:
                st.caption(f"This is the first of {len(view.cells)} cells.")


def _draw_time(result: AnalysisResult[RoarEstimate]) -> None:
    st.info(plain(get_study(result.request.question).report(result).headline), icon=":material/timer:")
    if result.body.smaller:
        rows = [{"Grid": capital(own.changed), "Time": duration(own.seconds)} for own in result.body.smaller]
        smaller = st.expander("Smaller grids", icon=":material/compress:", key="roar_smaller", on_change="rerun")
        if smaller.open:
            alt = "What smaller grids take, the longest first."
            smaller.dataframe(pd.DataFrame(rows[:_MOST_SMALLER]), hide_index=True, alt=alt)


_EVERY = 3.0  # seconds
_PAUSE = "**Pause** stops after this batch. Models that are trained stay, also when the server stops; it goes on later."
_MEANS = "Means are over the seeds that are there, and what is told apart follows at the end."


def draw_so_far(job: Job) -> None:
    """What is known of the answer of ``job`` now, drawn anew every few seconds; nothing is trained for it."""
    st.caption(_PAUSE)
    st.fragment(_draw_running, run_every=_EVERY)(job)


def draw_paused(body: RoarData, go_on: Callable[[], None] | None) -> None:
    """What was trained of a grid before it was stopped; ``go_on`` trains the rest (None: a button above does)."""
    with st.container(horizontal=True, vertical_alignment="center"):
        left = sum(node.status in ("waiting", "running") for node in _distinct(body))
        goes_on = f"**{GO_ON}** trains only the {counted(left, 'model')} that {'is' if left == 1 else 'are'} left."
        st.info(f"**Paused: {_done(body)}.** {goes_on} {_MEANS}", icon=":material/pause_circle:")
        if go_on is not None:
            st.button(GO_ON, type="primary", icon=":material/play_arrow:", on_click=go_on, key="roar_go_on")
    _draw_known(body)


def _draw_running(job: Job) -> None:
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
        chart = cached_for(body, curves, body, kind)
        place.markdown(f"**{plain(chart.title)}, unfinished**")
        place.plotly_chart(chart.figure, key=f"unfinished_{chart.name}", config=chart.config, alt=chart.alt)
    draw_models(body, "unfinished", exports=False)
