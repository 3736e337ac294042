"""The memory of runs, kept in the store: what one has computed is there for the next, also after a restart."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from explainlab.errors import ResourceError
from explainlab.models.context import Relay, RunContext
from explainlab.service.store.store import Store


class StoredContext(Relay):
    """Progress and cancellation of ``context``, with the memory of ``store``.

    Where the store fails nothing is remembered, and the run goes on.
    """

    def __init__(self, context: RunContext, store: Store) -> None:
        super().__init__(context)
        self._store = store

    def recall(self, key: str) -> dict[str, Any] | None:
        with suppress(ResourceError):
            return self._store.note(key)
        return None

    def keep(self, key: str, body: dict[str, Any]) -> None:
        with suppress(ResourceError):
            self._store.keep_note(key, body)

    def recall_result(self, key: str) -> dict[str, Any] | None:
        with suppress(ResourceError):
            return self._store.record(key)
        return None

    def keep_result(self, key: str, record: dict[str, Any]) -> None:
        with suppress(ResourceError):
            self._store.put_record(key, record)
