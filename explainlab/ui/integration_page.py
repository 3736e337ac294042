"""What the Integration page shows and why: links, the view asked for, results from the store, jobs for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from explainlab.compute.jobs import Job
from explainlab.compute.service import Service
from explainlab.errors import ExplainLabError
from explainlab.studies.registry import evaluations
from explainlab.studies.study import StudyRequest
from explainlab.ui import integration_controls as controls
from explainlab.ui import links, session
from explainlab.ui.integration_controls import PAGE
from explainlab.ui.integration_view import IntegrationView, first_view
from explainlab.ui.text import plain

STALE = ":material/edit: The controls have changed; press **{button}** to ask again."


@dataclass(frozen=True)
class Answer:
    """One request's result, or the job that works on it, or why there can be none."""

    result: Any | None = None
    job: Job | None = None
    problem: str = ""


def open_view(service: Service) -> None:
    """Bring the controls to the link's view when one is followed, else to the view last asked, else to the first."""
    view = links.follow(service, PAGE, IntegrationView)
    if view is not None:
        session.ask(service, PAGE, view)
        controls.seed_controls(view, force=True)
    if session.asked(PAGE) is None:
        session.ask(service, PAGE, first_view())
    controls.seed_controls(session.asked(PAGE))
    try:
        controls.draft()
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        controls.seed_controls(session.asked(PAGE), force=True)


def ask_text(service: Service) -> None:
    """Ask about the text (a callback); the data set stays while its results belong to the same model and setting."""
    asked = session.asked(PAGE)
    draft = _draft()
    if draft is not None:
        keeps = draft.same_setting(asked)
        session.ask(service, PAGE, draft.model_copy(update={"data": asked.data if keeps else None}))


def ask_data(service: Service) -> None:
    """Ask about the data set as well (a callback)."""
    draft = _draft(with_data=True)
    if draft is not None and draft.data.source:
        session.ask(service, PAGE, draft)


def open_text(service: Service, text: str, pair: str | None = None) -> None:
    """Put a text of the data set into the section above and ask about it (a callback)."""
    controls.question.set("text", text)
    controls.question.set("pair_on", pair is not None)
    controls.question.set("pair", pair or "")
    ask_text(service)


def settle(service: Service) -> IntegrationView:
    """The view to show: what was asked, drawn as the controls say; where all of it is known, what the controls say."""
    asked = session.asked(PAGE)
    try:
        draft = controls.draft()
        known = draft.text_requests() == asked.text_requests() or _all_known(service, draft.text_requests())
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return asked
    if not known:
        st.caption(STALE.format(button="Integrate"))
    view = draft if known else asked.model_copy(update={"palette": draft.palette})
    data = asked.data if view.same_setting(asked) else None
    if draft.data.source and view.same_setting(draft) and _known(service, draft.data_request()):
        data = draft.data
    view = view.model_copy(update={"data": data})
    if view != asked:
        session.ask(service, PAGE, view)
    return view


def answer(service: Service, request: StudyRequest) -> Answer:
    """The stored result, else the job for it, which is queued if there is none yet."""
    try:
        result = service.find(request)
        if result is not None:
            return Answer(result=result)
        session.submit_once(service, PAGE, request)
        job = service.job(request)
        if job is not None and job.progress.status == "done":  # between the two questions
            return Answer(result=service.find(request))
        return Answer(job=job)
    except ExplainLabError as error:
        return Answer(problem=str(error))


def pace(*answers: Answer) -> float | None:
    """Seconds that one gradient took at best in these answers (the first one may have had to wait); None if unknown."""
    costs = [answer.result.cost for answer in answers if answer.result is not None]
    return min((cost.seconds / cost.backward for cost in costs if cost.backward), default=None)


def link(service: Service, view: IntegrationView) -> str:
    """The whole link that reopens ``view``: see :func:`explainlab.ui.links.share`."""
    return links.share(service, PAGE, view)


def _draft(with_data: bool = False) -> IntegrationView | None:
    """What the controls say; None where the page that follows tells what is wrong with them."""
    try:
        draft = controls.draft()
        for request in draft.requests() if with_data else draft.text_requests():
            evaluations(request)
        return draft
    except ExplainLabError:
        return None


def _all_known(service: Service, requests: Iterable[StudyRequest]) -> bool:
    return all(service.find(request) is not None for request in requests)


def _known(service: Service, request: StudyRequest) -> bool:
    """Whether the data set's result is there; a request that can have none is told of below its controls."""
    try:
        return service.find(request) is not None
    except ExplainLabError:
        return False
