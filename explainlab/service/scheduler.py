"""The scheduler: the waiting jobs in the order in which they will run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count

from explainlab.service.jobs import Job
from explainlab.service.users import User


class Scheduler:
    """Chooses the next job: urgent jobs first, then the others; in each group users take turns, oldest jobs first.

    A job of several users runs at the first turn of any of them, and uses up only that turn. Not thread-safe: callers
    hold a lock.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Job] = {}
        self._served: dict[tuple[bool, User], tuple[bool, int]] = {}
        self._ticks = count()
        self._order: list[tuple[User, Job]] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, job: Job) -> None:
        """Add ``job`` to the waiting jobs."""
        self._waiting[job.key] = job
        self.changed()

    def discard(self, job: Job) -> bool:
        """Remove ``job`` from the waiting jobs; returns whether it was there."""
        waited = self._waiting.get(job.key) is job
        if waited:
            del self._waiting[job.key]
            self.changed()
        return waited

    def move(self, job: Job, by: int) -> None:
        """Let ``job`` change places with the one before it (-1) or after it (1) among its users' jobs of its urgency.

        Other users keep their turns. Nothing happens where there is no such job.
        """
        peers = self.peers(job)
        place = peers.index(job) + by if job in peers else -1
        if not 0 <= place < len(peers):
            return
        self._turns()  # users who have just come keep their places
        swapped = {job.key: peers[place], peers[place].key: job}
        jobs = [swapped.get(key, other) for key, other in self._waiting.items()]
        self._waiting = {other.key: other for other in jobs}
        self.changed()

    def peers(self, job: Job) -> list[Job]:
        """The waiting jobs of the users of ``job`` and of its urgency, itself included, oldest first unless moved."""
        users = set(job.users)
        return [other for other in self._waiting.values() if other.urgent is job.urgent and users & set(other.users)]

    def changed(self) -> None:
        """Call this when a waiting job has become urgent or has other owners."""
        self._order = None

    def order(self) -> list[Job]:
        """All waiting jobs in the order in which they will run if no other is added."""
        return [job for _, job in self._turns()]

    def waiting_of(self, user: User) -> int:
        """How many waiting jobs ``user`` has."""
        return sum(user in job.users for job in self._waiting.values())

    def take(self, urgent_only: bool = False) -> Job | None:
        """Remove the next job and return it; None if there is none (no urgent job, if ``urgent_only``)."""
        turn = next(iter(self._turns()), None)
        if turn is None or (urgent_only and not turn[1].urgent):
            return None
        user, job = turn
        self._served[job.urgent, user] = True, next(self._ticks)
        self.discard(job)
        return job

    def _turns(self) -> list[tuple[User, Job]]:
        if self._order is None:
            waiting = self._waiting.values()
            self._order = [turn for rank in (True, False) for turn in self._rounds(waiting, rank)]
        return self._order

    def _rounds(self, waiting: Iterable[Job], rank: bool) -> Iterator[tuple[User, Job]]:
        """The turns of all users: first those never served, by arrival, then those served longest ago."""
        queues: dict[User, deque[Job]] = {}
        for job in waiting:
            for user in job.users if job.urgent is rank else ():
                self._served.setdefault((rank, user), (False, next(self._ticks)))
                queues.setdefault(user, deque()).append(job)
        users, taken = deque(sorted(queues, key=lambda user: self._served[rank, user])), set()
        while users:
            user = users.popleft()
            due = next((job for job in _emptied(queues[user]) if job.key not in taken), None)
            if due is not None:
                taken.add(due.key)
                users.append(user)
                yield user, due


def _emptied(queue: deque[Job]) -> Iterator[Job]:
    while queue:
        yield queue.popleft()
