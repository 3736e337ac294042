"""The state of an instance: running and waiting jobs, loaded models, whether the store answers."""

from __future__ import annotations

import os
import platform
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from explainlab.attribution.explain import versions
from explainlab.errors import ModelError, ResourceError
from explainlab.service.fleet.worker_reports import state_of
from explainlab.service.jobs import Job
from explainlab.service.limits import require_model
from explainlab.service.service import Service
from explainlab.service.store.trouble import trouble
from explainlab.service.users import LOCAL, User, is_administrator
from explainlab.settings import settings
from explainlab.workers.pool import Loaded
from explainlab.workers.worker import Condition

SILENT_SECONDS = 600.0
"""Seconds without a sign of life after which a worker is taken for dead."""
LEAST_FREE_MB = 50
"""An instance with less free space, on the disk of the home folder or of the store, is not ready."""
OF_OTHERS = "another user's model"
"""In place of the id of a loaded model that a user may not name."""


@dataclass(frozen=True)
class QueueEntry:
    """A job in the queue; ``job`` itself only for its users (``own``) and for administrators.

    ``earlier`` and ``later``: whether the user may move it so.
    """

    running: bool
    urgent: bool
    job: Job | None
    own: bool = False
    earlier: bool = False
    later: bool = False


@dataclass(frozen=True)
class Station:
    """A worker: how it is (``condition``), its ``state`` in a word, and what has its turn there.

    ``job``: only for its users and for administrators; else None, also where there is one (``busy``). The condition
    names the models of others as :data:`OF_OTHERS`.
    """

    condition: Condition
    state: str
    busy: bool
    job: Job | None


@dataclass(frozen=True)
class Status:
    """The status for one user. ``free_bytes``: of the device; ``problem``: of the store or the disk, or empty."""

    places: tuple[QueueEntry, ...]
    workers: tuple[Station, ...]
    loaded: tuple[Loaded, ...]
    device: str
    free_bytes: int | None
    worker_alive: bool
    out_of_memory: bool
    problem: str


def status(service: Service, user: User) -> Status:
    """Return the instance as ``user`` may see it: without the contents of others' jobs and the ids of their models."""
    return Status(
        places=tuple(_place(service, job, user) for job in service.engine.unfinished()),
        workers=tuple(_station(service, place, user) for place in range(len(service.workers))),
        loaded=tuple(
            replace(model, id=_shown(model.id, user)) for worker in service.workers for model in worker.loaded
        ),
        device=service.workers[0].device,
        free_bytes=service.workers[0].free_bytes,
        worker_alive=_is_alive(service),
        out_of_memory=_is_out_of_memory(service),
        problem=_store_problem(service) or _disk_problem(service),
    )


def health(service: Service) -> dict[str, Any]:
    """Return ``{"ready", "store", "disk", "worker", "memory", "problem", "running", "waiting", "workers"}``.

    They say which parts work, the problem of the store or the disk, how many jobs run and wait, and how many workers
    there are of each state.
    """
    store, disk = _store_problem(service), _disk_problem(service)
    jobs = service.engine.unfinished()
    running = sum(job.progress.status == "running" for job in jobs)
    able = {
        "store": not store,
        "disk": not disk,
        "worker": _is_alive(service),
        "memory": not _is_out_of_memory(service),
    }
    stations = (_station(service, place, LOCAL) for place in range(len(service.workers)))
    workers = dict(Counter(station.state for station in stations))
    does = {"running": running, "waiting": len(jobs) - running, "workers": workers}
    return {"ready": all(able.values()), **able, "problem": store or disk, **does}


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries, by name."""
    return {"python": platform.python_version(), "streamlit": version("streamlit"), **versions()}


def _place(service: Service, job: Job, user: User) -> QueueEntry:
    running, own = job.progress.status == "running", user in job.users
    if not _may_see(job, user):
        return QueueEntry(running, job.urgent, None)
    peers = service.engine.peers(job.key) or [job]
    return QueueEntry(running, job.urgent, job, own, earlier=peers[0] is not job, later=peers[-1] is not job)


def _station(service: Service, place: int, user: User) -> Station:
    condition, job = service.workers[place].condition, service.engine.at(place)
    state = state_of(condition, job is not None)
    condition = replace(condition, models=tuple(_shown(model, user) for model in condition.models))
    return Station(condition, state, job is not None, job if job and _may_see(job, user) else None)


def _may_see(job: Job, user: User) -> bool:
    return user in job.users or is_administrator(user)


def _shown(model_id: str, user: User) -> str:
    """Return the id of a loaded model to who may name it and to administrators, :data:`OF_OTHERS` to all else."""
    if not is_administrator(user):
        try:
            require_model(model_id, user.id)
        except ModelError:
            return OF_OTHERS
    return model_id


def _is_alive(service: Service) -> bool:
    able = any(worker.condition.state != "refused" for worker in service.workers)
    return able and service.engine.silent_seconds < SILENT_SECONDS


def _is_out_of_memory(service: Service) -> bool:
    return any(worker.out_of_memory for worker in service.workers)


def _store_problem(service: Service) -> str:
    """Return why results are not kept as they should be; empty if they are."""
    try:
        service.store.lease.renew()  # writes
        return service.notice
    except ResourceError as error:
        return str(error)


def _disk_problem(service: Service) -> str:
    """Return why the folders of the home, of the store's file and of its parts take no more; empty if they do."""
    for folder in {settings().home, service.store.folder or settings().home, service.store.parts.folder}:
        if not folder.is_dir():  # nothing is kept there
            continue
        if not os.access(folder, os.W_OK):
            return str(trouble(f"The folder {folder} cannot be written.", "Check the disk and the permissions."))
        free = shutil.disk_usage(folder).free // 2**20
        if free < LEAST_FREE_MB:
            return f"The disk is full: {free:,} MB are left. Results are kept as long as there is room; free some."
    return ""
