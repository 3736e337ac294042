"""The engine behind a service: it runs jobs, on this machine or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from explainlab.result import Result
from explainlab.service.jobs import HelpContext, Job, JobContext
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.users import User

Work = Callable[[ResolvedRequest, JobContext], Result]
"""Computes the result of one request."""
Help = Callable[[ResolvedRequest, HelpContext], None]
"""Computes parts of a request that another job answers, and stores them."""
HELD_SECONDS = 5.0
"""An urgent job waits no longer than this for the end of one turn: a spare worker takes it."""
Ended = Callable[[Job], None]
"""Called when a job has ended, however it did; must not raise."""


class Engine(Protocol):
    """A queue of jobs and what works on them. Safe to use from any thread.

    :class:`explainlab.service.dispatcher.Dispatcher` is the engine of any number of workers.
    """

    def submit(
        self,
        key: str,
        asked: ResolvedRequest,
        urgent: bool,
        record: bool = True,
        more: Sequence[ResolvedRequest] = (),
    ) -> Job:
        """Queue a request of a user under ``key``, or join the job that already has this key.

        ``more`` are answered by the same job, one after another; one that fails stops no other.

        ``urgent`` jobs run before others, unless they turn out to be long. ``record``: the result becomes a run of the
        user. Raises :class:`explainlab.errors.ResourceError` on a full queue; half of it is open to other users.
        """

    def job(self, key: str) -> Job | None:
        """Return the job under ``key``, if it is waiting, running or among the last that ended."""

    def unfinished(self) -> list[Job]:
        """Return the jobs that have begun, then the waiting ones in their order."""

    def position(self, key: str) -> int:
        """Return the number of jobs ahead; 0 if it runs, takes turns with other users' jobs, or has ended."""

    def cancel(self, key: str, user: User) -> None:
        """Remove ``user`` from the job; without users it leaves the queue, or stops within a batch."""

    def move(self, key: str, by: int) -> None:
        """Let a waiting job change places with its users' one before it (-1) or after it (1)."""

    def peers(self, key: str) -> list[Job]:
        """Return the waiting jobs among which this one can be moved, in their order; empty if it does not wait."""

    def together(self) -> AbstractContextManager[None]:
        """Start no job that is submitted meanwhile before all are submitted."""

    def wait(self, job: Job, timeout: float | None = None) -> bool:
        """Block until ``job`` has ended (True) or ``timeout`` seconds have passed (False)."""

    def wake(self) -> None:
        """Begin waiting jobs where they now may: workers have come or gone."""

    @property
    def held(self) -> set[int]:
        """The places where one turn has lasted longer than :data:`HELD_SECONDS`."""

    def at(self, place: int) -> Job | None:
        """Return the job that has its turn at ``place``; it may be one that helps another."""

    def close(self) -> None:
        """Cancel every job, and end the threads once their jobs have stopped. Nothing is submitted afterwards."""

    @property
    def silent_seconds(self) -> float:
        """Seconds since the engine last gave a sign of life."""


class MakeEngine(Protocol):
    """A maker of an engine that computes with ``answer`` and ``help``, and calls ``ended`` after each job.

    ``places`` is the number of workers. ``prefer`` groups the places that may begin a job: a place of a later group
    begins an urgent one only while all places of earlier groups have one.
    """

    def __call__(
        self,
        answer: Work,
        ended: Ended,
        help: Help,
        places: int,
        prefer: Callable[[Job], Sequence[Sequence[int]]],
    ) -> Engine: ...
