"""A job: one request in the queue, and the context through which a running method reports to it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from explainlab.errors import Cancelled, ResourceError
from explainlab.models.classifier import Prediction
from explainlab.models.context import MemoryCache, Receivers, RunContext, Shards
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.service.estimate import Estimate
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.users import User
from explainlab.settings import settings
from explainlab.workers.shards import ShardQueue

LIVE_SECONDS = 10.0
"""Seconds without a sign of life after which a page is taken for closed."""

_MOMENT = 0.05  # seconds
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
        """True once it has ended, well or badly."""
        return self.status in ("done", "failed", "cancelled")


@dataclass(eq=False)
class Job:
    """A request that ``users`` share, as the first of them ``asked``; it is cancelled when the last of them cancels.

    Of a set of requests ``asked`` is the first and ``more`` are the others; they run one after another, and
    ``outcomes`` are the results until now, or the reasons of failures, in their order. ``result`` is that of a single
    request. ``awaited``: a user waits for one text. ``long``: its passes are expected to take longer than the settings
    allow an urgent job. Its result becomes a run of ``readers``: users who requested it, not merely opened a page that
    shows it. It is stored for ``keepers``, ids of users; without any it is gone with the job. ``prediction`` is that
    for its text, there before its result, and None for a data set. ``partial_result`` makes the result of the finished
    texts of a data set; it is None while none is and after the end, and returns None where its worker does not answer
    at once.
    ``pages`` wait for it, each with the second (monotonic) of its last sign of life; ``seen`` is the last of
    these seconds, at first that of the request.

    Once it has begun it runs at the ``place`` of a worker, in its ``context``, and may hand out ``parts``: a job that
    ``helps`` it, at another place, does some of these. ``alone``: a helper has failed, and there is to be no other. A
    job that loses its worker waits again, and fails in the end; ``tries`` counts the workers that it has ended.
    ``too_few_bytes`` is an amount of memory that was not enough for it.
    """

    key: str
    asked: ResolvedRequest
    users: list[User]
    awaited: bool = True
    readers: set[User] = field(default_factory=set)
    keepers: set[str] = field(default_factory=set)
    progress: Progress = field(default_factory=Progress)
    prediction: Prediction | None = None
    result: Result | None = None
    more: tuple[ResolvedRequest, ...] = ()
    outcomes: list[Result | str] = field(default_factory=list)
    long: bool = False
    partial_result: Callable[[], Any] | None = None
    place: int = 0
    parts: ShardQueue = field(default_factory=ShardQueue)
    helps: Job | None = None
    alone: bool = False
    tries: int = 0
    too_few_bytes: int = 0
    context: JobContext | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    pages: dict[tuple[User, str], float] = field(default_factory=dict)
    seen: float = field(default_factory=time.monotonic)

    @property
    def all_asked(self) -> tuple[ResolvedRequest, ...]:
        """All that it answers."""
        return (self.asked, *self.more)

    @property
    def request(self) -> CompleteRequest:
        """The request, or the first of a set."""
        return self.asked.request

    @property
    def requests(self) -> tuple[CompleteRequest, ...]:
        """The requests that it answers."""
        return tuple(one.request for one in self.all_asked)

    @property
    def urgent(self) -> bool:
        """True if it runs before other jobs, and between their batches."""
        return self.awaited and not self.long

    @property
    def rank(self) -> int:
        """Jobs of a lower rank have their turns first: urgent ones, others, those that help."""
        return 2 if self.helps else int(not self.urgent)

    @property
    def begun(self) -> bool:
        """True between its first turn and its end."""
        return self.progress.status == "running"

    @property
    def forsaken(self) -> bool:
        """True for one text for which no page has waited as long as the settings allow."""
        return self.request.text is not None and time.monotonic() - self.seen > settings().max_unwatched_seconds

    def watch(self, user: User, page: str) -> None:
        """Record that a live ``page`` of ``user`` waits for it."""
        self.seen = self.pages[user, page] = time.monotonic()

    def leave(self, user: User, page: str) -> bool:
        """Remove ``page``, which waits no longer; return whether another page of ``user`` does."""
        self.pages.pop((user, page), None)
        lately = time.monotonic() - LIVE_SECONDS
        return any(other == user and seen > lately for (other, _), seen in list(self.pages.items()))

    def update(self, **changes: Any) -> None:
        """Replace the snapshot."""
        self.progress = replace(self.progress, **changes)


def no_pause() -> float:
    """Do nothing between two batches: see :class:`JobContext`."""
    return 0.0


class JobContext:
    """The context of a job, whose ``run`` reports to it, and ends if it is cancelled or beyond the settings' time.

    The run remembers notes until a part begins, so that memory does not grow with the parts. ``pause`` is called before
    every batch and returns the seconds that it took, which do not count. ``estimate`` knows how far the request is that
    was ``asked`` and is answered now; those of a set after it are taken to be as long.
    """

    def __init__(self, job: Job, pause: Callable[[], float] = no_pause, workers: int = 1) -> None:
        self.helpers: set[str] = set()
        self.asked = job.asked
        self._memory = MemoryCache()
        self.run = RunContext(
            replace(job.asked.reader, watch=self._reading),
            Receivers(
                self.report, self.expect, self.part, self.spend, self.skip, predicted=self.predicted, show=self.show
            ),
            self.check_cancelled,
            cache=self._memory,
            results=self._memory,
            shards=Shards(workers, self.helpers, self.take),
        )
        self.estimate = Estimate()
        self._job = job
        self._pause = pause
        self._limit = settings().max_job_seconds or math.inf
        self._deadline = time.monotonic() + self._limit
        self._elsewhere: dict[object, int] = {}  # helper → units of the phase that it has done
        self._telling = threading.RLock()

    @property
    def again(self) -> bool:
        """True if the job computes its request anew, stored or not."""
        return self._job.key == self._job.asked.again_key

    @property
    def place(self) -> int:
        """The number of its worker among those of the engine."""
        return self._job.place

    def begin_request(self, asked: ResolvedRequest) -> None:
        """Begin the next of the job's requests."""
        self.asked = asked
        self.helpers.clear()
        self.estimate = Estimate()
        self._tell()
        self.check_cancelled()

    def require_more_than(self, memory_bytes: int) -> None:
        """Record that this much memory was not enough."""
        self._job.too_few_bytes = memory_bytes

    @property
    def readers(self) -> list[User]:
        """The users in whose list the result becomes a run."""
        return [user for user in self._job.users if user in self._job.readers]

    def keepers(self) -> tuple[str, ...]:
        """Return the ids of the users who have the result stored."""
        return tuple(self._job.keepers)

    def report(self, done: int, total: int, phase: str) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        if phase != self._job.progress.phase:
            self._elsewhere.clear()
        done += sum(list(self._elsewhere.values()))
        self._job.update(done=min(done, total), total=total, phase=phase)

    def predicted(self, prediction: Callable[[], Prediction]) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        if self._job.request.text is not None and self._job.prediction is None:
            self._job.prediction = prediction()

    def begin(self, phase: str) -> None:
        """Begin a phase whose length is not known yet."""
        self._job.update(phase=phase, done=0, total=0)

    def expect(self, work: float, exact: bool = True) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        with self._telling:
            self.estimate.expect(time.monotonic(), work, exact)
            self._tell()

    def part(self, work: float) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        self._memory.bodies.clear()
        with self._telling:
            self.estimate.part(time.monotonic(), work)
            self._tell()

    def spend(self, work: float) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        with self._telling:
            self.estimate.spend(time.monotonic(), work)
            self._tell()

    def skip(self, work: float) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        with self._telling:
            self.estimate.skip(time.monotonic(), work)
            self._tell()

    def helped(self, by: object, work: float, spent: float, done: int) -> None:
        """Record a part of the expected ``work`` that ``by`` did elsewhere: ``spent`` for it, ``done`` units in all."""
        self._elsewhere[by] = done
        with self._telling:
            self.estimate.helped(time.monotonic(), work, spent)
            self._tell()

    def take(self, of: str, parts: Sequence[Any]) -> Iterator[Any]:
        """Hand out parts (see :class:`~explainlab.models.context.Shards`); none where no user has the result stored."""
        shared = self._job.parts
        shared.offer(of, parts if self._job.keepers else ())
        if not self._job.keepers:
            yield from parts
            return
        while True:
            part = shared.next(self)
            if part is not None:
                yield part
            elif not shared.await_others(self, _MOMENT):
                return
            else:
                self.check_cancelled()

    def show(self, result: Callable[[], Any]) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        self._job.partial_result = result

    def check_cancelled(self) -> None:
        """See :class:`explainlab.models.context.RunContext`."""
        self._job.long = self.estimate.whole(time.monotonic()) > settings().max_urgent_seconds
        paused = self._pause()
        self._deadline += paused
        self.estimate.pause(paused)
        if self._job.stop.is_set() or self._job.forsaken:
            raise Cancelled
        if time.monotonic() > self._deadline:
            raise ResourceError(
                f"The job was ended after {self._limit:g} s of work.",
                "Texts of a data set that are finished are kept: run it again to go on from there. "
                + settings().words("max_job_seconds"),
            )

    def _reading(self, share: float) -> None:
        self.report(round(100 * share), 100, "percent of the file")
        self.check_cancelled()

    def _tell(self) -> None:
        done, every, left = len(self._job.outcomes), len(self._job.requests), self.estimate.seconds_left
        if left is not None:
            left += self.estimate.whole(time.monotonic()) * (every - done - 1)
        self._job.update(share=(done + self.estimate.share) / every, seconds_left=left)


