"""Progress of a job and an estimate of its remaining time, from the work that it has done."""

from __future__ import annotations

import time
from dataclasses import dataclass

from explainlab.models.context import Receivers

UNFINISHED = 0.98
"""A part that has taken more work than expected counts as done to this share until it ends."""
TRUSTED = 0.1
"""The share of a job after which its own pace counts as much as that of earlier jobs."""
LEAST_SECONDS, LEAST_BATCHES = 0.5, 3
"""Seconds of work, and batches, before which no remaining time is shown, unless a pace is known."""
LEAST_SHARE = 0.005
"""Nor before this share of what is left has been done: seconds tell nothing of hours."""
EFFICIENCY, MOST_GAINED = 0.15, 0.75
"""A unit of work takes a time that falls with this power of the job's work, to this share at the least, and rises
likewise: evaluations of 50 texts took 0.6 to 0.8 as long for a unit as those of 10, on the bench's three models."""


@dataclass(frozen=True)
class Pace:
    """The mean pace of ``runs`` jobs of a kind.

    ``seconds`` and ``spent`` work are for an expected unit of work; ``work`` is the mean expectation of such a job.
    """

    seconds: float
    spent: float
    runs: int = 1
    work: float = 1.0

    def whole(self, work: float) -> float:
        """Return the seconds for the expected ``work``: fewer for a unit in a larger job, as its batches are fuller."""
        gained = (self.work / work) ** EFFICIENCY if work else 1.0
        return self.seconds * work * min(max(gained, MOST_GAINED), 1 / MOST_GAINED)


class Estimate:
    """The share of a job that is done, and the seconds left; ``pace`` is that of earlier jobs of its kind, if known.

    Work is counted as by :class:`explainlab.models.context.Receivers`, times are in seconds on any clock. Work is
    expected in parts. The progress of a part is the share of its work that is spent or known already. The real work for
    an expected unit comes from the parts that have ended, else from ``pace``, else it is one. The ``share`` never goes
    down, and is 0 while nothing is expected.

    ``seconds_left`` extrapolates the time per expected unit since the last expectation, and at first that of ``pace``.
    Later parts are assumed to be known to the same share as earlier ones; a part that ends without work was known. It
    is None while there is no evidence: with only an upper bound of the work (``exact=False``), until a part has ended.
    """

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace
        self.share = 0.0
        self.seconds_left: float | None = None
        self._expected = self._ended = self._part = 0.0  # of expected work: all, in ended parts, in this part
        self._spent_before = self._spent = 0.0  # in ended parts, in this part
        self._known_before = self._known = 0.0  # expected work that was known: in ended parts, in this part
        self._since = self._before = self._free = 0.0  # when the last expectation came; what had ended, and was known
        self._batches = 0
        self._in_part = False  # whether the part is one of several
        self._exact = True
        self._started: float | None = None

    @property
    def progress(self) -> Receivers:
        """The receivers of the progress of a run, which happens now."""
        return Receivers(
            expect=lambda work, exact=True: self.expect(time.monotonic(), work, exact),
            part=lambda work: self.part(time.monotonic(), work),
            spend=lambda work: self.spend(time.monotonic(), work),
            skip=lambda work: self.skip(time.monotonic(), work),
        )

    def expect(self, now: float, work: float, exact: bool) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        self._end_part()
        self._started = now if self._started is None else self._started
        self._expected, self._part, self._exact = self._ended + work, work, exact
        self._since, self._before, self._free, self._batches = now, self._ended, self._known_before, 0
        self._in_part = False
        self._renew(now)

    def part(self, now: float, work: float) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        self._end_part()
        self._part, self._in_part = work, True
        self._renew(now)

    def skip(self, now: float, work: float) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        self._known = min(self._part, self._known + work)
        self._renew(now)

    def spend(self, now: float, work: float) -> None:
        """See :class:`explainlab.models.context.Receivers`."""
        self._spent += work
        self._batches += 1
        self._renew(now)

    def helped(self, now: float, work: float, spent: float) -> None:
        """Record ``work`` expected here that was done elsewhere, where it took ``spent``."""
        self._ended += work
        self._spent_before += spent
        self._batches += 1
        self._renew(now)

    def pause(self, seconds: float) -> None:
        """Leave out ``seconds`` in which other jobs ran."""
        if self._started is not None:
            self._started += seconds
            self._since += seconds

    def taken(self, now: float) -> Pace | None:
        """Return the pace of the ended job; None if it did no work that was expected."""
        spent, done = self._spent_before + self._spent, self._expected - self._known_before - self._known
        if self._started is None or not (done > 0 and spent):
            return None
        return Pace((now - self._started) / done, spent / done, work=done)

    def speed(self, now: float) -> Pace | None:
        """Return the pace of the ended job for a unit of spent work.

        None for so short a job that other work on the machine may have taken most of its time.
        """
        spent = self._spent_before + self._spent
        if self._started is None or self._batches < LEAST_BATCHES or now - self._started < LEAST_SECONDS:
            return None
        return Pace((now - self._started) / spent, 1.0, work=spent)

    def whole(self, now: float) -> float:
        """Return the seconds that all the expected work takes, past and remaining, where they are known."""
        taken = 0.0 if self._started is None else now - self._started
        return taken + (self.seconds_left or 0.0)

    def _end_part(self) -> None:
        if self._spent or self._in_part:
            self._ended += self._part
            self._known_before += self._known if self._spent else self._part
            self._spent_before += self._spent
        self._spent = self._known = 0.0

    @property
    def _ratio(self) -> float:
        """Work spent for an expected unit that was not known."""
        computed = self._ended - self._known_before
        if computed > 0 and self._spent_before:
            return self._spent_before / computed
        return self.pace.spent if self.pace else 1.0

    def _renew(self, now: float) -> None:
        if not self._expected or self._started is None:
            return
        inside = min(self._spent / self._ratio + self._known, UNFINISHED * self._part)
        reached = min(self._ended + inside, self._expected)
        self.share = max(self.share, reached / self._expected)
        self.seconds_left = self._left(now, reached)

    def _left(self, now: float, reached: float) -> float | None:
        begun, known = self._ended + self._part, self._known_before + self._known - self._free
        later = max(0.0, self._expected - begun) * (1 - known / max(begun - self._before, known, 1e-9))
        rest, seconds = max(0.0, min(begun, self._expected) - reached) + later, now - self._since
        gained = max(0.0, reached - self._before - known)
        if self.pace is not None:
            return rest * (seconds + self.pace.whole(self._expected) * TRUSTED) / (gained + TRUSTED * self._expected)
        told = self._ended > self._before or (self._exact and self._batches >= LEAST_BATCHES)
        if not told or gained <= LEAST_SHARE * rest or seconds < LEAST_SECONDS:
            return None
        return rest * seconds / gained
