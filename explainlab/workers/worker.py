"""A worker, which answers requests on one device: its condition, and the choice among several for a task."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from explainlab.errors import ResourceError
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.training import Trained
from explainlab.workers.pool import Loaded

State = Literal["ready", "starting", "lost", "refused", "away", "spare"]
_WINDOW = 10.0  # seconds


@dataclass(frozen=True)
class Condition:
    """The condition in a worker's last report, made at ``seen`` (seconds since 1970, None: never).

    ``place`` is its machine and the id of its process, empty while it is not known. ``texts_per_second`` are those that
    its models read, perturbed ones too, in the last ten seconds; ``memory_bytes`` its own (None: not known).
    ``restarts`` counts the processes that were lost; ``sent`` and ``received`` are the bytes to and from the present
    one, 0 where it is this process. ``problem`` says why it is refused or away; else empty. A ``spare`` one is for when
    all others are away or busy with one long batch.
    """

    name: str
    state: State
    place: str
    device: str
    models: tuple[str, ...]
    texts_per_second: float
    memory_bytes: int | None
    seen: float | None
    restarts: int = 0
    sent: int = 0
    received: int = 0
    problem: str = ""


def place_of(state: Mapping[str, Any]) -> str:
    """Return the machine and the process of a worker by its own report; empty where it has made none."""
    return f"{state['host']}, process {state['pid']}" if "host" in state else ""


class Meter:
    """A meter of the texts read a second. Safe to use from any thread."""

    def __init__(self) -> None:
        self._read: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def add(self, texts: int) -> None:
        """Count texts that were read now."""
        with self._lock:
            self._read.append((time.monotonic(), texts))
            self._forget()

    @property
    def rate(self) -> float:
        """Texts a second in the last ten seconds, or since the first of them that was read."""
        with self._lock:
            self._forget()
            since = time.monotonic() - self._read[0][0] if self._read else 0.0
            return sum(texts for _, texts in self._read) / max(1.0, since)

    def _forget(self) -> None:
        """Drop the counts older than ten seconds; the lock is held."""
        since = time.monotonic() - _WINDOW
        while self._read and self._read[0][0] < since:
            self._read.popleft()


MOST_TRIES = 3
"""Maximum attempts at a task whose process dies."""
_this_thread = threading.local()


class Elsewhere(Exception):
    """An error of a worker that cannot do a task now; another one may, or this one later.

    ``tries`` counts its processes that the task has ended.
    """

    def __init__(self, tries: int = 0) -> None:
        super().__init__()
        self.tries = tries


def retire_thread() -> None:
    """Let nothing else run on this thread, on which memory ran out."""
    _this_thread.retired = True


def is_retired() -> bool:
    """Tell if this thread has called :func:`retire_thread`."""
    return getattr(_this_thread, "retired", False)


def ended_too_often() -> ResourceError:
    """Return the error for a task that has used up its tries."""
    return ResourceError(
        f"The process that computes ended {MOST_TRIES} times in the middle of this.",
        "It may need more memory than there is: try a smaller model, a shorter text or fewer steps.",
    )


class Worker(Protocol):
    """A worker: it answers several requests at once if each waits for its turn in its context. It holds models only.

    A ``spare`` one takes single texts while all others are away or busy with one long batch. ``changed`` is called when
    it comes or goes.
    """

    spare: bool
    changed: Callable[[], None]

    @property
    def device(self) -> str:
        """The device on which it computes."""

    @property
    def loaded(self) -> tuple[Loaded, ...]:
        """The models in its memory."""

    @property
    def out_of_memory(self) -> bool:
        """True if a model could not read a word even alone in memory, and none has succeeded since."""

    @property
    def free_bytes(self) -> int | None:
        """Free memory of its device; None where it is not known."""

    @property
    def device_bytes(self) -> int | None:
        """Memory of its device in all; None where it is not known."""

    @property
    def away(self) -> str:
        """The reason why it takes no tasks now; empty where it does."""

    @property
    def condition(self) -> Condition:
        """Its condition by its last report."""

    def answer(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        """Return the results of ``requests``, which differ in their targets alone; raises their errors.

        Raises :class:`explainlab.errors.MemoryShortage` where memory does not suffice, also for one request alone, and
        :class:`Elsewhere` where it is ``away``.
        """

    def train(self, fields: Mapping[str, Any], context: RunContext) -> list[Trained]:
        """Return the classifiers that :func:`explainlab.training.train_files` makes of ``fields``, plain JSON.

        Its files are those of the worker's machine. Raises what the training raises.
        """

    def close(self) -> None:
        """Let go of everything; the worker takes no tasks afterwards."""


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
