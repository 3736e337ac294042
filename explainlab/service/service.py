"""The service: a request gets its stored result or a job. Pages and the command line use nothing below it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from explainlab.analyses.registry import answer_targets, targets_together
from explainlab.errors import ModelError, RequestError, ResourceError
from explainlab.models.context import RunContext
from explainlab.models.devices import choose_device
from explainlab.models.loading import known_digest, model_digest
from explainlab.request import CompleteRequest, Request
from explainlab.result import Result
from explainlab.service.access import Access, Unanswered
from explainlab.service.engine import Engine, MakeEngine
from explainlab.service.jobs import Job, JobContext
from explainlab.service.limits import require_allowed, require_bounded
from explainlab.service.memory import StoredContext
from explainlab.service.paces import Paces
from explainlab.service.pool import ModelPool
from explainlab.service.questions import again_key, asked_by, is_batch, job_key, result_key
from explainlab.service.store.store import Store
from explainlab.service.uploads import reader_of
from explainlab.service.users import LOCAL, User, is_administrator
from explainlab.service.worker import Worker
from explainlab.settings import settings


class Service(Access):
    """Answers requests from a store or by an engine. Safe to use from any thread.

    ``engine`` makes what runs jobs: by default a worker on one ``device`` of this machine. ``notice`` is a problem of
    the store that users must know; else empty.
    """

    def __init__(self, store: Store, device: str | None = None, notice: str = "", engine: MakeEngine = Worker) -> None:
        super().__init__(store)
        self.notice = notice
        self.device = choose_device(device)
        self.pool = ModelPool(device, settings().model_pool_mb * 2**20, settings().limits)
        self.paces = Paces(store, str(self.device))
        self.engine: Engine = engine(self._work, self._ended)

    def find(self, request: Request, user: User = LOCAL) -> Result | None:
        """The stored result, or None; uploads are those of ``user``. Never loads a model, never waits for the network.

        Raises :class:`explainlab.errors.RequestError` for an invalid request, and as
        :func:`explainlab.service.limits.require_allowed` for what is not served here.
        """
        request = _allowed(request, user)
        model = known_digest(request.model)
        if model is None:
            return None
        return self._finished(request, model) or self._stored(request, result_key(request, model))

    def has(self, request: Request, user: User = LOCAL) -> bool:
        """Whether :meth:`find` gives a result, which is not read; raises as that."""
        request = _allowed(request, user)
        model = known_digest(request.model)
        if model is None:
            return False
        try:
            return self._finished(request, model) is not None or self.store.has(result_key(request, model))
        except ResourceError:
            return False

    def ask(
        self, request: Request, owner: str, user: User = LOCAL, ahead: bool = False, record: bool = True
    ) -> Result | Job:
        """The stored result, recorded as a run of ``user``, else the job of :meth:`submit`; raises as that."""
        result = self.find(request, user)
        if result is None:
            return self.submit(request, owner, user, ahead, record)
        if record and not ahead:
            self.record(request, result, user)
        return result

    def submit(self, request: Request, owner: str, user: User = LOCAL, ahead: bool = False, record: bool = True) -> Job:
        """A job that computes ``request``, shared by equal requests.

        ``owner`` is the session of ``user`` that may cancel it. ``ahead``: nobody waits for it yet, so it is not
        urgent, as jobs of data sets are not. Its result becomes a run of ``user``, unless it is computed ahead or not
        to be recorded. Raises as :meth:`find`, as :func:`explainlab.service.limits.require_bounded`, and where the
        queue is full.
        """
        request, record = _allowed(request, user), record and not ahead
        require_bounded(request)
        key, urgent = job_key(request), not (ahead or is_batch(request))
        job = self.engine.submit(key, request, owner, user, urgent, record)
        if record:
            self.remember(key, request, user)
            if job.progress.finished:  # it ended before it was written down
                self._ended(job)
        return job

    def cancel(self, key: str, owner: str, user: User = LOCAL) -> None:
        """Remove ``owner``, a session of ``user``, from a job: see :meth:`explainlab.service.engine.Engine.cancel`.

        With the last of their sessions ``user`` no longer waits for it.
        """
        self.engine.cancel(key, owner)
        job = self.engine.job(key)
        if job is not None and user not in job.users:
            with suppress(ResourceError):
                self.forget([key], user)

    def withdraw(self, jobs: Sequence[Job], user: User) -> None:
        """Cancel ``jobs`` for all sessions of ``user``; for those of everybody where ``user`` is an administrator."""
        for job in jobs:
            for owner, other in list(job.owners.items()):
                if other == user or is_administrator(user):
                    self.cancel(job.key, owner, other)

    def move(self, job: Job, by: int, user: User) -> None:
        """Let a waiting ``job`` of ``user`` change places with the one before (-1) or after it (1).

        An administrator moves everybody's, each among the jobs of its own users.
        """
        if user in job.users or is_administrator(user):
            self.engine.move(job.key, by)

    def compute_again(self, request: Request, owner: str, user: User = LOCAL) -> Job:
        """A job that computes ``request`` anew; what is stored stays as it is. Raises as :meth:`submit`."""
        request = _allowed(request, user)
        require_bounded(request)
        return self.engine.submit(again_key(request), request, owner, user, not is_batch(request), record=False)

    def computed_again(self, request: Request, user: User = LOCAL) -> Job | None:
        """The job of :meth:`compute_again` for this request, also if lately ended; or None."""
        return self.engine.job(again_key(_allowed(request, user)))

    def job(self, request: Request, user: User = LOCAL) -> Job | None:
        """The job of this request, also if lately ended; or None."""
        return self.engine.job(self.key(request, user))

    def key(self, request: Request, user: User = LOCAL) -> str:
        """The job key of this request, complete or not."""
        return job_key(_allowed(request, user))

    def run(self, request: Request) -> Result:
        """The result of ``request``, stored or computed on the caller's thread, not while the engine runs jobs.

        For users with a shell on this machine: models and files are not restricted.
        """
        request = asked_by(request, LOCAL)
        return self._answer(request, RunContext(reader_of(request)))

    def cut_short(self, user: User) -> list[Unanswered]:
        """Requests of ``user`` that earlier servers left unanswered, unless answered by now.

        Raises :class:`ResourceError` where the store fails.
        """
        return [unanswered for unanswered in self.unanswered(user) if not self._is_answered(unanswered, user)]

    def _work(self, request: CompleteRequest, context: JobContext) -> Result:
        """Do a job: its result becomes a run of all its readers."""
        context.begin("loading the model")
        context.estimate.pace = self.paces.of(request)
        again = context.key == again_key(request)
        result = self._compute(request, context) if again else self._answer(request, context)
        pace = context.estimate.taken(time.monotonic())
        if pace is not None:
            self.paces.learn(request, pace)
        for user in context.readers:
            self.record(request, result, user)
        return result

    def _ended(self, job: Job) -> None:
        with suppress(ResourceError):
            self.store.unfinished.end(job.key)

    def _is_answered(self, unanswered: Unanswered, user: User) -> bool:
        try:
            return self.find(unanswered.request, user) is not None
        except (RequestError, ModelError):  # reported when it is requested again
            return False

    def _answer(self, request: CompleteRequest, context: RunContext) -> Result:
        stored = self._stored(request, result_key(request, model_digest(request.model)))
        return stored or self._compute(request, StoredContext(context, self.store))

    def _compute(self, request: CompleteRequest, context: RunContext) -> Result:
        classifier = self.pool.get(request.model, request.dtype)
        requests = [request, *self._waiting_targets(request)]
        result, *others = answer_targets(classifier, requests, context)
        for other, own in zip(requests[1:], others, strict=True):
            with suppress(ResourceError):
                self.store.put(result_key(other, classifier.digest), own.answering(other))
        result = result.answering(request)
        try:
            self.store.put(result_key(request, classifier.digest), result)
        except ResourceError as error:
            note = f"This result could not be stored and will be gone after a restart. {error}"
            result = result.with_warning(note)
        return result

    def _waiting_targets(self, request: CompleteRequest) -> list[CompleteRequest]:
        """The requests of waiting jobs that differ from ``request`` in their target alone, if a batch answers all."""
        if not targets_together(request):
            return []
        waiting = [job.request for job in self.engine.unfinished() if job.progress.status == "queued"]
        return [other for other in waiting if other != request and _with_target(other, request.target) == request]

    def _finished(self, request: CompleteRequest, model: str) -> Result | None:
        """The result of a job of this server by the model with the digest ``model``."""
        job = self.engine.job(job_key(request))
        result = None if job is None else job.result
        return result if result is not None and result.versions["model"] == model else None

    def _stored(self, request: CompleteRequest, key: str) -> Result | None:
        """The stored result, with the model named as in ``request``; None also where the store fails."""
        try:
            result = self.store.get(key)
        except ResourceError:
            return None
        return result and result.answering(request)


def _with_target(request: CompleteRequest, target: str) -> CompleteRequest:
    return request.model_copy(update={"target": target})


def _allowed(request: Request, user: User) -> CompleteRequest:
    """The same request, complete and allowed here; its files are not opened before."""
    complete_request = asked_by(request, user)
    require_allowed(complete_request)
    return complete_request


def open_service(device: str | None = None) -> Service:
    """A service on the store that the settings name, or on memory alone where it cannot be used."""
    try:
        return Service(Store(settings().store_url), device)
    except ResourceError as error:
        return Service(Store("sqlite://"), device, notice=f"Results are not kept. {error}")


_lock = threading.Lock()


def service() -> Service:
    """The service of this process."""
    with _lock:
        return _service()


_service = lru_cache(maxsize=1)(open_service)
