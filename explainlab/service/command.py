"""How a command gets its answers: in its own process, or from workers that it starts for itself."""

from __future__ import annotations

import atexit
import json
import time
from collections.abc import Sequence
from typing import Any

from explainlab.errors import ExplainLabError, RequestError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.fleet import merged, workers_json
from explainlab.service.questions import asked_by, is_batch, job_key
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from explainlab.settings import settings
from explainlab.workers.answering import Answering
from explainlab.workers.local import configured, here, processes
from explainlab.workers.worker import Worker

_LOOK_SECONDS = 1.0
_START_SECONDS = 180.0


def workers_for(engine: str | None, count: int | None, device: str | None) -> list[Worker]:
    """The workers for one command, which end with it: as many of ``engine`` as it asks for, else as the settings say.

    None where neither asks for any: then its own process computes, which is there already. Raises
    :class:`RequestError` for a ``device`` with Ray, and as :func:`explainlab.workers.local.configured`.
    """
    if engine is not None:
        settings().engine = engine  # type: ignore[assignment]  # checked by the command line
    if count is not None:
        settings().workers = count
    if settings().engine == "ray":
        if device is not None:
            raise RequestError("Ray chooses the device of its workers.", "Leave --device out, or take --engine local.")
        return _until_the_end(configured())
    return _until_the_end(processes(settings().workers, device)) if settings().workers else []


def answered(service: Service, request: Request) -> Result:
    """The result of ``request``, for who has a shell on this machine: stored, computed in this process, or by workers.

    Raises what the run raises.
    """
    if isinstance(service.workers[0], Answering):
        return service.run(request)
    asked = asked_by(request, LOCAL)
    with service.engine.together():
        job = service.engine.submit(job_key(asked), asked, LOCAL, not is_batch(asked), record=False)
        job.keepers.add(LOCAL.id)
    try:
        while not service.engine.wait(job, _LOOK_SECONDS):
            job.seen = time.monotonic()
    except KeyboardInterrupt:
        service.cancel(job.key)
        raise
    if job.result is None:
        raise ExplainLabError(job.progress.error)
    return job.result


def all_workers() -> dict[str, Any]:
    """``{"engine", "address", "workers"}`` of the servers that run on this installation's store.

    Where none does, the workers that the settings name are started, looked at and ended. Raises
    :class:`explainlab.errors.ResourceError` where the store or the cluster does not answer.
    """
    told = Store(settings().store_url).lease.told()
    if told:
        return merged(told)
    workers = configured() or [here()]
    try:
        until = time.monotonic() + _START_SECONDS
        while any(worker.condition.state == "starting" for worker in workers) and time.monotonic() < until:
            time.sleep(0.1)
        body: dict[str, Any] = json.loads(workers_json(workers))
    finally:
        for worker in workers:
            worker.close()
    return body


def _until_the_end(workers: Sequence[Worker]) -> list[Worker]:
    for worker in workers:
        atexit.register(worker.close)
    return list(workers)
