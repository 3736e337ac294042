"""The context of a run: progress, cancellation and a memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from explainlab.reader import ANYBODY, Reader

if TYPE_CHECKING:
    from explainlab.models.classifier import Prediction

FORWARD = 1 / 3
"""The work of a forward pass, as a share of a pass with gradients."""


class RunContext:
    """Progress, cancellation and memory of one run; this base reports to nobody and never stops.

    The memory holds intermediate results that a run may need again, as plain JSON bodies under keys made by
    :func:`explainlab.request.digest` of all that determines them. The base class remembers nothing beyond this object.
    ``reader``: whose uploads the run reads, and how much of a file.
    """

    reader: Reader = ANYBODY  # also for a subclass that leaves __init__ to itself

    def __init__(self, reader: Reader = ANYBODY) -> None:
        self.reader = reader

    def report(self, done: int, total: int, phase: str) -> None:
        """``done`` of ``total`` model passes of this ``phase`` are finished. Called after every batch."""

    def predicted(self, prediction: Prediction) -> None:
        """The ``prediction`` for a text of the run is known. Called once a text, before all that explains it."""

    def expect(self, work: float, exact: bool = True) -> None:
        """From here on the run takes about so much ``work`` (see :meth:`spend`), or at most, if it is not ``exact``."""

    def part(self, work: float) -> None:
        """A part of the expected ``work`` begins; the part before has ended."""

    def spend(self, work: float) -> None:
        """So much more ``work`` has been done: tokens in passes with gradients; others count :data:`FORWARD` of one."""

    def check_cancelled(self) -> None:
        """Raise :class:`explainlab.errors.Cancelled` if the run should stop. Called before every batch."""

    def recall(self, key: str) -> dict[str, Any] | None:
        """What was kept under ``key``, or None."""
        return self._memory.get(key)

    def keep(self, key: str, body: dict[str, Any]) -> None:
        """Remember ``body`` under ``key``; what is already there stays."""
        self._memory.setdefault(key, body)

    def recall_result(self, key: str) -> dict[str, Any] | None:
        """The JSON of the result that is stored under ``key``, the key of its request; or None."""
        return self.recall(key)

    def keep_result(self, key: str, record: dict[str, Any]) -> None:
        """Store a result, as its JSON ``record``, under the key of its request."""
        self.keep(key, record)

    @cached_property
    def _memory(self) -> dict[str, dict[str, Any]]:
        return {}


class Relay(RunContext):
    """Does what ``context`` does; a subclass changes some of it."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context.reader)
        self._context = context

    def report(self, done: int, total: int, phase: str) -> None:
        self._context.report(done, total, phase)

    def predicted(self, prediction: Prediction) -> None:
        self._context.predicted(prediction)

    def expect(self, work: float, exact: bool = True) -> None:
        self._context.expect(work, exact)

    def part(self, work: float) -> None:
        self._context.part(work)

    def spend(self, work: float) -> None:
        self._context.spend(work)

    def check_cancelled(self) -> None:
        self._context.check_cancelled()

    def recall(self, key: str) -> dict[str, Any] | None:
        return self._context.recall(key)

    def keep(self, key: str, body: dict[str, Any]) -> None:
        self._context.keep(key, body)

    def recall_result(self, key: str) -> dict[str, Any] | None:
        return self._context.recall_result(key)

    def keep_result(self, key: str, record: dict[str, Any]) -> None:
        self._context.keep_result(key, record)
