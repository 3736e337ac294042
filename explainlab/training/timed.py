"""The seconds of a training itself."""

from __future__ import annotations

import time

from explainlab.training.passes import Report


class Timed:
    """A ``report`` that is not counted: others may have their turn inside it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since it was made, without those inside the report."""
        return time.perf_counter() - self._started

    def __call__(self, done: int, total: int, phase: str) -> None:
        """Report."""
        start = time.perf_counter()
        self._report(done, total, phase)
        self._started += time.perf_counter() - start
