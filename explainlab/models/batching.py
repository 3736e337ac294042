"""Model passes in batches whose size fits the memory, with progress and cancelling between batches.

Another thread may use the model between two batches. A batch that does not fit is halved.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import NamedTuple, TypeVar

import numpy as np

from explainlab.errors import MemoryShortage
from explainlab.models.classifier import Classifier
from explainlab.models.context import FORWARD, SHARE, RunContext
from explainlab.models.devices import MOST_BYTES, MOST_WORK, batch_tokens, empty_cache, is_out_of_memory
from explainlab.models.model import Model

T = TypeVar("T")
HALVED = "Memory ran out, so batches were made smaller."
WAIT_SECONDS = 0.05
"""Seconds between two checks of a waiting thread whether to stop."""


class Mark(NamedTuple):
    """A moment of a :class:`Batcher`: the ``seconds`` of a clock without its pauses, and the number of ``halvings``."""

    seconds: float
    halvings: int


def batch_size(
    classifier: Classifier,
    length: int,
    count: int,
    gradients: bool,
    rows: int = 1,
    most: int = sys.maxsize,
) -> int:
    """Return how many of ``count`` inputs of ``length`` tokens the next batch has.

    These are as many as fit, or fewer so that batches have equal sizes and last no longer than a part of a training's
    step. An input is ``rows`` texts; ``most`` are known to fit.
    """
    if count == 1:
        return 1
    needed = classifier.model.bytes_per_token(length, gradients)
    work = classifier.model.work_per_token(length) * (1.0 if gradients else FORWARD)
    wanted, on_cpu = classifier.limits.batch_tokens, min(classifier.model.cpu_batch_tokens, int(MOST_WORK / work))
    fit = batch_tokens(classifier.device, needed, wanted, on_cpu) // (length * rows)
    return _evenly(count, min(fit, most))


def part_size(model: Model, length: int, count: int, gradients: bool) -> int:
    """Return how many of ``count`` texts of ``length`` tokens belong into a part of a training's batch.

    On a CPU memory and seconds bound it, not the caches as in :func:`batch_size`.
    """
    needed = model.bytes_per_token(length, gradients)
    work = model.work_per_token(length) * (1.0 if gradients else FORWARD)
    most = int(min(MOST_BYTES / needed, MOST_WORK / work))
    return _evenly(count, batch_tokens(model.device, needed, on_cpu=most) // length)


def _evenly(count: int, most: int) -> int:
    """Return the size of equal parts of ``count`` things, which is ``most`` or less."""
    return ceil(count / ceil(count / max(1, most)))


class Batcher:
    """A runner of a classifier's passes in a context; it remembers the batch size that memory allows.

    ``passes``: how many inputs have been run, and ``recalled``: how many need not, as the context knows their answers;
    ``halvings``: how often a batch did not fit; ``paused``: the seconds in which others had the model or, between two
    batches, the thread.
    """

    def __init__(self, classifier: Classifier, context: RunContext) -> None:
        self.classifier = classifier
        self.context = context
        self.halvings = 0
        self.passes = 0
        self.recalled = 0
        self.paused = 0.0
        self._span, self._reached = (0.0, 1.0), 0.0
        self._fit = {True: sys.maxsize, False: sys.maxsize}

    @property
    def warnings(self) -> list[str]:
        """Warnings about these passes for the reader."""
        return [HALVED] if self.halvings else []

    def mark(self) -> Mark:
        """Return this moment. The difference of two moments is the cost between them."""
        return Mark(time.perf_counter() - self.paused, self.halvings)

    def beside(self, classifier: Classifier, context: RunContext) -> Batcher:
        """Return another batcher, of a ``classifier`` around the same network, with its own counts and the same
        progress.
        """
        other = copy.copy(self)
        other.classifier, other.context, other.passes, other.recalled = classifier, context, 0, 0
        return other

    @contextmanager
    def span(self, start: int, stop: int, total: int) -> Iterator[None]:
        """Map the progress of the block onto ``start`` to ``stop`` of ``total`` of the outer progress.

        Spans come in order; their joint progress never goes back.
        """
        low, high = outer = self._span
        self._span = low + (high - low) * start / total, low + (high - low) * stop / total
        try:
            yield
        finally:
            self._span = outer

    def over(
        self,
        lengths: np.ndarray,
        run: Callable[[slice], T],
        *,
        gradients: bool,
        phase: str,
        done: int = 0,
        total: int | None = None,
        rows: int = 1,
        share: float = 1.0,
    ) -> Iterator[T]:
        """Call ``run`` with slices of the inputs of these ``lengths`` in tokens [count], longest first.

        An input is ``rows`` texts for the model, each ``share`` of the work of a whole pass. A batch that does not fit
        is halved, as are those after it. Progress counts from ``done`` to ``total`` (default: the inputs here). ``run``
        has the model for itself: see :attr:`Classifier.lock`. Raises :class:`MemoryShortage` when a single input does
        not fit, and whatever ``context`` raises to stop, also while another thread has the model.
        """
        start, count = 0, len(lengths)
        while start < count:
            self.check_cancelled()
            length = int(lengths[start])
            size = batch_size(self.classifier, length, count - start, gradients, rows, self._fit[gradients])
            part = slice(start, start + size)
            fits = True
            try:
                with self._alone():
                    result = run(part)
            except (RuntimeError, MemoryError) as error:
                fits = not is_out_of_memory(error)
                if fits:
                    raise
            if not fits:  # outside the handler: the error's traceback holds the batch in memory
                self._halve(part.stop - part.start, length, gradients)
                continue
            self.passes += part.stop - start
            self.context.progress.spend(float(lengths[part].sum()) * rows * share * (1.0 if gradients else FORWARD))
            self.context.progress.read((part.stop - part.start) * rows)
            start = part.stop
            self._report(done + start, total or count, phase)
            yield result

    def finish(self, phase: str) -> None:
        """Complete the progress of a ``phase`` whose rest is not needed."""
        self._report(1, 1, phase)

    def check_cancelled(self) -> None:
        """Call the context's check: it raises to stop, and may run urgent work of others, which counts as a pause."""
        with self._pause():
            self.context.check_cancelled()

    @contextmanager
    def _pause(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.paused += time.perf_counter() - start

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads off the model during the block."""
        with self._pause():
            while not self.classifier.lock.acquire(timeout=WAIT_SECONDS):
                self.context.check_cancelled()
        try:
            yield
        finally:
            self.classifier.lock.release()

    def _report(self, done: int, total: int, phase: str) -> None:
        low, high = self._span
        if high - low < 1:
            self._reached = max(self._reached, low + (high - low) * done / total)
            done, total = max(1, round(SHARE * self._reached)), SHARE
        self.context.progress.report(done, total, phase)

    def _halve(self, size: int, length: int, gradients: bool) -> None:
        empty_cache()
        if size == 1:
            raise MemoryShortage(
                f"One text of {length} tokens does not fit into the memory of {self.classifier.device}.",
                "Shorten the text, choose a smaller model or dtype bfloat16, or free the device.",
            )
        self._fit[gradients] = size // 2
        self.halvings += 1
