"""The service: a request gets its stored result or a job. Pages and the command line use nothing below it."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from typing import Self

from explainlab.analyses.registry import known_digest, model_digest, targets_together
from explainlab.errors import MemoryShortage, ModelError, RequestError, ResourceError
from explainlab.models import loading
from explainlab.models.context import RunContext
from explainlab.models.stored.places import locate
from explainlab.request import CompleteRequest, Request
from explainlab.result import UNSTORED, Result
from explainlab.service.access import Access, Unanswered
from explainlab.service.dispatcher import Dispatcher
from explainlab.service.engine import Engine, MakeEngine
from explainlab.service.estimate import Measured
from explainlab.service.fleet.told import told_of_devices, workers_json
from explainlab.service.jobs import HelpContext, Job, JobContext
from explainlab.service.limits import require_allowed, require_answerable, require_bounded, require_model, require_named
from explainlab.service.memory import StoredContext
from explainlab.service.paces import Paces
from explainlab.service.questions import about_key, again_key, asked_by, is_batch, job_key, result_key, set_key
from explainlab.service.store.made import called, delete_made, is_there, makes, own_made
from explainlab.service.store.retention import sweep_hourly
from explainlab.service.store.store import Store
from explainlab.service.uploads import reader_of
from explainlab.service.users import LOCAL, User, is_administrator
from explainlab.settings import settings
from explainlab.workers.choice import able, has_larger
from explainlab.workers.local import at_hand, here
from explainlab.workers.worker import Elsewhere, Worker

_MOST_UNSTORED = 64


class Service(Access):
    """Answers requests from a store or by an engine. Safe to use from any thread.

    ``engine`` makes what runs jobs on ``workers``: by default one, in this process, on ``device``. ``notice`` is a
    problem of the store or of the workers at the start that users must know; else empty.
    """

    def __init__(
        self,
        store: Store,
        device: str | None = None,
        notice: str = "",
        engine: MakeEngine = Dispatcher,
        workers: Sequence[Worker] = (),
    ) -> None:
        super().__init__(store)
        self._notice = notice
        self.closing = ExitStack()
        self.closing.callback(store.close)
        self.workers = workers
        if not workers:
            own = here(device)
            self.closing.callback(own.close)
            self.workers = [own]
        self.paces = Paces(store, self.workers[0].device)
        self._unstored: dict[str, Result] = {}  # by their keys, the last so many that nobody has in the store
        self.engine: Engine = engine(self._work, self._ended, self._help, len(self.workers), self._preferred)
        for worker in self.workers:
            worker.changed = self.engine.wake

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the jobs, end the threads, and let go of models and database. It answers nothing afterwards.

        Requests without an answer count as cut short. The ``workers`` that were given stay as they are. What else ends
        with the service is on its ``closing``.
        """
        self.engine.close()
        self.closing.close()

    @property
    def notice(self) -> str:
        """Return the problem that every page shows: the one of the start, or the loss of the database; else nothing."""
        return self._notice or self.store.loss

    def find(self, request: Request, user: User = LOCAL) -> Result | None:
        """The stored result, or None; uploads are those of ``user``. Never loads a model, never waits for the network.

        Raises :class:`explainlab.errors.RequestError` for an invalid request, and as
        :func:`explainlab.service.limits.require_allowed` for what is not served here.
        """
        request = _allowed(request, user)
        model = known_digest(request)
        if model is None:
            return None
        key = result_key(request, model)
        return self._finished(request, model) or self._remembered(request, key) or self._stored(request, key)

    def has(self, request: Request, user: User = LOCAL) -> bool:
        """Whether :meth:`find` gives a result, which is not read; raises as that."""
        request = _allowed(request, user)
        model = known_digest(request)
        if model is None:
            return False
        if makes(request):
            return self.find(request, user) is not None
        try:
            key = result_key(request, model)
            known = self._finished(request, model) or self._remembered(request, key)
            return known is not None or self.store.has(key)
        except ResourceError:
            return False

    def ask(
        self, request: Request, user: User = LOCAL, ahead: bool = False, record: bool = True, store: bool = True
    ) -> Result | Job:
        """The stored result, recorded as a run of ``user``, else the job of :meth:`submit`; raises as that."""
        result = self.find(request, user)
        if result is None:
            return self.submit(request, user, ahead, record, store)
        if record and not ahead:
            self.record(request, result, user)
        elif store:
            self.keep(request, result, user)
        return result

    def require(self, request: Request, user: User = LOCAL) -> None:
        """Raise for what is never queued: as :meth:`find`, and as the checks of :mod:`explainlab.service.limits`."""
        require_answerable(_allowed(request, user))

    def submit(
        self, request: Request, user: User = LOCAL, ahead: bool = False, record: bool = True, store: bool = True
    ) -> Job:
        """A job that computes ``request`` for ``user``, shared by equal requests.

        ``ahead``: nobody waits for it yet, so it is not urgent, as jobs of data sets are not. Its result becomes a run
        of ``user``, unless it is computed ahead or not to be recorded; without ``store`` it is only there while the
        job is. Raises as :meth:`require`, and where the queue is full.
        """
        request = _allowed(request, user)
        urgent = not (ahead or is_batch(request))
        return self._submit(job_key(request), [request], user, urgent, record and not ahead, store)

    def submit_set(
        self, requests: Sequence[Request], user: User = LOCAL, record: bool = True, store: bool = True
    ) -> Job:
        """One job that answers ``requests`` about data sets, one after another, each as if it was asked alone.

        What is stored already is not computed again, and what fails stops no other: :attr:`Job.outcomes` says why.
        Otherwise as :meth:`submit`.
        """
        allowed = [_allowed(request, user) for request in requests]
        return self._submit(set_key(allowed), allowed, user, False, record, store)

    def cancel(self, key: str, user: User = LOCAL) -> None:
        """``user`` no longer waits for a job: see :meth:`explainlab.service.engine.Engine.cancel`."""
        with suppress(ResourceError):
            self.set_aside(key, self.engine.job(key), user)  # before the end of the job, which is no pause
        self.engine.cancel(key, user)

    def leave(self, job: Job, page: str, user: User) -> None:
        """A ``page`` of ``user`` shows something else than ``job``.

        A job of one text is cancelled for ``user``, unless another page of theirs waits for it; one of a data set goes
        on.
        """
        if not (job.leave(user, page) or is_batch(job.request)):
            self.cancel(job.key, user)

    def withdraw(self, jobs: Sequence[Job], user: User) -> None:
        """Cancel ``jobs`` for ``user``; for everybody where ``user`` is an administrator."""
        for job in jobs:
            for other in list(job.users):
                if other == user or is_administrator(user):
                    self.cancel(job.key, other)

    def delete_made(self, model_id: str, user: User = LOCAL) -> None:
        """Take a made model from ``user``, who may name it; raises as :mod:`explainlab.service.store.made` says.

        No job may need it, of this server or of another on the same database.
        """
        here = [request for job in self.engine.unfinished() if user in job.users for request in job.requests]
        elsewhere = [Request.from_json(request) for request in self.store.unfinished.of(user.id)]
        delete_made(called(model_id, user.id), user, [*here, *elsewhere])

    def move(self, job: Job, by: int, user: User) -> None:
        """Let a waiting ``job`` of ``user`` change places with the one before (-1) or after it (1).

        An administrator moves everybody's, each among the jobs of its own users.
        """
        if user in job.users or is_administrator(user):
            self.engine.move(job.key, by)

    def compute_again(self, request: Request, user: User = LOCAL) -> Job:
        """A job that computes ``request`` anew; what is stored stays as it is. Raises as :meth:`submit`."""
        request = _allowed(request, user)
        require_bounded(request)
        return self.engine.submit(again_key(request), request, user, not is_batch(request), record=False)

    def computed_again(self, request: Request, user: User = LOCAL) -> Job | None:
        """The job of :meth:`compute_again` for this request, also if lately ended; or None."""
        return self.engine.job(again_key(_allowed(request, user)))

    def job(self, request: Request, user: User = LOCAL) -> Job | None:
        """The job of this request, also if lately ended; or None."""
        return self.engine.job(self.key(request, user))

    def key(self, request: Request, user: User = LOCAL) -> str:
        """The job key of this request, complete or not."""
        return job_key(_allowed(request, user))

    def set_key(self, requests: Sequence[Request], user: User = LOCAL) -> str:
        """The key of the job of :meth:`submit_set`; raises as :meth:`find`."""
        return set_key([_allowed(request, user) for request in requests])

    def run(self, request: Request, watch: Callable[[RunContext], RunContext] = lambda context: context) -> Result:
        """The result of ``request``, stored or computed on the caller's thread, not while the engine runs jobs.

        For users with a shell on this machine: nothing is refused. ``watch`` puts a context around that of the run.
        """
        request = asked_by(request, LOCAL)
        context = Measured(watch(RunContext(reader_of(request))))
        result = self._answer(request, context, lambda: (LOCAL.id,))
        self.paces.learn_from(request, context.estimate)
        return result

    def cut_short(self, user: User) -> list[Unanswered]:
        """Requests of ``user`` that earlier servers left unanswered, or that are paused, unless answered by now.

        Raises :class:`ResourceError` where the store fails.
        """
        return [unanswered for unanswered in self.unanswered(user) if not self._is_answered(unanswered, user)]

    def read_models(self) -> None:
        """Read the files of the models that runs name and that are served here, so that pages know their digests."""
        with suppress(ResourceError):
            for model in self.store.runs.models():
                with suppress(ModelError, OSError):
                    require_model(model, LOCAL.id)
                    loading.known_digest(model, read=True)

    def _submit(
        self, key: str, requests: Sequence[CompleteRequest], user: User, urgent: bool, record: bool, store: bool
    ) -> Job:
        """The job ``key`` of ``requests``, written down where its results become runs."""
        for request in requests:
            require_answerable(request)
        with self.engine.together():
            job = self.engine.submit(key, requests[0], user, urgent, record, requests[1:])
            if store:
                job.keepers.add(user.id)
        if record:
            for request in requests:
                self.remember(job_key(request), request, user)
            if job.progress.finished:  # it ended before it was written down
                self._ended(job)
        return job

    def _work(self, request: CompleteRequest, context: JobContext) -> Result:
        """Answer a request of a job: the result becomes a run of all its readers."""
        context.begin("loading the model")
        if known_digest(request) is None:
            locate(request.model)
        require_named(request)  # an adapter of the hub names the model that it changes only now
        context.estimate.pace = self.paces.of(request)
        try:
            if context.key == again_key(request):
                result = self._compute(request, context, context.place)
            else:
                result = self._answer(request, context, context.keepers, context.place)
        except MemoryShortage:
            if not has_larger(self.workers, context.place):
                raise
            context.require_more_than(self.workers[context.place].device_bytes or 0)
            raise Elsewhere from None
        if context.keepers():
            self.paces.learn_from(request, context.estimate)
        for user in context.readers:
            self.record(request, result, user)
        return result

    def _help(self, request: CompleteRequest, context: HelpContext) -> None:
        """Do parts of what the job of ``request`` hands out; they are stored for its keepers."""
        memory = StoredContext(context, self.store, about_key(request), context.keepers)
        context.begin_on(self.workers[context.place].device)
        try:
            self.workers[context.place].answer([request], memory)
        finally:
            memory.hold()

    def _preferred(self, job: Job) -> list[list[int]]:
        """The places of workers that can do ``job``: those that have its model, and the others."""
        return able(self.workers, job.request.model, job.urgent, job.too_few_bytes, self.engine.held)

    def _ended(self, job: Job) -> None:
        for key in map(job_key, job.requests) if job.more else [job.key]:
            self.late.write(partial(self.store.unfinished.end, key))

    def _is_answered(self, unanswered: Unanswered, user: User) -> bool:
        with suppress(RequestError, ModelError):  # reported when it is requested again
            return self.find(unanswered.request, user) is not None
        return False

    def _answer(
        self, request: CompleteRequest, context: RunContext, owners: Callable[[], Collection[str]], place: int = 0
    ) -> Result:
        """The result, by the worker at ``place``, stored for the users with the ids that ``owners`` gives."""
        key = result_key(request, model_digest(request))
        memory = StoredContext(context, self.store, about_key(request), owners)
        try:
            stored = self._stored(request, key)
            result = stored or self._remembered(request, key) or self._compute(request, memory, place)
            for owner in owners():
                own_made(result, owner)
            if owners():
                self._unstored.pop(key, None)
            elif stored is None:
                self._remember(key, result)
            return self._kept(request, result, key, memory)
        finally:
            memory.hold()

    def _kept(self, request: CompleteRequest, result: Result, key: str, memory: StoredContext) -> Result:
        """``result`` once it is stored; with a warning where it will be when the store is back."""

        stored = result

        def keep() -> None:
            nonlocal stored
            stored = memory.keep_answer(key, result)
            memory.hold()
            job = self.engine.job(job_key(request))
            if job is not None and job.result is not None:
                job.result = stored  # without the warning

        if (error := self.late.write(keep)) is None:
            return stored
        return result.with_warning(f"{UNSTORED} It will be when the store is back, unless the server stops. {error}")

    def _compute(self, request: CompleteRequest, context: RunContext, place: int = 0) -> Result:
        """The result, by the worker at ``place``; those for other targets that wait are remembered."""
        requests, worker = [request, *self._waiting_targets(request)], self.workers[place]
        result, *others = worker.answer(requests, context)
        for other, own in zip(requests[1:], others, strict=True):
            self._remember(result_key(other, own.versions["model"]), own)
        return told_of_devices(result, worker.device, context.helpers)

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
        return result if result is not None and result.versions["model"] == model and is_there(result) else None

    def _remember(self, key: str, result: Result) -> None:
        """Have a ``result`` that nobody has in the store for who asks for it next, as long as the server runs."""
        self._unstored[key] = result
        for oldest in list(self._unstored)[:-_MOST_UNSTORED]:
            self._unstored.pop(oldest, None)

    def _remembered(self, request: CompleteRequest, key: str) -> Result | None:
        """The result of :meth:`_remember`, with the model named as in ``request``."""
        result = self._unstored.get(key)
        return result.answering(request) if result and is_there(result) else None

    def _stored(self, request: CompleteRequest, key: str) -> Result | None:
        """The stored result, with the model named as in ``request``; None also where the store fails."""
        with suppress(ResourceError):
            result = self.store.get(key)
            return result.answering(request) if result and is_there(result) else None
        return None


