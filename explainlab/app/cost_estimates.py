"""The cost estimate beside a button: passes and time of what it asks; see :mod:`explainlab.service.cost_estimates`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from explainlab.app import links, session
from explainlab.app.data_set import is_there
from explainlab.app.place import resolved
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service.cost_estimates import CostEstimate, estimate_costs, total, with_seconds
from explainlab.service.file_tasks import FileTask
from explainlab.service.limits import require_answerable
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.service import Service

_MOST = 20
"""The most questions that have an estimate together."""
_POLL_SECONDS = 0.4


def draw_cost_estimate(service: Service, make: Callable[[], Sequence[Request]], texts: int | None = None) -> None:
    """Draw the cost of the requests of ``make`` that are neither stored nor in the queue.

    ``texts`` is the number of explained texts, where a question selects some of a data set. Draws nothing where the
    cost is not known, or no request is left. A refused request is explained elsewhere, or on submit.
    """
    user = session.user()
    try:
        asked = [one for request in make() if _is_new(service, one := resolved(request))]
        for one in asked:
            require_answerable(one.request)
        if not asked or len(asked) > _MOST:
            return
        task = estimate_costs(asked, user, texts)
    except ExplainLabError:
        return
    if is_there(task):
        _draw(service, asked, task)
    else:
        st.fragment(_await, run_every=_POLL_SECONDS)(task)


def _is_new(service: Service, asked: ResolvedRequest) -> bool:
    """Tell if there is neither a result nor a job that makes it."""
    job = service.job(asked)
    return not (service.has(asked) or (job is not None and not job.progress.finished))


def _await(task: FileTask[tuple[CostEstimate, ...]]) -> None:
    """Run the page again when ``task`` ends: a fragment would go on polling."""
    if task.ended:
        links.rerun()


def _draw(service: Service, asked: Sequence[ResolvedRequest], task: FileTask[tuple[CostEstimate, ...]]) -> None:
    try:
        estimates = task.answer()
    except ExplainLabError:  # shown on submit
        return
    if len(estimates) == len(asked):
        pairs = zip(estimates, asked, strict=True)
        estimate = total([with_seconds(own, one.request, service.paces) for own, one in pairs])
        st.caption(plain(estimate.words), help=plain(estimate.meaning))
