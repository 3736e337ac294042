"""What the Explain page shows and why: links, the view asked for, results from the store, and jobs for the rest."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explainlab.analyses.explain.page import beliefs, controls
from explainlab.analyses.explain.page.trust import give_up_others
from explainlab.analyses.explain.page.view import View, first_view
from explainlab.app import links, session
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method
from explainlab.errors import ExplainLabError
from explainlab.models.loading import ModelCard
from explainlab.service.jobs import Job
from explainlab.service.service import Service


@dataclass(frozen=True)
class Answers:
    """What is there for a view: results in the order of its methods, unfinished or failed jobs, refused methods."""

    results: list[Attribution]
    jobs: list[Job]
    unsupported: list[str]


def open_view(service: Service) -> None:
    """Bring the controls to the link's view when one is followed, else to the view last asked, else to the first.

    Limits and choices are checked by the browser alone: controls that hold anything else are told of and set back.
    """
    view = links.follow(service, controls.PAGE, View)
    if view is not None:
        session.ask(service, controls.PAGE, view)
        controls.seed_controls(view, force=True)
    if session.asked(controls.PAGE) is None:
        session.ask(service, controls.PAGE, first_view())
    controls.seed_controls(session.asked(controls.PAGE))
    try:
        controls.draft().requests()
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        controls.seed_controls(session.asked(controls.PAGE), force=True)


def ask_draft(service: Service) -> None:
    """Make what the controls say the view that is shown (a callback: errors are told by the page that follows)."""
    try:
        session.ask(service, controls.PAGE, controls.draft())
    except ExplainLabError:
        return


def settle(service: Service) -> View:
    """The view to show: the one asked for, drawn as the controls say; the controls' own if all of it is known.

    Where the controls have moved on, a line says that the answer shown is not theirs yet.
    """
    asked = session.asked(controls.PAGE)
    try:
        draft = controls.draft()
        if draft.asks_the_same(asked):
            return draft
        if draft.methods and all(service.find(request, session.user()) is not None for request in draft.requests()):
            session.ask(service, controls.PAGE, draft)
            return draft
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return asked
    st.caption(":material/edit: The controls have changed; press **Explain** to ask again.")
    return asked.model_copy(update={"palette": draft.palette, "scale": draft.scale})


def collect(service: Service, view: View, card: ModelCard | None) -> Answers:
    """Results from the store, and a job for each one missing. Raises what makes the whole view impossible."""
    answers, requests = Answers([], [], []), view.requests()
    give_up_others(service, requests)
    beliefs.give_up_others(service, requests)
    for request in requests:
        unsupported = get_method(request.question).unsupported(card.architecture) if card else ""
        if unsupported:
            answers.unsupported.append(unsupported)
            continue
        result = session.find(service, controls.PAGE, request)
        if result is not None:
            answers.results.append(result)
            continue
        session.submit_once(service, controls.PAGE, request)
        job = service.job(request, session.user())
        if job is not None and job.progress.status == "done":  # between the two questions
            answers.results.append(job.result)
        elif job is not None:
            answers.jobs.append(job)
    return answers


def link(service: Service, view: View) -> str:
    """The whole link that reopens ``view``: see :func:`explainlab.app.links.share`."""
    return links.share(service, controls.PAGE, view)
