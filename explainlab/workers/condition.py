"""The condition of a worker: its place, models, speed, and the time of its last report."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ready", "starting", "lost", "refused", "away", "spare"]
_WINDOW = 10.0  # seconds


@dataclass(frozen=True)
class Condition:
    """The condition in a worker's last report, made at ``seen`` (seconds since 1970, None: never).

    ``place`` is its machine and the id of its process, empty while it is not known. ``texts_per_second`` are those that
    its models read, perturbed ones too, in the last ten seconds; ``memory_bytes`` its own (None: not known).
    ``restarts`` counts the processes that were lost; ``sent`` and ``received`` are the bytes to and from the present
    one, 0 where it is this process. ``problem`` says why it is refused or away; else empty. A ``spare`` one is for when
    all others are away or busy with one long batch.
    """

    name: str
    state: State
    place: str
    device: str
    models: tuple[str, ...]
    texts_per_second: float
    memory_bytes: int | None
    seen: float | None
    restarts: int = 0
    sent: int = 0
    received: int = 0
    problem: str = ""


def place_of(state: Mapping[str, Any]) -> str:
    """Return the machine and the process of a worker by its own report; empty where it has made none."""
    return f"{state['host']}, process {state['pid']}" if "host" in state else ""


class Meter:
    """A meter of the texts read a second. Safe to use from any thread."""

    def __init__(self) -> None:
        self._read: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def add(self, texts: int) -> None:
        """Count texts that were read now."""
        with self._lock:
            self._read.append((time.monotonic(), texts))
            self._forget()

    @property
    def rate(self) -> float:
        """Texts a second in the last ten seconds, or since the first of them that was read."""
        with self._lock:
            self._forget()
            since = time.monotonic() - self._read[0][0] if self._read else 0.0
            return sum(texts for _, texts in self._read) / max(1.0, since)

    def _forget(self) -> None:
        """Drop the counts older than ten seconds; the lock is held."""
        since = time.monotonic() - _WINDOW
        while self._read and self._read[0][0] < since:
            self._read.popleft()
