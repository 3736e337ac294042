"""The memory of runs, kept in the store: what one has computed is there for the next, also after a restart."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from explainlab.errors import ResourceError
from explainlab.models.context import Relay, RunContext
from explainlab.result import Result
from explainlab.service.store.store import Store

_BATCH = 200


class StoredContext(Relay):
    """Progress and cancellation of ``context``, with the memory of ``store``.

    ``owners`` gives the ids of the users who then have what is kept or recalled ``about`` their text or data set; while
    there are none, a run remembers only for itself. Where the store fails nothing is remembered, and the run goes on.
    """

    def __init__(self, context: RunContext, store: Store, about: str, owners: Callable[[], Collection[str]]) -> None:
        super().__init__(context)
        self._store = store
        self._about = about
        self._owners = owners
        self._used: list[str] = []

    def recall(self, key: str) -> dict[str, Any] | None:
        return self._read(key, self._store.note) or super().recall(key)

    def keep(self, key: str, body: dict[str, Any]) -> None:
        if not self._stored(key, body, self._store.keep_note):
            super().keep(key, body)

    def recall_result(self, key: str) -> dict[str, Any] | None:
        return self._read(key, self._store.record) or super().recall_result(key)

    def keep_result(self, key: str, record: dict[str, Any]) -> None:
        if not self._stored(key, record, self._store.put_record):
            super().keep_result(key, record)

    def keep_answer(self, key: str, result: Result) -> None:
        """Store the run's own result, if anybody is to have it; raises :class:`ResourceError` where that fails."""
        if self._owners():
            self._store.put(key, result)
            self._use(key)

    def hold(self) -> None:
        """Write down who has what was used so far."""
        used, self._used = self._used, []
        with suppress(ResourceError):
            for owner in self._owners():
                self._store.held.hold(owner, self._about, used)

    def _read(self, key: str, read: Callable[[str], dict[str, Any] | None]) -> dict[str, Any] | None:
        with suppress(ResourceError):
            record = read(key)
            if record is not None:
                self._use(key)
            return record
        return None

    def _stored(self, key: str, body: dict[str, Any], write: Callable[[str, dict[str, Any]], None]) -> bool:
        """Whether somebody wants ``body`` and the store has it."""
        with suppress(ResourceError):
            if self._owners():
                write(key, body)
                self._use(key)
                return True
        return False

    def _use(self, key: str) -> None:
        self._used.append(key)
        if len(self._used) >= _BATCH:
            self.hold()
