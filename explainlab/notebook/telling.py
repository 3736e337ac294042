"""A context with a progress bar, and with a line of text before a long run."""

from __future__ import annotations

import time
from collections.abc import Callable

from explainlab.analyses.wording import takes
from explainlab.models.context import RunContext
from explainlab.reporting import Reporter, in_sight
from explainlab.service.estimate import Measured, Pace

LONG = 60.0
"""An estimate above this many seconds is printed as soon as it is known."""


def _words(seconds: float) -> str:
    return f"{takes(seconds)}. Ctrl-C ends it."


class EstimateLine:
    """A line of ``words`` about an estimate: a call with seconds prints it once, if they exceed ``least``."""

    def __init__(self, reporter: Reporter, words: Callable[[float], str] = _words, least: float = LONG) -> None:
        self._reporter, self._words, self._least = reporter, words, least
        self._printed = False

    def __call__(self, seconds: float) -> None:
        if not self._printed and seconds > self._least:
            self._printed = True
            self._reporter.say(self._words(seconds))


class ProgressBarContext(Measured):
    """A context around ``context`` with a progress bar; passes each new estimate, in seconds, to ``on_estimate``.

    ``pace`` is that of earlier runs (None: unknown until the first batches have been timed).
    """

    def __init__(
        self,
        context: RunContext,
        reporter: Reporter | None = None,
        on_estimate: EstimateLine | None = None,
        pace: Pace | None = None,
    ) -> None:
        super().__init__(context, pace)
        self._reporter = reporter or Reporter(in_sight())
        self._on_estimate = on_estimate or EstimateLine(self._reporter)

    def report(self, done: int, total: int, phase: str) -> None:
        super().report(done, total, phase)
        self._reporter(done, total, phase)

    def expect(self, work: float, exact: bool = True) -> None:
        super().expect(work, exact)
        self._renew()

    def part(self, work: float) -> None:
        super().part(work)
        self._renew()

    def spend(self, work: float) -> None:
        super().spend(work)
        self._renew()

    def close(self) -> None:
        """Remove the bar."""
        self._reporter.close()

    def _renew(self) -> None:
        if self.estimate.seconds_left is not None:
            self._on_estimate(self.estimate.whole(time.monotonic()))
