"""A job: one request in the queue, and the context through which a running method reports to it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explainlab.errors import Cancelled, ResourceError
from explainlab.models.classifier import Prediction
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.service.uploads import reader_of
from explainlab.service.users import User
from explainlab.settings import limit_words

Status = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Progress:
    """A snapshot that any thread may read: it is replaced, never changed.

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
        """Estimate for the current phase at its speed so far; None before its first batch."""
        if not self.done or self.phase_started is None:
            return None
        return (time.monotonic() - self.phase_started) / self.done * (self.total - self.done)


@dataclass(eq=False)
class Job:
    """The ``request`` of ``owners``, sessions with their users; it is cancelled only when the last owner cancels.

    ``urgent``: somebody waits for one text, so it runs before other jobs, and between their batches.
    ``prediction`` is that for its text, there before its result; None for a data set.
    """

    key: str
    request: CompleteRequest
    owners: dict[str, User]
    urgent: bool = True
    progress: Progress = field(default_factory=Progress)
    prediction: Prediction | None = None
    result: Result | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def users(self) -> list[User]:
        """Its users, each once, the first first."""
        return list(dict.fromkeys([*self.owners.values()]))

    def update(self, **changes: Any) -> None:
        """Replace the snapshot."""
        self.progress = replace(self.progress, **changes)


def no_pause() -> float:
    """Do nothing between two batches: see :class:`JobContext`."""
    return 0.0


class JobContext(RunContext):
    """Reports a method's progress to its job, and stops it when it is cancelled or has run for ``limit`` seconds.

    ``pause`` is called before every batch and returns the seconds that it took, which do not count.
    """

    def __init__(self, job: Job, pause: Callable[[], float] = no_pause, limit: float = math.inf) -> None:
        super().__init__(reader_of(job.request))
        self._job = job
        self._pause = pause
        self._limit = limit
        self._deadline = time.monotonic() + limit
        self._batch_started = time.monotonic()

    @property
    def key(self) -> str:
        """The job's key."""
        return self._job.key

    @property
    def users(self) -> list[User]:
        """The job's users by now."""
        return self._job.users

    @property
    def urgent(self) -> bool:
        """Whether somebody waits for the job now."""
        return self._job.urgent

    def report(self, done: int, total: int, phase: str) -> None:
        before = self._job.progress
        changes = {"done": done, "total": total, "phase": phase}
        if (phase, total) != (before.phase, before.total) or done < before.done:
            changes["phase_started"] = self._batch_started
        self._job.update(**changes)

    def tell(self, prediction: Prediction) -> None:
        if self._job.request.data is None and self._job.prediction is None:
            self._job.prediction = prediction

    def begin(self, phase: str) -> None:
        """A phase whose length is not known yet has begun."""
        self._job.update(phase=phase, done=0, total=0, phase_started=time.monotonic())

    def check_cancelled(self) -> None:
        self._without(self._pause())
        self._batch_started = time.monotonic()
        if self._job.stop.is_set():
            raise Cancelled
        if self._batch_started > self._deadline:
            raise ResourceError(
                f"The job was ended after {self._limit:g} s of work.",
                "Texts of a data set that are finished are kept: run it again to go on from there. "
                + limit_words("max_job_seconds"),
            )

    def _without(self, seconds: float) -> None:
        """Count ``seconds`` neither as work nor as pace."""
        started = self._job.progress.phase_started
        self._deadline += seconds
        if seconds and started is not None:
            self._job.update(phase_started=started + seconds)
