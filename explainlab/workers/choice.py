"""A choice among several workers for a task."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from explainlab.workers.worker import Worker


def eligible_workers(
    workers: Sequence[Worker], model: str, urgent: bool, too_few_bytes: int = 0, held: Collection[int] = ()
) -> list[list[int]]:
    """Return the places of the ``workers`` able to do something with ``model``: those that have it loaded, the others.

    Those that are away or have no more memory than ``too_few_bytes`` cannot. While each is away, or at a place ``held``
    by one long turn, spare ones come first for ``urgent`` work.
    """
    groups: list[list[int]] = [[], []]
    for place, worker in enumerate(workers):
        if not worker.spare and not worker.away and _bytes(worker, math.inf) > too_few_bytes:
            groups[all(own.id != model for own in worker.loaded)].append(place)
    spares = [place for place, worker in enumerate(workers) if worker.spare]
    if urgent and spares and all(worker.away or place in {*spares, *held} for place, worker in enumerate(workers)):
        return [spares, [place for group in groups for place in group]]
    return groups


def why_away(workers: Sequence[Worker]) -> str:
    """Return why nothing but single texts can be done now; empty where a worker is there."""
    reasons = [worker.away for worker in workers if not worker.spare]
    return reasons[0] if all(reasons) else ""


def has_larger(workers: Sequence[Worker], place: int) -> bool:
    """Return whether one of the ``workers`` is known to have more memory than the one at ``place``."""
    here = _bytes(workers[place], 0)
    return any(_bytes(worker, 0) > here for worker in workers if not worker.spare)


def _bytes(worker: Worker, unknown: float) -> float:
    return unknown if worker.device_bytes is None else worker.device_bytes
