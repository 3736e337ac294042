"""One place of a session that shows answers: the view it shows, and what it has asked the service for that view."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import streamlit as st

from explainlab.app import session
from explainlab.app.progress import draw_jobs
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.jobs import Job
from explainlab.service.service import Service


class View(Protocol):
    """What a place shows: the requests whose answers it needs."""

    def requests(self) -> Sequence[Request]:
        """All of them."""


@dataclass(frozen=True)
class Requests:
    """The view of a section that has no other choices."""

    listed: tuple[Request, ...] = ()

    def requests(self) -> Sequence[Request]:
        """The same: see :class:`View`."""
        return self.listed


@dataclass(frozen=True)
class Answer:
    """The result of one request, or the job that works on it, or why there can be none.

    ``result`` is what the method or the analysis of the request gives.
    """

    result: Any = None
    job: Job | None = None
    problem: str = ""

    @property
    def running(self) -> bool:
        """Whether it is still being computed."""
        return self.job is not None and not self.job.progress.finished


@dataclass
class _Memory:
    """``asked`` are the keys of the jobs that were asked for since the view is shown."""

    view: Any = None
    asked: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Place:
    """A page, or a section that asks for answers of its own. ``name`` is unique in the session, which remembers it.

    A request goes to the service once for each view, when its answer is drawn first: from then on, drawing only reads.
    """

    name: str

    @property
    def view(self) -> Any:
        """The view that is shown; None before the first."""
        return self._memory.view

    def ask(self, service: Service, view: View) -> None:
        """Show ``view`` and ask for all it needs; jobs that only the view before needed are given up."""
        before = self.view
        if before is not None:
            still = view.requests()
            for request in before.requests():
                if request not in still:
                    self._give_up(service, request)
        st.session_state[self._key] = _Memory(view)

    def redraw(self, view: View) -> None:
        """Show ``view``, which needs the same answers: nothing is asked, and nothing given up."""
        self._memory.view = view

    def keep(self, service: Service, requests: Sequence[Request]) -> None:
        """Forget the view, and give up its jobs, unless all that it needs is in ``requests``."""
        if self.view is not None and any(request not in requests for request in self.view.requests()):
            self.ask(service, Requests())

    def answer(self, service: Service, request: Request) -> Answer:
        """The stored result, else the job for it, which is queued once while the view is shown."""
        try:
            user, known = session.user(), None
            key = service.key(request, user)
            if key in self._memory.asked:
                known = service.find(request, user) or service.job(request, user)
            if known is None:
                known = service.ask(request, session.owner(), user)
                self._memory.asked.add(key)
        except ExplainLabError as error:
            return Answer(problem=str(error))
        return _answer_of(known)

    def answer_if_asked(self, service: Service, request: Request) -> Answer | None:
        """The same for a section that waits for a press: None if ``request`` is neither stored nor in its view."""
        if self.view is not None and request in self.view.requests():
            return self.answer(service, request)
        try:
            result = service.find(request, session.user())
        except ExplainLabError as error:
            return Answer(problem=str(error))
        return None if result is None else Answer(result)

    def answer_all(self, service: Service, requests: Sequence[Request], ahead: Sequence[Request] = ()) -> list[Answer]:
        """The answers to ``requests``, which become the view; once all are there, ``ahead`` is queued.

        Whatever else the place had asked is given up.
        """
        view = Requests((*requests, *ahead))
        if self.view != view:
            self.ask(service, view)
        answers = [self.answer(service, request) for request in requests]
        if all(answer.result is not None for answer in answers):
            with suppress(ExplainLabError):  # a full queue: they are asked for when they are to be seen
                self._ask_ahead(service, ahead)
        return answers

    def computed_again(self, service: Service, request: Request) -> Answer:
        """The result of a job that computes ``request`` anew, whatever is stored; it is queued once as well."""
        try:
            job = service.computed_again(request, session.user())
            if job is None or not self.has_asked(job):
                job = service.compute_again(request, session.owner(), session.user())
                self._memory.asked.add(job.key)
        except ExplainLabError as error:
            return Answer(problem=str(error))
        return _answer_of(job)

    def has_asked(self, job: Job) -> bool:
        """Whether ``job`` was asked for, and not to be run again since."""
        return job.key in self._memory.asked

    def submit_again(self, job: Job) -> None:
        """Ask for ``job`` once more: it failed or was cancelled (a callback)."""
        self._memory.asked.discard(job.key)

    def draw_jobs(self, service: Service, jobs: Sequence[Job]) -> None:
        """How far ``jobs`` are: see :func:`explainlab.app.progress.draw_jobs`."""
        draw_jobs(service, jobs, self)

    def draw_state(self, service: Service, answers: Sequence[Answer]) -> None:
        """What is still missing, and why; what the results that are there warn of."""
        for problem in dict.fromkeys(answer.problem for answer in answers if answer.problem):
            st.error(plain(problem), icon=":material/error:")
        jobs = [answer.job for answer in answers if answer.job is not None]
        if jobs:
            self.draw_jobs(service, jobs)
        results = [answer.result for answer in answers if answer.result is not None]
        for warning in dict.fromkeys(warning for result in results for warning in result.warnings):
            st.warning(plain(warning), icon=":material/warning:")

    @property
    def _memory(self) -> _Memory:
        memory: _Memory = st.session_state.setdefault(self._key, _Memory())
        return memory

    @property
    def _key(self) -> str:
        return f"{self.name}.place"

    def _give_up(self, service: Service, request: Request) -> None:
        with suppress(ExplainLabError):  # what may not be asked has no job
            job = service.job(request, session.user())
            if job is not None:
                service.cancel(job.key, session.owner(), session.user())

    def _ask_ahead(self, service: Service, requests: Sequence[Request]) -> None:
        for request in requests:
            key = service.key(request, session.user())
            if key not in self._memory.asked:
                service.ask(request, session.owner(), session.user(), ahead=True)
                self._memory.asked.add(key)


def _answer_of(known: Result | Job) -> Answer:
    if not isinstance(known, Job):
        return Answer(known)
    return Answer(known.result) if known.progress.status == "done" else Answer(job=known)
