"""Whose turn it is: the jobs that wait, in the order in which they will run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count

from explainlab.service.jobs import Job
from explainlab.service.users import User


class Scheduler:
    """Urgent jobs before all others; within either, users in turns; of one user, the first to be asked first.

    A job that several users ask for stands in the lines of all of them and leaves with the first whose turn comes. It
    counts as the turn of that one. Only to be used under the lock of its worker.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Job] = {}
        self._served: dict[tuple[bool, User], tuple[bool, int]] = {}
        self._ticks = count()
        self._known: list[tuple[User, Job]] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, job: Job) -> None:
        """Let ``job`` wait."""
        self._waiting[job.key] = job
        self.changed()

    def discard(self, job: Job) -> bool:
        """Let ``job`` wait no longer; whether it did."""
        waited = self._waiting.get(job.key) is job
        if waited:
            del self._waiting[job.key]
            self.changed()
        return waited

    def changed(self) -> None:
        """To be called when a waiting job has become urgent or has other owners."""
        self._known = None

    def order(self) -> list[Job]:
        """All waiting jobs as they will run if nothing else is asked."""
        return [job for _, job in self._turns()]

    def waiting_of(self, user: User) -> int:
        """How many waiting jobs ``user`` has."""
        return sum(user in job.users for job in self._waiting.values())

    def take(self, urgent_only: bool = False) -> Job | None:
        """The job whose turn it is, which then waits no longer; None if there is none."""
        turn = next(iter(self._turns()), None)
        if turn is None or (urgent_only and not turn[1].urgent):
            return None
        user, job = turn
        self._served[job.urgent, user] = True, next(self._ticks)
        self.discard(job)
        return job

    def _turns(self) -> list[tuple[User, Job]]:
        if self._known is None:
            waiting = self._waiting.values()
            self._known = [turn for rank in (True, False) for turn in self._rounds(waiting, rank)]
        return self._known

    def _rounds(self, waiting: Iterable[Job], rank: bool) -> Iterator[tuple[User, Job]]:
        """Round after round: users never served as they came, then the one served longest ago first."""
        lines: dict[User, deque[Job]] = {}
        for job in waiting:
            for user in job.users if job.urgent is rank else ():
                self._served.setdefault((rank, user), (False, next(self._ticks)))
                lines.setdefault(user, deque()).append(job)
        users, taken = deque(sorted(lines, key=lambda user: self._served[rank, user])), set()
        while users:
            user = users.popleft()
            job = next((job for job in _emptied(lines[user]) if job.key not in taken), None)
            if job is not None:
                taken.add(job.key)
                users.append(user)
                yield user, job


def _emptied(line: deque[Job]) -> Iterator[Job]:
    while line:
        yield line.popleft()
