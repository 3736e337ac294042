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
from explainlab.service.estimate import Estimate
from explainlab.service.uploads import reader_of
from explainlab.service.users import User
from explainlab.settings import limit_words

Status = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Progress:
    """A snapshot that any thread may read: it is replaced, never changed.

    ``done`` of ``total`` passes or texts of ``phase`` (total 0: not known yet). ``share`` of the whole job is done and
    never goes down; about ``seconds_left`` more are needed (None: not known). ``started`` is in seconds on the
    monotonic clock; ``error`` says what went wrong and what to do.
    """

    status: Status = "queued"
    phase: str = ""
    done: int = 0
    total: int = 0
    share: float = 0.0
    seconds_left: float | None = None
    started: float | None = None
    error: str = ""

    @property
    def finished(self) -> bool:
        """Whether it has ended, well or badly."""
        return self.status in ("done", "failed", "cancelled")


@dataclass(eq=False)
class Job:
    """The ``request`` of ``owners``, sessions with their users; it is cancelled only when the last owner cancels.

    ``urgent``: somebody waits for one text, so it runs before other jobs, and between their batches. Its result
    becomes a run of ``readers``: those who requested it, not merely opened a page that shows it. It is stored for
    ``keepers``, ids of users; without any it is gone with the job. ``prediction`` is that for its text, there before
    its result; None for a data set.
    """

    key: str
    request: CompleteRequest
    owners: dict[str, User]
    urgent: bool = True
    readers: set[User] = field(default_factory=set)
    keepers: set[str] = field(default_factory=set)
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
    """Reports a run's progress to its job, and stops it when it is cancelled or has run for ``limit`` seconds.

    ``pause`` is called before every batch and returns the seconds that it took, which do not count. ``estimate`` knows
    how far the job is.
    """

    def __init__(self, job: Job, pause: Callable[[], float] = no_pause, limit: float = math.inf) -> None:
        super().__init__(reader_of(job.request))
        self.estimate = Estimate()
        self._job = job
        self._pause = pause
        self._limit = limit
        self._deadline = time.monotonic() + limit

    @property
    def key(self) -> str:
        """The job's key."""
        return self._job.key

    @property
    def readers(self) -> list[User]:
        """The users of whom the result becomes a run."""
        return [user for user in self._job.users if user in self._job.readers]

    def keepers(self) -> tuple[str, ...]:
        """The ids of the users for whom the result is stored."""
        return tuple(self._job.keepers)

    def report(self, done: int, total: int, phase: str) -> None:
        self._job.update(done=done, total=total, phase=phase)

    def predicted(self, prediction: Prediction) -> None:
        if self._job.request.data is None and self._job.prediction is None:
            self._job.prediction = prediction

    def begin(self, phase: str) -> None:
        """A phase whose length is not known yet has begun."""
        self._job.update(phase=phase, done=0, total=0)

    def expect(self, work: float, exact: bool = True) -> None:
        self.estimate.expect(time.monotonic(), work, exact)
        self._tell()

    def part(self, work: float) -> None:
        self.estimate.part(time.monotonic(), work)
        self._tell()

    def spend(self, work: float) -> None:
        self.estimate.spend(time.monotonic(), work)
        self._tell()

    def check_cancelled(self) -> None:
        paused = self._pause()
        self._deadline += paused
        self.estimate.pause(paused)
        if self._job.stop.is_set():
            raise Cancelled
        if time.monotonic() > self._deadline:
            raise ResourceError(
                f"The job was ended after {self._limit:g} s of work.",
                "Texts of a data set that are finished are kept: run it again to go on from there. "
                + limit_words("max_job_seconds"),
            )

    def _tell(self) -> None:
        self._job.update(share=self.estimate.share, seconds_left=self.estimate.seconds_left)
