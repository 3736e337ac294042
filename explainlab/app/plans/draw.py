"""What a question will take, beside its button: passes, memory and time; see :mod:`explainlab.service.plan`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from explainlab.analyses.wording import counted, duration
from explainlab.app import session
from explainlab.app.data.reading import is_there
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import CompleteRequest, Request
from explainlab.service import plan as planning
from explainlab.service.looks import Look
from explainlab.service.plan import Place, Plan
from explainlab.service.questions import asked_by
from explainlab.service.service import Service

_MOST = 20
"""No plan is made of more questions at once."""
_POLL_SECONDS = 0.4
_BASES = {
    "question": "from {runs} of these settings on this kind of device",
    "model": "from this model's speed in {runs} of other settings on this kind of device",
    "unknown": "no earlier run on this kind of device tells it",
}


def draw_plan(service: Service, make: Callable[[], Sequence[Request]]) -> None:
    """Draw what those of the requests of ``make`` take that are neither stored nor being answered.

    Nothing where that is not known, or none is left. What is refused is told elsewhere, or when it is asked.
    """
    user = session.user()
    try:
        asked = [asked_by(request, user) for request in make() if _is_new(service, request)]
        for request in asked:
            service.require(request, user)
        if not asked or len(asked) > _MOST:
            return
        worker = service.workers[0]
        look = planning.look(asked, Place(worker.device, worker.free_bytes), user)
    except ExplainLabError:
        return
    there = is_there(look)
    st.fragment(_draw, run_every=None if there else _POLL_SECONDS)(service, asked, look)


def _is_new(service: Service, request: Request) -> bool:
    """Whether there is neither a result nor a job that makes it."""
    user = session.user()
    job = service.job(request, user)
    return not (service.has(request, user) or (job is not None and not job.progress.finished))


def plan_words(plan: Plan) -> str:
    """``plan`` in a line, plain text."""
    amount = "" if plan.exact else "about " if plan.about else "at most "
    passes = counted(max(1, round(plan.passes)), "pass")
    passes = f"{passes}es" if passes.endswith("passs") else passes
    batch = "one at a time" if plan.batch == 1 else f"in batches of {plan.batch:,}"
    line = f"{amount}{passes} {batch}, {_size(plan.peak)} beside the model, {_time(plan)}"
    return f"{line[0].upper()}{line[1:]}."


def plan_help(plan: Plan) -> str:
    """What the numbers of ``plan`` mean and where they come from, plain text."""
    about = "" if plan.texts == 1 else f" The {plan.texts:,} texts are taken to be as long as the first."
    basis = _BASES[plan.basis].format(runs=counted(plan.runs, "earlier run"))
    return (
        f"Passes: {round(plan.forward):,} forward, {round(plan.backward):,} back through the model, each of one text; "
        "what is stored already is not computed again. Memory: the most that the tensors of a batch take at once, by "
        f"their shapes, beside the model's {_size(plan.model)}; the allocator of the system may keep more. "
        f"Time: {basis}; loading the model is not counted.{about}"
    )


def _draw(service: Service, asked: Sequence[CompleteRequest], look: Look[tuple[Plan, ...]]) -> None:
    if not look.ended:
        return
    try:
        plans = look.answer()
    except ExplainLabError:  # told when it is asked
        return
    if len(plans) == len(asked):
        pairs = zip(plans, asked, strict=True)
        plan = planning.together([planning.timed(own, request, service.paces) for own, request in pairs])
        st.caption(plain(plan_words(plan)), help=plain(plan_help(plan)))


def _time(plan: Plan) -> str:
    if plan.seconds is None:
        return "time not known yet"
    return "under 1 s" if plan.seconds < 1 else f"about {duration(plan.seconds)}"


def _size(size: float) -> str:
    """So many bytes, in MB or GB."""
    return f"{max(1, round(size / 1e6)):,} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
