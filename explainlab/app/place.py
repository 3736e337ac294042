"""The state of a page or a section in a session: its view, and the requests that it has made for that view."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import streamlit as st

from explainlab.app import session
from explainlab.app.progress import draw_jobs
from explainlab.app.text import plain
from explainlab.errors import DataError, ExplainLabError, ModelError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.jobs import Job
from explainlab.service.limits import require_allowed, require_answerable
from explainlab.service.resolved import ResolvedRequest, resolve, set_key
from explainlab.service.service import Service
from explainlab.service.store.made import resolve_model_alias


class View(Protocol):
    """The content of a page or a section, with the requests that it needs."""

    def requests(self) -> Sequence[Request]:
        """Return the requests of the page."""


@dataclass(frozen=True)
class Requests:
    """The view of a section without other choices."""

    listed: tuple[Request, ...] = ()

    def requests(self) -> Sequence[Request]:
        """See :class:`View`."""
        return self.listed


@dataclass(frozen=True)
class Answer:
    """The result of a request, or the job that computes it, or why there is neither.

    Where a request of a set has failed, there is its job as well.
    ``result`` is of the type that the request's method or analysis gives.
    """

    result: Any = None
    job: Job | None = None
    problem: str = ""

    @property
    def running(self) -> bool:
        """True while the job runs."""
        return self.job is not None and not self.job.progress.finished


@dataclass
class _Memory:
    """The shown view, and the keys of the jobs ``requested`` for it.

    ``record`` makes runs of its answers: a reader requested them, and did not merely open them. ``waiting`` are
    requests that wait for a press.
    """

    view: Any = None
    record: bool = True
    requested: set[str] = field(default_factory=set)
    waiting: tuple[Request, ...] = ()


@dataclass(frozen=True)
class PageState:
    """A page, or a section with requests of its own. ``name`` is unique in the session, which keeps its state.

    Each request of a view goes to the service once, when its answer is first drawn; later drawing only reads.
    """

    name: str

    @property
    def view(self) -> Any:
        """The view that is shown, None at first."""
        return self._memory.view

    def ask(self, service: Service, view: View, record: bool = True) -> None:
        """Show ``view``, and leave the jobs that only the view before needed: see :meth:`Service.leave`.

        The answers become runs of the user, unless they are shown without a question: ``record=False``. Before the
        first question of a session they are not even stored.
        """
        before, still = self.view, view.requests()
        if record and still:
            session.act()
        for request in () if before is None else before.requests():
            if request not in still:
                self._leave(service, request)
        st.session_state[self._key] = _Memory(view, record)

    def prefill(self, view: View, waiting: Sequence[Request]) -> None:
        """Show ``view``, whose requests ``waiting`` are not asked: only their stored results are shown.

        Jobs of the view before go on.
        """
        memory = self._memory
        memory.view, memory.waiting = view, tuple(waiting)

    @property
    def page(self) -> str:
        """The name under which it waits for jobs."""
        return f"{session.name()}/{self.name}"

    @property
    def waiting(self) -> bool:
        """True while the view is only prefilled, and waits for a press."""
        return bool(self._memory.waiting)

    def redraw(self, view: View) -> None:
        """Show ``view``, which has the same requests: none is made, and none cancelled."""
        self._memory.view = view

    def keep(self, service: Service, requests: Sequence[Request]) -> None:
        """Forget the view, and leave its jobs, unless all its requests are in ``requests``."""
        if self.view is not None and any(request not in requests for request in self.view.requests()):
            self.ask(service, Requests())

    def answer(self, service: Service, request: Request) -> Answer:
        """Return the stored result, else the job for it, which is queued once while the view is shown.

        Neither exists if the view waits for a press and its result is not stored.
        """
        try:
            asked, answer = resolved(request), None
            if request in self._memory.waiting:
                return Answer(service.find(asked))
            if asked.key in self._memory.requested:
                answer = service.find(asked) or service.job(asked)
            if answer is None:
                record = self._memory.record
                answer = service.ask(asked, record=record, store=record or session.has_acted())
                self._memory.requested.add(asked.key)
        except ExplainLabError as error:
            return Answer(problem=str(error))
        return _answer_of(answer)

    def answer_set(self, service: Service, requests: Sequence[Request]) -> list[Answer]:
        """Return the answers to ``requests`` about data sets: stored results, and one job for all others.

        The job is queued once while the view is shown. A refused or failed request stops no other.
        """
        answers = [self._stored(service, request) for request in requests]
        if self.waiting:
            return answers
        if all(answer.result is not None or answer.problem for answer in answers):
            return [
                answer if answer.problem else self.answer(service, request)
                for request, answer in zip(requests, answers, strict=True)
            ]
        allowed = [i for i, answer in enumerate(answers) if not answer.problem]
        try:
            job = self._job_of_set(service, [requests[i] for i in allowed])
        except ExplainLabError as error:
            return [answer if answer.result else Answer(problem=answer.problem or str(error)) for answer in answers]
        for place, i in enumerate(allowed):
            if answers[i].result is None:
                outcome = job.outcomes[place] if place < len(job.outcomes) else None
                problem = outcome if isinstance(outcome, str) else ""
                answers[i] = Answer(outcome) if outcome and not problem else Answer(None, job, problem)
        return answers

    def answer_if_requested(self, service: Service, request: Request) -> Answer | None:
        """Return an answer as :meth:`answer`, for sections with a button.

        None if ``request`` is neither stored nor in the view. A running job of the user is shown: the page may have
        been loaded anew.
        """
        if self.view is not None and request in self.view.requests():
            return self.answer(service, request)
        try:
            asked = resolved(request)
            user, result, job = session.user(), service.find(asked), service.job(asked)
        except ExplainLabError as error:
            return Answer(problem=str(error))
        if result is None and job is not None and user in job.users and not job.progress.finished:
            self.ask(service, Requests((request,)), record=False)
            return self.answer(service, request)
        return None if result is None else Answer(result)

    def answer_all(self, service: Service, requests: Sequence[Request], ahead: Sequence[Request] = ()) -> list[Answer]:
        """Return the answers to ``requests``, which become the view; once all are there, ``ahead`` is queued.

        Jobs of other requests are left. The answers become no runs: they are shown without a press.
        """
        view = Requests((*requests, *ahead))
        if self.view != view:
            self.ask(service, view, record=False)
        with service.engine.together():  # so that requests for several classes can be answered by one batch
            answers = [self.answer(service, request) for request in requests]
        if all(answer.result is not None for answer in answers):
            with suppress(ExplainLabError):  # a full queue: they are requested when they are shown
                self._ask_ahead(service, ahead)
        return answers

    def computed_again(self, service: Service, request: Request) -> Answer:
        """Return the result of a job that computes ``request`` anew, even if it is stored; the job is queued once."""
        try:
            asked = resolved(request)
            job = service.computed_again(asked)
            if job is None or not self.has_requested(job):
                job = service.compute_again(asked)
                self._memory.requested.add(job.key)
        except ExplainLabError as error:
            return Answer(problem=str(error))
        return _answer_of(job)

    def has_requested(self, job: Job) -> bool:
        """Return True if ``job`` was requested, and not since submitted again."""
        return job.key in self._memory.requested

    def submit_again(self, job: Job) -> None:
        """Request ``job`` once more: it failed or was cancelled (a callback)."""
        session.act()
        self._memory.requested.discard(job.key)

    def draw_state(self, service: Service, answers: Sequence[Answer]) -> None:
        """Draw problems, the progress of unfinished jobs, and the warnings of results."""
        for problem in dict.fromkeys(answer.problem for answer in answers if answer.problem):
            st.error(plain(problem), icon=":material/error:")
        jobs = [answer.job for answer in answers if answer.job is not None]
        if jobs:
            draw_jobs(service, jobs, self)
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

    def _stored(self, service: Service, request: Request) -> Answer:
        """Return the stored result, or the reason of a refusal; neither if it is to be computed."""
        try:
            asked = resolved(request)
            result = service.find(asked)
            if result is None:
                require_answerable(asked.request)
            return Answer(result)
        except ExplainLabError as error:
            return Answer(problem=str(error))

    def _job_of_set(self, service: Service, requests: Sequence[Request]) -> Job:
        asked, record = [resolved(request) for request in requests], self._memory.record
        key = set_key(asked)
        job = service.engine.job(key) if key in self._memory.requested else None
        if job is None:
            job = service.submit_set(asked, record, store=record or session.has_acted())
            self._memory.requested.add(key)
        return job

    def _leave(self, service: Service, request: Request) -> None:
        with suppress(ExplainLabError):  # a request that is refused has no job
            job = service.job(resolved(request))
            if job is not None:
                service.leave(job, self.page, session.user())

    def _ask_ahead(self, service: Service, requests: Sequence[Request]) -> None:
        with service.engine.together():
            for request in requests:
                asked = resolved(request)
                if asked.key not in self._memory.requested:
                    service.ask(asked, ahead=True, store=session.has_acted())
                    self._memory.requested.add(asked.key)


_RESOLVED, _MOST_RESOLVED = "place.resolved", 256


def resolved(request: Request) -> ResolvedRequest:
    """Return ``request`` as the service knows it: completed once in a session, with its files as they are now.

    Raises as :func:`resolve`, also where its model is no longer served.
    """
    user = session.user()
    known: dict[Any, ResolvedRequest] = st.session_state.setdefault(_RESOLVED, {})
    model = resolve_model_alias(request.model, user.id)
    key = (user, model, json.dumps(dict(request), sort_keys=True, default=str))
    if key in known:
        require_allowed(known[key].request)
        return known[key].as_of_now()
    if len(known) >= _MOST_RESOLVED:
        known.clear()
    known[key] = resolve(request, user)
    return known[key]


def require_valid(requests: Iterable[Request]) -> None:
    """Raise :class:`RequestError` for an invalid request; the answer says where a model or a file is refused."""
    for request in requests:
        with suppress(ModelError, DataError):
            resolved(request)


def _answer_of(source: Result | Job) -> Answer:
    if not isinstance(source, Job):
        return Answer(source)
    return Answer(source.result) if source.progress.status == "done" else Answer(job=source)
