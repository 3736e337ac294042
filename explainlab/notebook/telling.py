"""A context that tells a reader how far a run is, and how long it will take where that is long."""

from __future__ import annotations

import time
from collections.abc import Callable

from explainlab.analyses.wording import takes
from explainlab.models.context import RunContext
from explainlab.reporting import Reporter, in_sight
from explainlab.service.estimate import Measured, Pace

LONG = 60.0
"""Seconds: of a run that takes longer this is said as soon as it is known."""


def _words(seconds: float) -> str:
    return f"{takes(seconds)}. Ctrl-C ends it."


class Foretelling:
    """Says once, in ``words``, how long something takes, if that is more than ``least`` seconds. Call it with them."""

    def __init__(self, reporter: Reporter, words: Callable[[float], str] = _words, least: float = LONG) -> None:
        self._reporter, self._words, self._least = reporter, words, least
        self._said = False

    def __call__(self, seconds: float) -> None:
        if not self._said and seconds > self._least:
            self._said = True
            self._reporter.say(self._words(seconds))


class Told(Measured):
    """Does what ``context`` does, with a bar; ``foretell`` is told how long it takes, again and again.

    ``pace``: that of earlier runs, if known; else it is known when the first batches have been timed.
    """

    def __init__(
        self,
        context: RunContext,
        reporter: Reporter | None = None,
        foretell: Foretelling | None = None,
        pace: Pace | None = None,
    ) -> None:
        super().__init__(context, pace)
        self._reporter = reporter or Reporter(in_sight())
        self._foretell = foretell or Foretelling(self._reporter)

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
        """Take the bar away."""
        self._reporter.close()

    def _renew(self) -> None:
        if self.estimate.seconds_left is not None:
            self._foretell(self.estimate.whole(time.monotonic()))
