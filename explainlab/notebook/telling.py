"""A progress bar of a run, and a line of text before a long one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from explainlab.analyses.wording import takes
from explainlab.models.context import Receivers, RunContext
from explainlab.reporting import Reporter, in_sight
from explainlab.service.estimate import Estimate, Pace

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


class ProgressBar:
    """A progress bar of a run, which has its ``context``; passes each new estimate, in seconds, to ``on_estimate``.

    ``pace`` is that of earlier runs (None: unknown until the first batches have been timed).
    """

    def __init__(
        self,
        context: RunContext,
        reporter: Reporter | None = None,
        on_estimate: EstimateLine | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._reporter = reporter or Reporter(in_sight())
        self._on_estimate = on_estimate or EstimateLine(self._reporter)
        self._estimate = Estimate(pace)
        renewed = Receivers(self._reporter, self._renew, self._renew, self._renew)
        progress = context.progress.then(self._estimate.progress).then(renewed)
        self.context = replace(context, progress=progress)

    def close(self) -> None:
        """Remove the bar."""
        self._reporter.close()

    def _renew(self, work: float, exact: bool = True) -> None:
        if self._estimate.seconds_left is not None:
            self._on_estimate(self._estimate.whole(time.monotonic()))
