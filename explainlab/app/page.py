"""What pages that ask studies share: links, the view asked for, results from the store, jobs for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import streamlit as st

from explainlab.analyses.registry import evaluations
from explainlab.app import links, session
from explainlab.app.progress import draw_jobs
from explainlab.app.question import Question
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.service import Service

STALE = ":material/edit: The controls have changed; press **{button}** to ask again."


class StudyView(Protocol):
    """One text, and perhaps a data set beside it: a pydantic record, and the requests that it stands for."""

    data: Any

    def text_requests(self) -> list[Request]:
        """What the section about the text needs."""

    def data_request(self) -> Request | None:
        """What the section about the data set needs, if there is one."""

    def requests(self) -> list[Request]:
        """All of them."""

    def same_setting(self, other: StudyView) -> bool:
        """Whether one data set's results belong to either."""


@dataclass(frozen=True)
class Answer:
    """One request's result, or the job that works on it, or why there can be none."""

    result: Any | None = None
    job: Job | None = None
    problem: str = ""

    @property
    def running(self) -> bool:
        """Whether it is still being worked on."""
        return self.job is not None and not self.job.progress.finished


@dataclass(frozen=True)
class StudyPage:
    """One page: its controls (``seed`` and ``draft``), its record, its first view and the word on its button.

    ``drawn`` are the fields of the record that need no other answer.
    """

    question: Question
    record: type
    first: Callable[[], StudyView]
    seed: Callable[..., None]
    draft: Callable[[], StudyView]
    button: str
    drawn: Sequence[str]

    @property
    def name(self) -> str:
        """The page's name in the session."""
        return self.question.page

    def open_view(self, service: Service) -> None:
        """Bring the controls to the link's view when one is followed, else to the view last asked, else to the first.

        Limits and choices are checked by the browser alone: controls that hold anything else are told of and set back.
        """
        view = links.follow(service, self.name, self.record)
        if view is not None:
            session.ask(service, self.name, view)
            self.seed(view, force=True)
        if session.asked(self.name) is None:
            session.ask(service, self.name, self.first())
        self.seed(session.asked(self.name))
        try:
            self.draft()
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")
            self.seed(session.asked(self.name), force=True)

    def ask_text(self, service: Service) -> None:
        """Ask about the text (a callback); the data set stays while its results belong to the same setting."""
        asked, draft = session.asked(self.name), self._draft()
        if draft is not None:
            keeps = draft.same_setting(asked)
            session.ask(service, self.name, draft.model_copy(update={"data": asked.data if keeps else None}))

    def ask_data(self, service: Service) -> None:
        """Ask about the data set as well (a callback)."""
        draft = self._draft(with_data=True)
        if draft is not None and draft.data.source:
            session.ask(service, self.name, draft)

    def open_text(self, service: Service, text: str, pair: str | None = None) -> None:
        """Put a text of the data set into the section above and ask about it (a callback)."""
        self.question.set("text", text)
        self.question.set("pair_on", pair is not None)
        self.question.set("pair", pair or "")
        self.ask_text(service)

    def settle(self, service: Service) -> Any:
        """The view to show: what was asked, drawn as the controls say; where all is known, what the controls say."""
        asked = session.asked(self.name)
        try:
            draft = self.draft()
            known = draft.text_requests() == asked.text_requests() or _all_known(service, draft.text_requests())
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return asked
        if not known:
            st.caption(STALE.format(button=self.button))
        view = draft if known else asked.model_copy(update={name: getattr(draft, name) for name in self.drawn})
        data = asked.data if view.same_setting(asked) else None
        if draft.data.source and view.same_setting(draft) and _known(service, draft.data_request()):
            data = draft.data
        view = view.model_copy(update={"data": data})
        if view.requests() == asked.requests():
            session.redraw(self.name, view)
        else:
            session.ask(service, self.name, view)
        return view

    def answer(self, service: Service, request: Request) -> Answer:
        """The stored result, else the job for it, which is queued if there is none yet."""
        try:
            result = session.find(service, self.name, request)
            if result is not None:
                return Answer(result=result)
            session.submit_once(service, self.name, request)
            job = service.job(request, session.user())
            if job is not None and job.progress.status == "done":  # between the two questions
                return Answer(result=service.find(request, session.user()))
            return Answer(job=job)
        except ExplainLabError as error:
            return Answer(problem=str(error))

    def draw_state(self, service: Service, answers: Sequence[Answer]) -> None:
        """What is still missing, and why; what the results that are there warn of."""
        for problem in dict.fromkeys(a.problem for a in answers if a.problem):
            st.error(plain(problem), icon=":material/error:")
        jobs = [a.job for a in answers if a.job is not None]
        if jobs:
            draw_jobs(service, jobs, self.name)
        results = [a.result for a in answers if a.result is not None]
        for warning in dict.fromkeys(warning for result in results for warning in result.warnings):
            st.warning(plain(warning), icon=":material/warning:")

    def link(self, service: Service, view: StudyView) -> str:
        """The whole link that reopens ``view``: see :func:`explainlab.app.links.share`."""
        return links.share(service, self.name, view)

    def cost_words(self, work: str, more: str, seconds_each: float | None, each: int | None = None) -> str:
        """What the data set's study will cost, in Markdown, before it is asked.

        ``work`` is what is counted, ``more`` what the count leaves out, ``seconds_each`` what one took for the text,
        ``each`` how many a text needs (None: what the study reckons).
        """
        try:
            view = self.draft()
            if not view.data.source:
                raise RequestError("No data set is chosen.", "Choose the embedded examples or type a file's path.")
            each = each or evaluations(view.data_request())
        except ExplainLabError as error:
            return plain(str(error))
        rows = view.data.rows
        words = f"**{each:,} {work} a text, {each * rows:,} for {rows:,} rows**{more}."
        if seconds_each:
            words += f" At the pace of the text above: about {_duration(seconds_each * each * rows)}."
        return f"{words} Everything else is as above."

    def _draft(self, with_data: bool = False) -> StudyView | None:
        """What the controls say; None where the page that follows tells what is wrong with them."""
        try:
            draft = self.draft()
            for request in draft.requests() if with_data else draft.text_requests():
                evaluations(request)
            return draft
        except ExplainLabError:
            return None


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _all_known(service: Service, requests: Iterable[Request]) -> bool:
    return all(service.find(request, session.user()) is not None for request in requests)


def _known(service: Service, request: Request) -> bool:
    """Whether the data set's result is there; a request that can have none is told of below its controls."""
    try:
        return service.find(request, session.user()) is not None
    except ExplainLabError:
        return False
