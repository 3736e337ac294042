"""The scheduler: it chooses the job of the next turn, and orders the waiting jobs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import count

from explainlab.service.jobs import Job
from explainlab.service.users import User

MOST_BEGUN = 4
"""Most users who share a device with jobs that are not urgent, and most begun jobs of a user when an urgent one begins:
a begun job holds memory."""
FIRST_TURNS = 8
"""Most turns of a new user before users who have had more: enough for one text."""


class Scheduler:
    """The turns of every place, each a batch long, for unfinished jobs: for urgent ones first, then for the others.

    A job stays at the place where it had its first turn. A helping job has a turn where no other job wants one. In each
    group users take turns, each with the job that has begun first, else with the oldest; a new user catches up with the
    others first, by :data:`FIRST_TURNS` at most. A job of several users has the turn of any of them, and uses up only
    that turn. Not thread-safe: callers hold a lock.
    """

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._served: dict[tuple[bool, User], tuple[bool, int]] = {}
        self._had: Counter[tuple[bool, User]] = Counter()  # turns since the user last had no job of the group
        self._ticks = count()
        self._order: list[Job] | None = None

    def add(self, job: Job) -> None:
        """Add ``job`` to the waiting jobs."""
        self._jobs.append(job)
        self.changed()

    def discard(self, job: Job) -> None:
        """Remove ``job``, which has ended."""
        self._jobs.remove(job)
        there = {(other.urgent, user) for other in self._jobs for user in other.users}
        self._had = Counter({key: count for key, count in self._had.items() if key in there})
        self.changed()

    def move(self, job: Job, by: int) -> None:
        """Let ``job`` change places with the one before it (-1) or after it (1) among its users' jobs of its urgency.

        Other users keep their turns. Nothing happens where there is no such job.
        """
        peers = self.peers(job)
        place = peers.index(job) + by if job in peers else -1
        if not 0 <= place < len(peers):
            return
        self.order()  # users who have just come keep their places
        swapped = {job: peers[place], peers[place]: job}
        self._jobs = [swapped.get(other, other) for other in self._jobs]
        self.changed()

    def peers(self, job: Job) -> list[Job]:
        """Return the waiting jobs of the users of ``job`` and of its urgency, itself too, oldest first unless moved."""
        return [other for other in self.waiting() if other.urgent is job.urgent and _share_a_user(job, other)]

    def changed(self) -> None:
        """Call this when the urgency or the users of a waiting job have changed."""
        self._order = None

    def order(self) -> list[Job]:
        """Return all waiting jobs in the order of their beginning, if no other is added."""
        if self._order is None:
            self._order = [job for rank in (True, False) for job in self._rounds(rank)]
        return self._order

    def waiting(self) -> list[Job]:
        """Return the jobs that have not begun, oldest first unless moved."""
        return [job for job in self._jobs if not job.begun]

    def begun(self, place: int | None = None) -> list[Job]:
        """Return the jobs that have begun, at one ``place`` or at all, urgent ones first, helpers last."""
        begun = (job for job in self._jobs if job.begun and place in (None, job.place))
        return sorted(begun, key=lambda job: job.rank)

    def ahead(self, job: Job) -> int:
        """Return the number of begun jobs ahead of ``job``, which has begun too: those of its users and its urgency."""
        begun = self.begun()
        before = begun[: begun.index(job)] if job in begun else []
        return sum(other.urgent is job.urgent and _share_a_user(job, other) for other in before)

    def turn(self, place: int = 0, begins: Callable[[Job], bool] = lambda _: True) -> Job | None:
        """Return the job that has the next turn at ``place``; None if there is none.

        A job that is being cancelled comes first. Any other has begun already, or ``begins`` allows it there.
        """
        self.changed()
        begun = self.begun(place)
        stopping = next((job for job in begun if job.stop.is_set()), None)
        if stopping is not None:
            return stopping
        for rank in (True, False):
            due = self._due(rank, begun, begins)
            if due:
                user = min(due, key=lambda user: self._place(rank, user))
                self._served[rank, user] = True, next(self._ticks)
                self._had[rank, user] += 1
                return due[user]
        return next((job for job in begun if job.helps), None)

    def _due(self, rank: bool, begun: list[Job], begins: Callable[[Job], bool]) -> dict[User, Job]:
        """Return the job with which each user would have the next turn."""
        due: dict[User, Job] = {}
        for job in begun:
            for user in job.users if job.urgent is rank and not job.helps else ():
                due.setdefault(user, job)
        sharing = len(due)
        for job in self.waiting():
            for user in job.users if job.urgent is rank else ():
                before = sum(user in other.users for other in begun if not other.helps) if rank else sharing
                if user not in due and before < MOST_BEGUN and begins(job):
                    due[user] = job
        return due

    def _rounds(self, rank: bool) -> Iterator[Job]:
        """Return the waiting jobs, in users' turns: those never served, by arrival, then those served longest ago."""
        queues: dict[User, deque[Job]] = {}
        for job in self.waiting():
            for user in job.users if job.urgent is rank else ():
                queues.setdefault(user, deque()).append(job)
        taken: set[Job] = set()
        users = deque(sorted(queues, key=lambda user: self._place(rank, user)))
        while users:
            user = users.popleft()
            due = next((job for job in _emptied(queues[user]) if job not in taken), None)
            if due is not None:
                taken.add(due)
                users.append(user)
                yield due

    def _place(self, rank: bool, user: User) -> tuple[int, bool, int]:
        """Return the first turns that ``user`` has had, and when ``user`` was last served, or came."""
        served = self._served.setdefault((rank, user), (False, next(self._ticks)))
        return min(self._had[rank, user], FIRST_TURNS), *served


def _share_a_user(job: Job, other: Job) -> bool:
    return not set(job.users).isdisjoint(other.users)


def _emptied(queue: deque[Job]) -> Iterator[Job]:
    while queue:
        yield queue.popleft()
