"""Answers for commands: computed in the process of the command, or by workers that it starts."""

from __future__ import annotations

import atexit
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from explainlab.analyses.wording import takes
from explainlab.errors import ExplainLabError, RequestError
from explainlab.models.context import Receivers, RunContext
from explainlab.result import Result
from explainlab.service.cost_estimates import CostEstimate, estimate_cost, with_seconds
from explainlab.service.fleet.worker_reports import merged, workers_json
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.uploads import reader_for
from explainlab.service.users import LOCAL
from explainlab.settings import settings
from explainlab.training import Trained, out_directories, settings_for
from explainlab.workers.answering import Answering
from explainlab.workers.cluster.address import require_answer
from explainlab.workers.local import configured, here, processes
from explainlab.workers.worker import Worker

_LOOK_SECONDS = 1.0
_START_SECONDS = 180.0


def workers_for(engine: str | None, count: int | None, device: str | None) -> list[Worker]:
    """Return the workers for one command, which end with it: ``count`` of ``engine``, by default those of the settings.

    Returns none where the process of the command computes alone. Raises :class:`RequestError` for a ``device`` with
    Ray, and as :func:`explainlab.workers.local.configured`.
    """
    if engine is not None:
        settings().engine = engine  # type: ignore[assignment]  # checked by the command line
    if count is not None:
        settings().workers = count
    if settings().engine == "ray":
        if device is not None:
            raise RequestError("Ray chooses the device of its workers.", "Leave --device out, or take --engine local.")
        return _until_the_end(_answering())
    return _until_the_end(processes(settings().workers, device)) if settings().workers else []


def answered(
    service: Service,
    asked: ResolvedRequest,
    watch: Callable[[RunContext], RunContext] = lambda context: context,
    report: Callable[[int, int, str], None] = lambda *_: None,
    foretell: Callable[[float], None] = lambda _: None,
) -> Result:
    """Answer a command-line request from the store, in this process, or on workers.

    ``watch`` puts a context around a run in this process. ``report`` gets the progress of a run by workers, and
    ``foretell`` its seconds. Raises the errors of the run.
    """
    if isinstance(service.workers[0], Answering):
        return service.run(asked, watch)
    with service.engine.together():
        job = service.engine.submit(asked.key, asked, not asked.is_batch, record=False)
        job.keepers.add(asked.user.id)
    try:
        while not service.engine.wait(job, _LOOK_SECONDS):
            job.seen = time.monotonic()
            now = job.progress
            report(now.done, now.total, now.phase)
            if now.seconds_left is not None and now.started is not None:
                foretell(job.seen - now.started + now.seconds_left)
    except KeyboardInterrupt:
        service.cancel(job.key)
        raise
    if job.result is None:
        raise ExplainLabError(job.progress.error)
    return job.result


def cost_words(service: Service, asked: ResolvedRequest, seconds: float) -> str:
    """Tell the cost of a request, which takes ``seconds``, in the words of the pages.

    The estimate is made on another thread, where the modes that a run has set for its own passes do not hold.
    """

    def estimate() -> CostEstimate | None:
        with suppress(ExplainLabError):  # shown when the request is run
            return estimate_cost(asked.request, asked.reader)
        return None

    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(estimate).result()
    if found is None:
        return f"{takes(seconds)}."
    return replace(with_seconds(found, asked.request, service.paces), seconds=seconds).words


def trained_by(
    workers: Sequence[Worker],
    data: str,
    base: str,
    out: str,
    *,
    checkpoints: str | None,
    report: Callable[[int, int, str], None],
    **settings: object,
) -> list[Trained]:
    """Train as :func:`explainlab.training.train_files`, each seed by one of ``workers``; raise as that.

    Workers get absolute paths, and need the files on their machine.
    """
    first = settings_for(base, **settings)
    directories = out_directories(out, first.seeds)
    reader = reader_for(LOCAL.id)  # of any file of this machine
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def one(number: int) -> list[Trained]:
        own = {**settings, "seed": first.seed + number, "seeds": 1}
        fields = {"data": data, "base": base, **own, "checkpoints": checkpoints and os.path.abspath(checkpoints)}
        named = {name: _everywhere(value) for name, value in fields.items()}
        progress = Receivers(lambda done, total, phase: report(done, total, f"{phase}, model {number}"))
        worker = free.get()
        try:
            _await_ready([worker])
            return worker.train({**named, "out": str(directories[number].absolute())}, RunContext(reader, progress))
        finally:
            free.put(worker)

    with ThreadPoolExecutor(len(workers)) as threads:
        return [model for models in threads.map(one, range(first.seeds)) for model in models]


def all_workers() -> dict[str, Any]:
    """Return ``{"engine", "address", "workers"}`` of the servers that run on this installation's store.

    Where none does, the workers that the settings name are started, looked at and ended. Raises
    :class:`explainlab.errors.ResourceError` where the store or the cluster does not answer.
    """
    told = Store(settings().store_url, settings().parts).lease.told()
    if told:
        return merged(told)
    workers = _answering() or [here()]
    try:
        _await_ready(workers)
        body: dict[str, Any] = json.loads(workers_json(workers))
    finally:
        for worker in workers:
            worker.close()
    return body


def _everywhere(value: object) -> object:
    """Return ``value``, or the absolute path of an existing file."""
    return os.path.abspath(value) if isinstance(value, str) and os.path.exists(value) else value


def _answering() -> list[Worker]:
    """Return the workers that the settings ask for, of a running cluster."""
    if settings().engine == "ray":
        require_answer()
    return configured()


def _await_ready(workers: Sequence[Worker]) -> None:
    """Wait until ``workers`` have been started, or that has taken too long."""
    until = time.monotonic() + _START_SECONDS
    while any(worker.condition.state in ("starting", "away") for worker in workers) and time.monotonic() < until:
        time.sleep(0.1)


def _until_the_end(workers: Sequence[Worker]) -> list[Worker]:
    for worker in workers:
        atexit.register(worker.close)
    return list(workers)
