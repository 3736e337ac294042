"""The service: ask a question, get the stored answer or a job. Pages and the command line know nothing below it."""

from __future__ import annotations

import threading
from functools import lru_cache

from explainlab.attribution.explain import answer
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete, request_key
from explainlab.compute.jobs import Job, JobContext
from explainlab.compute.pool import ModelPool
from explainlab.compute.worker import Worker
from explainlab.errors import ResourceError
from explainlab.models.context import RunContext
from explainlab.models.loading import known_digest, model_digest
from explainlab.request import Request, digest
from explainlab.settings import settings
from explainlab.store.store import Store


class Service:
    """The store, one device's worker, and the way between them. Safe to use from any thread."""

    def __init__(self, store: Store, device: str | None = None) -> None:
        self.store = store
        self._pool = ModelPool(device, settings().model_pool_mb * 2**20)
        self.worker = Worker(self._answer, settings().max_queue)

    def find(self, request: Request) -> Attribution | None:
        """The stored answer, or None; never loads a model, never waits for the network.

        Raises :class:`explainlab.errors.RequestError` for a request that can have no answer.
        """
        request = complete(request)
        job = self.worker.job(_job_key(request))
        if job is not None and job.result is not None and job.result.versions["model"] == known_digest(request.model):
            return job.result
        model = known_digest(request.model)
        return self.store.get(request_key(request, model)) if model else None

    def submit(self, request: Request, owner: str) -> Job:
        """A job that will answer ``request``, shared with whoever asks the same."""
        request = complete(request)
        return self.worker.submit(_job_key(request), request, owner)

    def job(self, request: Request) -> Job | None:
        """The job of this request, if there is or lately was one."""
        return self.worker.job(_job_key(complete(request)))

    def run(self, request: Request, context: RunContext | None = None) -> Attribution:
        """Answer ``request`` here and now, on the caller's thread, from the store if it is there."""
        return self._answer(complete(request), context or RunContext())

    def _answer(self, request: Request, context: RunContext) -> Attribution:
        if isinstance(context, JobContext):
            context.begin("loading the model")
        key = request_key(request, model_digest(request.model))
        stored = self._stored(key)
        if stored is not None:
            return stored
        result = answer(self._pool.get(request.model, request.dtype), request, context)
        try:
            self.store.put(key, result)
        except ResourceError as error:
            note = f"This result could not be stored and will be gone after a restart. {error}"
            result = result.with_warning(note)
        return result

    def _stored(self, key: str) -> Attribution | None:
        try:
            return self.store.get(key)
        except ResourceError:
            return None


def _job_key(request: Request) -> str:
    return digest(request.model_dump(mode="json"))


_lock = threading.Lock()


def service() -> Service:
    """The service of this process."""
    with _lock:
        return _service()


@lru_cache(maxsize=1)
def _service() -> Service:
    return Service(Store(settings().store_url))