def _with_target(request: CompleteRequest, target: str) -> CompleteRequest:
    return request.model_copy(update={"target": target})


def _allowed(request: Request, user: User) -> CompleteRequest:
    """The same request, complete and allowed here; its files are not opened before."""
    complete_request = asked_by(request, user)
    require_allowed(complete_request)
    return complete_request


def open_service(device: str | None = None, workers: Sequence[Worker] = (), notice: str = "") -> Service:
    """A service on the store that the settings name, or on memory alone where it cannot be used."""
    try:
        store = Store(settings().store_url, settings().parts)
        service = Service(store, device, notice, workers=workers)
    except ResourceError as error:
        return Service(Store("sqlite://"), device, notice=f"Results are not kept. {error}", workers=workers)
    service.closing.callback(sweep_hourly(store).set)
    store.lease.workers = partial(workers_json, service.workers, service.engine)
    store.lease.keep(service.late.flush)
    atexit.register(store.lease.end)
    service.closing.callback(atexit.unregister, store.lease.end)
    return service


_lock = threading.Lock()


def service() -> Service:
    """The service of this process."""
    with _lock:
        return _service()


@lru_cache(maxsize=1)
def _service() -> Service:
    workers, problem = at_hand()
    opened = open_service(workers=workers, notice=problem)
    threading.Thread(target=opened.read_models, name="explainlab-digests", daemon=True).start()
    return opened
