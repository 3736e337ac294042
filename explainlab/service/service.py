"""The service: a request gets its stored result or a job. Pages and the command line use nothing below it."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
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
from explainlab.service.estimate import Estimate
from explainlab.service.fleet.worker_reports import with_device_warning, workers_json
from explainlab.service.jobs import HelpContext, Job, JobContext
from explainlab.service.limits import require_answerable, require_bounded, require_model, require_named
from explainlab.service.memory import StoredMemory
from explainlab.service.resolved import ResolvedRequest, resolve, set_key
from explainlab.service.store.made import artifacts_exist, claim_models, delete_made, is_training, resolve_model_alias
from explainlab.service.store.retention import sweep_hourly
from explainlab.service.store.store import Store
from explainlab.service.throughput import Paces
from explainlab.service.users import LOCAL, User, is_administrator
from explainlab.settings import settings
from explainlab.workers.local import at_hand, here
from explainlab.workers.worker import Elsewhere, Worker, eligible_workers, has_larger

_MOST_UNSTORED = 64


class Service(Access):
    """A service: it answers requests from a store or by an engine. Safe to use from any thread.

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
        self._unstored: dict[str, Result] = {}  # by their keys, the latest results that no user has in the store
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
        """The problem that every page shows: the one of the start, or the loss of the database; else nothing."""
        return self._notice or self.store.loss

    def find(self, asked: ResolvedRequest) -> Result | None:
        """Return the stored result, or None. It never loads a model and never waits for the network."""
        model = known_digest(asked.request)
        if model is None:
            return None
        key = asked.result_key(model)
        return self._finished(asked, model) or self._remembered(asked, key) or self._stored(asked, key)

    def has(self, asked: ResolvedRequest) -> bool:
        """Tell if :meth:`find` gives a result, without reading it."""
        model = known_digest(asked.request)
        if model is None:
            return False
        if is_training(asked.request):
            return self.find(asked) is not None
        try:
            key = asked.result_key(model)
            known = self._finished(asked, model) or self._remembered(asked, key)
            return known is not None or self.store.has(key)
        except ResourceError:
            return False

    def ask(self, asked: ResolvedRequest, ahead: bool = False, record: bool = True, store: bool = True) -> Result | Job:
        """Return the stored result, recorded as a run of the user, else the job of :meth:`submit`; raise as that."""
        result = self.find(asked)
        if result is None:
            return self.submit(asked, ahead, record, store)
        if record and not ahead:
            self.record(asked, result)
        elif store:
            self.keep(asked, result)
        return result

    def submit(self, asked: ResolvedRequest, ahead: bool = False, record: bool = True, store: bool = True) -> Job:
        """Return a job that computes the request, shared by equal requests.

        ``ahead``: no user waits for it yet, so it is not urgent, as jobs of data sets are not. Its result becomes a run
        of the user, unless it is computed ahead or not to be recorded; without ``store`` it is only there while the job
        is. Raises as :func:`explainlab.service.limits.require_answerable`, and where the queue is full.
        """
        urgent = not (ahead or asked.is_batch)
        return self._submit(asked.key, [asked], urgent, record and not ahead, store)

    def submit_set(self, asked: Sequence[ResolvedRequest], record: bool = True, store: bool = True) -> Job:
        """Return one job that answers requests of a user about data sets, in their order, each as if alone.

        A stored result is not computed again, and a failed request stops no other: :attr:`Job.outcomes` has its reason.
        Otherwise as :meth:`submit`.
        """
        return self._submit(set_key(asked), asked, False, record, store)

    def cancel(self, key: str, user: User = LOCAL) -> None:
        """Cancel a job for ``user``, who no longer waits: see :meth:`explainlab.service.engine.Engine.cancel`."""
        with suppress(ResourceError):
            self.set_aside(key, self.engine.job(key), user)  # before the end of the job, which is no pause
        self.engine.cancel(key, user)

    def leave(self, job: Job, page: str, user: User) -> None:
        """Record that a ``page`` of ``user`` no longer shows ``job``.

        A job of one text is cancelled for ``user``, unless another page of theirs waits for it; one of a data set goes
        on.
        """
        if not (job.leave(user, page) or job.asked.is_batch):
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
        delete_made(resolve_model_alias(model_id, user.id), user, [*here, *elsewhere])

    def move(self, job: Job, by: int, user: User) -> None:
        """Let a waiting ``job`` of ``user`` change places with the one before (-1) or after it (1).

        An administrator moves everybody's, each among the jobs of its own users.
        """
        if user in job.users or is_administrator(user):
            self.engine.move(job.key, by)

    def compute_again(self, asked: ResolvedRequest) -> Job:
        """Return a job that computes the request anew, beside the stored result. Raises as :meth:`submit`."""
        require_bounded(asked.request)
        return self.engine.submit(asked.again_key, asked, not asked.is_batch, record=False)

    def computed_again(self, asked: ResolvedRequest) -> Job | None:
        """Return the job of :meth:`compute_again`, also if lately ended; or None."""
        return self.engine.job(asked.again_key)

    def job(self, asked: ResolvedRequest) -> Job | None:
        """Return the job of this request, also if lately ended; or None."""
        return self.engine.job(asked.key)

    def run(
        self, asked: ResolvedRequest, watch: Callable[[RunContext], RunContext] = lambda context: context
    ) -> Result:
        """Return the result, stored or computed on the caller's thread, not while the engine runs jobs.

        ``watch`` puts a context around that of the run.
        """
        estimate, context = Estimate(), watch(RunContext(asked.reader))
        context = replace(context, progress=context.progress.then(estimate.progress))
        result = self._answer(asked, context, lambda: (asked.user.id,))
        self.paces.learn_from(asked.request, estimate)
        return result

    def cut_short(self, user: User) -> list[Unanswered]:
        """Return the requests of ``user`` that earlier servers left unanswered, or that are paused.

        Requests that have been answered by now are left out. Raises :class:`ResourceError` where the store fails.
        """
        return [unanswered for unanswered in self.unanswered(user) if not self._is_answered(unanswered, user)]

    def read_models(self) -> None:
        """Read the files of the models that runs name and that are served here, so that pages know their digests."""
        with suppress(ResourceError):
            for model in self.store.runs.models():
                with suppress(ModelError, OSError):
                    require_model(model, LOCAL.id)
                    loading.known_digest(model, read=True)

    def _submit(self, key: str, asked: Sequence[ResolvedRequest], urgent: bool, record: bool, store: bool) -> Job:
        """Return the job ``key`` of these requests of a user, written down where its results become runs."""
        for one in asked:
            require_answerable(one.request)
        with self.engine.together():
            job = self.engine.submit(key, asked[0], urgent, record, asked[1:])
            if store:
                job.keepers.add(asked[0].user.id)
        if record:
            for one in asked:
                self.remember(one)
            if job.progress.finished:  # it ended before it was written down
                self._ended(job)
        return job

    def _work(self, asked: ResolvedRequest, context: JobContext) -> Result:
        """Answer a request of a job: the result becomes a run of all its readers."""
        asked = asked.as_of_now()  # the job may have waited long for its turn
        request = asked.request
        context.begin("loading the model")
        if known_digest(request) is None:
            locate(request.model)
        require_named(request)  # an adapter of the hub names the model that it changes only now
        context.estimate.pace = self.paces.of(request)
        try:
            if context.again:
                result = self._compute(asked, context.run, context.place)
            else:
                result = self._answer(asked, context.run, context.keepers, context.place)
        except MemoryShortage:
            if not has_larger(self.workers, context.place):
                raise
            context.require_more_than(self.workers[context.place].device_bytes or 0)
            raise Elsewhere from None
        if context.keepers():
            self.paces.learn_from(request, context.estimate)
        for user in context.readers:
            self.record(asked.of(user), result)
        return result

    def _help(self, asked: ResolvedRequest, context: HelpContext) -> None:
        """Do parts of what the job of the request hands out; they are stored for its keepers."""
        memory = StoredMemory(self.store, asked.subject, context.keepers)
        context.begin_on(self.workers[context.place].device)
        try:
            self.workers[context.place].answer([asked.request], memory.of(context.run))
        finally:
            memory.hold()

    def _preferred(self, job: Job) -> list[list[int]]:
        """Return the places of workers that can do ``job``: those that have its model, and the others."""
        return eligible_workers(self.workers, job.request.model, job.urgent, job.too_few_bytes, self.engine.held)

    def _ended(self, job: Job) -> None:
        for key in [one.key for one in job.all_asked] if job.more else [job.key]:
            self.late.write(partial(self.store.unfinished.end, key))

    def _is_answered(self, unanswered: Unanswered, user: User) -> bool:
        with suppress(RequestError, ModelError):  # reported when it is requested again
            return self.find(resolve(unanswered.request, user)) is not None
        return False

    def _answer(
        self, asked: ResolvedRequest, context: RunContext, owners: Callable[[], Collection[str]], place: int = 0
    ) -> Result:
        """Return the result, by the worker at ``place``, stored for the users with the ids that ``owners`` gives."""
        key = asked.result_key(model_digest(asked.request))
        memory = StoredMemory(self.store, asked.subject, owners)
        try:
            stored = self._stored(asked, key)
            result = stored or self._remembered(asked, key) or self._compute(asked, memory.of(context), place)
            for owner in owners():
                claim_models(result, owner)
            if owners():
                self._unstored.pop(key, None)
            elif stored is None:
                self._remember(key, result)
            return self._kept(asked, result, key, memory)
        finally:
            memory.hold()

    def _kept(self, asked: ResolvedRequest, result: Result, key: str, memory: StoredMemory) -> Result:
        """Return ``result`` once it is stored; with a warning where it will be when the store is back."""
        stored = result

        def keep() -> None:
            nonlocal stored
            stored = memory.keep_answer(key, result)
            memory.hold()
            job = self.engine.job(asked.key)
            if job is not None and job.result is not None:
                job.result = stored  # without the warning

        if (error := self.late.write(keep)) is None:
            return stored
        return result.with_warning(f"{UNSTORED} It will be when the store is back, unless the server stops. {error}")

    def _compute(self, asked: ResolvedRequest, context: RunContext, place: int = 0) -> Result:
        """Return the result, by the worker at ``place``; those for other targets that wait are remembered."""
        together, worker = [asked, *self._waiting_targets(asked.request)], self.workers[place]
        result, *others = worker.answer([one.request for one in together], context)
        for other, own in zip(together[1:], others, strict=True):
            self._remember(other.result_key(own.versions["model"]), own)
        return with_device_warning(result, worker.device, context.shards.helpers)

    def _waiting_targets(self, request: CompleteRequest) -> list[ResolvedRequest]:
        """Return the waiting requests that differ from ``request`` in their target alone, if a batch answers all."""
        if not targets_together(request):
            return []
        waiting = [job.asked for job in self.engine.unfinished() if job.progress.status == "queued"]
        return [
            other
            for other in waiting
            if other.request != request and _with_target(other.request, request.target) == request
        ]

    def _finished(self, asked: ResolvedRequest, model: str) -> Result | None:
        """Return the result of a job of this server by the model with the digest ``model``."""
        job = self.engine.job(asked.key)
        result = None if job is None else job.result
        return result if result is not None and result.versions["model"] == model and artifacts_exist(result) else None

    def _remember(self, key: str, result: Result) -> None:
        """Cache a ``result`` that no user owns in memory, so that the next request for it is not recomputed."""
        self._unstored[key] = result
        for oldest in list(self._unstored)[:-_MOST_UNSTORED]:
            self._unstored.pop(oldest, None)

    def _remembered(self, asked: ResolvedRequest, key: str) -> Result | None:
        """Return the result of :meth:`_remember`, with the model named as in the request."""
        result = self._unstored.get(key)
        return result.answering(asked.request) if result and artifacts_exist(result) else None

    def _stored(self, asked: ResolvedRequest, key: str) -> Result | None:
        """Return the stored result, with the model named as in the request; None also where the store fails."""
        with suppress(ResourceError):
            result = self.store.get(key)
            return result.answering(asked.request) if result and artifacts_exist(result) else None
        return None


def _with_target(request: CompleteRequest, target: str) -> CompleteRequest:
    return request.model_copy(update={"target": target})


def open_service(device: str | None = None, workers: Sequence[Worker] = (), notice: str = "") -> Service:
    """Open a service on the store that the settings name, or on memory alone where it cannot be used."""
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
    """Return the service of this process."""
    with _lock:
        return _service()


@lru_cache(maxsize=1)
def _service() -> Service:
    workers, problem = at_hand()
    opened = open_service(workers=workers, notice=problem)
    threading.Thread(target=opened.read_models, name="explainlab-digests", daemon=True).start()
    return opened
