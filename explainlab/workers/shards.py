"""The shards of a run that several workers do."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Counts(NamedTuple):
    """The numbers of parts that wait, are taken, and are done."""

    waiting: int
    taken: int
    done: int


class ShardQueue:
    """The parts, plain JSON, that a run hands out: each to one hand, and again to another if that one is lost.

    A hand is any hashable token for the worker of a part. A run may hand out several times, one time after another:
    ``of`` identifies the present parts. ``changed`` is called when there is something to take. Safe to use from any
    thread.
    """

    def __init__(self) -> None:
        self.of = ""
        self.changed: Callable[[], None] = lambda: None
        self._count = 0
        self._waiting: deque[Any] = deque()
        self._taken: dict[object, Any] = {}
        self._paused: set[object] = set()
        self._hands: set[object] = set()
        self._moved = threading.Condition()

    def offer(self, of: str, parts: Sequence[Any]) -> None:
        """Offer these ``parts`` in place of earlier ones."""
        with self._moved:
            self.of = of
            self._waiting, self._count = deque(parts), len(parts)
            self._taken.clear()
            self._hands.clear()
        if len(parts) > 1:
            self.changed()

    @property
    def waiting(self) -> int:
        """The number of parts that no hand has taken."""
        return len(self._waiting)

    @property
    def counts(self) -> Counts:
        """The parts by their state."""
        with self._moved:
            waiting, taken = len(self._waiting), len(self._taken)
            return Counts(waiting, taken, self._count - waiting - taken)

    def next(self, hand: object) -> Any | None:
        """Return the next part for ``hand``, which has done the one before; None where all are taken."""
        with self._moved:
            self._taken.pop(hand, None)
            self._hands.add(hand)
            self._moved.notify_all()
            if not self._waiting:
                return None
            part = self._taken[hand] = self._waiting.popleft()
            return part

    def had(self, hand: object) -> bool:
        """Return whether ``hand`` has ever asked for a part."""
        return hand in self._hands

    def has(self, hand: object) -> bool:
        """Return whether ``hand`` still has a part."""
        return hand in self._taken

    def lose(self, hand: object) -> None:
        """Let the part of ``hand``, which will not finish it, wait again."""
        with self._moved:
            self._lose(hand)

    def waits(self, hand: object, paused: bool) -> None:
        """Record that ``hand`` makes way for others, or goes on."""
        with self._moved:
            (self._paused.add if paused else self._paused.discard)(hand)

    def await_others(self, hand: object, seconds: float) -> bool:
        """Wait up to ``seconds`` for other hands; False where none has a part. Parts of paused hands wait again."""
        with self._moved:
            for other in [other for other in self._taken if other in self._paused]:
                self._lose(other)
            if not self._taken and not self._waiting:
                return False
            if not self._waiting:
                self._moved.wait(seconds)
            return True

    def _lose(self, hand: object) -> None:
        if hand in self._taken:
            self._waiting.appendleft(self._taken.pop(hand))
            self._moved.notify_all()