class HelpContext:
    """The context of a job that helps: its ``run`` does parts that ``main`` hands out, until there are no more.

    Its work counts as the other's. It ends like a cancelled job.
    """

    def __init__(self, job: Job, main: Job, pause: Callable[[], float]) -> None:
        assert main.context is not None
        self.place = job.place
        self._memory = MemoryCache()
        self.run = RunContext(
            replace(job.asked.reader, watch=lambda _: self._check_cancelled()),
            Receivers(self._report, part=self._part, spend=self._spend),
            self._check_cancelled,
            cache=self._memory,
            results=self._memory,
            shards=Shards(main.context.run.shards.workers, take=self._take),
        )
        self._job, self._main, self._context, self._pause = job, main, main.context, pause
        self._of = main.parts.of
        self._work = self._spent = 0.0
        self._before: int | None = None
        self._done = 0

    def begin_on(self, device: str) -> None:
        """Record that parts are done on ``device``."""
        self._context.helpers.add(device)

    def keepers(self) -> tuple[str, ...]:
        """See :meth:`JobContext.keepers`."""
        return self._context.keepers()

    def _report(self, done: int, total: int, phase: str) -> None:
        self._before = done if self._before is None else self._before
        self._done = done - self._before

    def _part(self, work: float) -> None:
        self._memory.bodies.clear()
        self._tell()
        self._work = work

    def _spend(self, work: float) -> None:
        self._spent += work

    def _take(self, of: str, parts: Sequence[Any]) -> Iterator[Any]:
        """Yield the parts of the other job; none of those that lie behind it."""
        if of != self._of:
            return
        shared = self._main.parts
        while (part := shared.next(self._job)) is not None:
            yield part
            self._tell()
        raise Cancelled

    def _check_cancelled(self) -> None:
        self._pause()
        shared = self._main.parts
        lost = shared.had(self._job) and not shared.has(self._job)
        if lost or shared.of != self._of or self._main.stop.is_set() or self._main.progress.finished:
            raise Cancelled

    def _tell(self) -> None:
        """Report the end of the part before."""
        if self._work:
            self._context.helped(self._job, self._work, self._spent, self._done)
        self._work = self._spent = 0.0
