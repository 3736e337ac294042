"""Late writes: what the store could not take while it was away."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from explainlab.errors import ResourceError

Write = Callable[[], None]

_MOST = 512


class Late:
    """Writes that wait for the store, in their order; beyond 512 the oldest are lost. Safe to use from any thread."""

    def __init__(self) -> None:
        self._waiting: deque[Write] = deque(maxlen=_MOST)

    def write(self, write: Write) -> ResourceError | None:
        """Make ``write`` now, or with :meth:`flush` where the store fails: as the returned error says."""
        try:
            write()
        except ResourceError as error:
            self._waiting.append(write)
            return error
        return None

    def flush(self) -> None:
        """Make the writes that wait; those that fail again go on waiting."""
        for _ in range(len(self._waiting)):
            self.write(self._waiting.popleft())
