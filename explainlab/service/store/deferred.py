"""DeferredWrites writes: those that the store could not take while it was away."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from explainlab.errors import ResourceError

Write = Callable[[], None]

_MOST = 512


class DeferredWrites:
    """Writes that wait for the store; beyond 512 the oldest are lost. Safe to use from any thread."""

    def __init__(self) -> None:
        self._waiting: deque[Write] = deque(maxlen=_MOST)
        self._flushing = threading.Lock()

    def write(self, write: Write) -> ResourceError | None:
        """Make ``write`` now, or with :meth:`flush` where the store fails: as the returned error says."""
        try:
            write()
        except ResourceError as error:
            self._waiting.append(write)
            return error
        return None

    def flush(self) -> None:
        """Make the writes that wait; one that fails again is the last of the next time, and ends this one."""
        with self._flushing:
            for _ in range(len(self._waiting)):
                if self.write(self._waiting.popleft()):
                    return
