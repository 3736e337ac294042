"""What a question will take, beside its button: passes, memory and time; see :mod:`explainlab.service.plans`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from explainlab.app import links, session
from explainlab.app.data_set import is_there
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service.limits import require_answerable
from explainlab.service.looks import Look
from explainlab.service.plans import making
from explainlab.service.plans.plan import Plan, together
from explainlab.service.plans.rehearsal import Place
from explainlab.service.resolved import ResolvedRequest, resolve
from explainlab.service.service import Service

_MOST = 20
"""No plan is made of more questions at once."""
_POLL_SECONDS = 0.4


def draw_plan(service: Service, make: Callable[[], Sequence[Request]], texts: int | None = None) -> None:
    """Draw what those of the requests of ``make`` take that are neither stored nor being answered.

    ``texts``: so many are explained, where a question selects some of a data set. Nothing is drawn where that is not
    known, or no request is left. What is refused is told elsewhere, or when it is asked.
    """
    user = session.user()
    try:
        asked = [one for request in make() if _is_new(service, one := resolve(request, user))]
        for one in asked:
            require_answerable(one.request)
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


def _is_new(service: Service, asked: ResolvedRequest) -> bool:
    """Tell if there is neither a result nor a job that makes it."""
    job = service.job(asked)
    return not (service.has(asked) or (job is not None and not job.progress.finished))


def _await(look: Look[tuple[Plan, ...]]) -> None:
    """The page runs again when ``look`` ends: a fragment would go on asking."""
    if look.ended:
        links.rerun()


def _draw(service: Service, asked: Sequence[ResolvedRequest], look: Look[tuple[Plan, ...]]) -> None:
    try:
        plans = look.answer()
    except ExplainLabError:  # told when it is asked
        return
    if len(plans) == len(asked):
        pairs = zip(plans, asked, strict=True)
        plan = together([making.timed(own, one.request, service.paces) for own, one in pairs])
        st.caption(plain(plan.words), help=plain(plan.meaning))
