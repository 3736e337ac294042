"""The workers of this machine."""

from __future__ import annotations

import os

import torch

from explainlab.errors import ExplainLabError
from explainlab.models.devices import choose_device
from explainlab.settings import settings
from explainlab.workers.answering import Answering
from explainlab.workers.process import Process
from explainlab.workers.worker import Worker

_MB = 2**20


def here(device: str | None = None, spare: bool = False) -> Answering:
    """Return the worker in this process.

    Raises :class:`explainlab.errors.RequestError` for a device that is not here.
    """
    return Answering(device, settings().model_pool_mb * _MB, settings().limits, spare)


def configured() -> list[Worker]:
    """Return the workers that the settings ask for, and a spare one in this process; none if it is to compute itself.

    Raises :class:`explainlab.errors.ResourceError` and :class:`explainlab.errors.RequestError` as
    :func:`explainlab.workers.cluster.cluster`.
    """
    if settings().engine == "ray":
        from explainlab.workers.cluster.workers import cluster

        return [*cluster(settings().workers), here(spare=True)]
    own = processes(settings().workers)
    return [*own, here(spare=True)] if own else []


def at_hand() -> tuple[list[Worker], str]:
    """Return the workers that the settings ask for; or none, and the reason. A hosted instance raises it instead."""
    try:
        return configured(), ""
    except ExplainLabError as error:
        if settings().hosted:
            raise
        return [], f"Nothing but this process computes. {error}"


def processes(count: int | None = None, device: str | None = None) -> list[Worker]:
    """Return ``count`` workers in processes of their own (None: one for each GPU, else one); none for 0.

    Where there are several each has a GPU for itself, or its share of the cores; one has all.
    ``device`` None: the best here. Raises :class:`explainlab.errors.RequestError` for one that is not here.
    """
    kind = choose_device(device).type
    gpus = torch.cuda.device_count() if kind == "cuda" else 0
    wanted = max(1, gpus) if count is None else count
    several = wanted > 1
    threads = max(1, (os.cpu_count() or 1) // wanted) if several and kind == "cpu" else 0
    return [
        Process(
            f"cuda:{number % gpus}" if gpus and several else device,
            settings().model_pool_mb * _MB,
            settings().limits,
            threads,
            settings().max_worker_mb,
            str(number + 1),
        )
        for number in range(wanted)
    ]
