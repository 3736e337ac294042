"""The cost estimate beside a button: passes, memory and time; see :mod:`explainlab.service.plans`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from explainlab.app import links, session
from explainlab.app.data_set import is_there
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import CompleteRequest, Request
from explainlab.service.looks import Look
from explainlab.service.plans import making
from explainlab.service.plans.plan import Plan, together
from explainlab.service.plans.rehearsal import Place
from explainlab.service.questions import asked_by
from explainlab.service.service import Service

_MOST = 20
"""No plan is made of more questions at once."""
_POLL_SECONDS = 0.4


def draw_plan(service: Service, make: Callable[[], Sequence[Request]], texts: int | None = None) -> None:
    """Draw the cost of the requests of ``make`` that have neither a result nor a job.

    ``texts`` is the number of explained texts, where a question selects some of a data set. An unknown cost draws
    nothing, nor does an empty list. Refused requests are reported elsewhere, or on submit.
    """
    user = session.user()
    try:
        asked = [asked_by(request, user) for request in make() if _is_new(service, request)]
        for request in asked:
            service.require(request, user)
        if not asked or len(asked) > _MOST:
            return
        worker = service.workers[0]
        look = making.look(asked, Place(worker.device, worker.free_bytes), user, texts)
    except ExplainLabError:
        return
    if is_there(look):
        _draw(service, asked, look)
    else:
        st.fragment(_await, run_every=_POLL_SECONDS)(look)


def _is_new(service: Service, request: Request) -> bool:
    """Return True if there is neither a result nor a job that makes it."""
    user = session.user()
    job = service.job(request, user)
    return not (service.has(request, user) or (job is not None and not job.progress.finished))


def _await(look: Look[tuple[Plan, ...]]) -> None:
    """The page runs again when ``look`` ends: a fragment would go on asking."""
    if look.ended:
        links.rerun()


def _draw(service: Service, asked: Sequence[CompleteRequest], look: Look[tuple[Plan, ...]]) -> None:
    try:
        plans = look.answer()
    except ExplainLabError:  # shown on submit
        return
    if len(plans) == len(asked):
        pairs = zip(plans, asked, strict=True)
        plan = together([making.timed(own, request, service.paces) for own, request in pairs])
        st.caption(plain(plan.words), help=plain(plan.meaning))
