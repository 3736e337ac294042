"""Which of several workers may do something."""

from __future__ import annotations

import math
from collections.abc import Sequence

from explainlab.workers.worker import Worker


def able(workers: Sequence[Worker], model: str, urgent: bool, too_few_bytes: int = 0) -> list[list[int]]:
    """The places of the ``workers`` that can do something with ``model``: those that have it loaded, and the others.

    Those that are away or have no more memory than ``too_few_bytes`` cannot. While all are away, spare ones do what is
    ``urgent``.
    """
    groups: list[list[int]] = [[], []]
    for place, worker in enumerate(workers):
        if not worker.spare and not worker.away and _bytes(worker, math.inf) > too_few_bytes:
            groups[all(own.id != model for own in worker.loaded)].append(place)
    if urgent and all(worker.spare or worker.away for worker in workers):
        groups[0] = [place for place, worker in enumerate(workers) if worker.spare]
    return groups


def why_away(workers: Sequence[Worker]) -> str:
    """Why nothing but single texts can be done now; empty where a worker is there."""
    reasons = [worker.away for worker in workers if not worker.spare]
    return reasons[0] if all(reasons) else ""


def has_larger(workers: Sequence[Worker], place: int) -> bool:
    """Whether one of the ``workers`` is known to have more memory than the one at ``place``."""
    here = _bytes(workers[place], 0)
    return any(_bytes(worker, 0) > here for worker in workers if not worker.spare)


def _bytes(worker: Worker, unknown: float) -> float:
    return unknown if worker.device_bytes is None else worker.device_bytes
