"""A context that tells a reader how far a run is, and how long it will take where that is long."""

from __future__ import annotations

import time

from explainlab.models.context import Relay, RunContext
from explainlab.reporting import Reporter, in_sight
from explainlab.service.estimate import Estimate

LONG = 60.0
"""Seconds: of a run that takes longer this is said as soon as its first batches have been timed."""


class Told(Relay):
    """Does what ``context`` does, with a bar; on a run of more than a minute it says so first."""

    def __init__(self, context: RunContext, reporter: Reporter | None = None) -> None:
        super().__init__(context)
        self._reporter = reporter or Reporter(in_sight())
        self._estimate = Estimate()
        self._warned = False

    def report(self, done: int, total: int, phase: str) -> None:
        super().report(done, total, phase)
        self._reporter(done, total, phase)

    def expect(self, work: float, exact: bool = True) -> None:
        super().expect(work, exact)
        self._estimate.expect(time.monotonic(), work, exact)

    def part(self, work: float) -> None:
        super().part(work)
        self._estimate.part(time.monotonic(), work)
        self._warn()

    def spend(self, work: float) -> None:
        super().spend(work)
        self._estimate.spend(time.monotonic(), work)
        self._warn()

    def skip(self, work: float) -> None:
        super().skip(work)
        self._estimate.skip(time.monotonic(), work)

    def close(self) -> None:
        """Take the bar away."""
        self._reporter.close()

    def _warn(self) -> None:
        if not self._warned and self._estimate.seconds_left is not None:
            seconds = self._estimate.whole(time.monotonic())
            self._warned = seconds > LONG
            if self._warned:
                self._reporter.say(f"This takes {duration(seconds)}. Ctrl-C ends it.")


def duration(seconds: float) -> str:
    """``about 3 minutes``, ``about 2 hours``."""
    number, unit = (seconds / 60, "minute") if seconds < 5400 else (seconds / 3600, "hour")
    return f"about {max(1, round(number))} {unit}{'' if round(number) <= 1 else 's'}"
