"""A job: one request on its way through the queue, and the context that ties a running method to it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Literal

from explainlab.compute.questions import Answer, Question
from explainlab.errors import Cancelled
from explainlab.models.context import RunContext

Status = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Progress:
    """A snapshot that any thread may read: it is replaced whole, never changed.

    ``done`` of ``total`` passes of ``phase`` (total 0: not known yet); ``started`` and ``phase_started`` are seconds on
    the monotonic clock; ``error`` says what went wrong and what to do.
    """

    status: Status = "queued"
    phase: str = ""
    done: int = 0
    total: int = 0
    started: float | None = None
    phase_started: float | None = None
    error: str = ""

    @property
    def finished(self) -> bool:
        """Whether it has ended, well or badly."""
        return self.status in ("done", "failed", "cancelled")

    @property
    def seconds_left(self) -> float | None:
        """Estimate for the current phase from its pace so far; None before its first batch."""
        if not self.done or self.phase_started is None:
            return None
        return (time.monotonic() - self.phase_started) / self.done * (self.total - self.done)


@dataclass(eq=False)
class Job:
    """``request`` asked by ``owners``; cancelled for good only when the last of them cancels."""

    key: str
    request: Question
    owners: set[str]
    progress: Progress = field(default_factory=Progress)
    result: Answer | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def update(self, **changes) -> None:
        """Replace the snapshot."""
        self.progress = replace(self.progress, **changes)


class JobContext(RunContext):
    """Reports a method's progress into its job and stops it when the job is cancelled."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._batch_started = time.monotonic()

    def report(self, done: int, total: int, phase: str) -> None:
        before = self._job.progress
        changes = {"done": done, "total": total, "phase": phase}
        if (phase, total) != (before.phase, before.total) or done < before.done:
            changes["phase_started"] = self._batch_started
        self._job.update(**changes)

    def begin(self, phase: str) -> None:
        """A phase whose length is not known yet has begun."""
        self._job.update(phase=phase, done=0, total=0, phase_started=time.monotonic())

    def check_cancelled(self) -> None:
        self._batch_started = time.monotonic()
        if self._job.stop.is_set():
            raise Cancelled
