"""The memory of runs, kept in the store: what one has computed is there for the next, also after a restart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial

from explainlab.errors import ResourceError
from explainlab.models.context import Body, ContextWrapper, RunContext
from explainlab.result import Result
from explainlab.service.store.store import Store

_BATCH = 200


class StoredContext(ContextWrapper):
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

    def cache_get(self, keys: Collection[str]) -> dict[str, Body]:
        return super().cache_get(keys) | self._read(keys, self._store.notes)

    def cache_put(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        if not self._stored(bodies, partial(self._store.keep_notes, renew=renew)):
            super().cache_put(bodies, renew)

    def recall_results(self, keys: Collection[str]) -> dict[str, Body]:
        return super().recall_results(keys) | self._read(keys, self._store.records)

    def keep_results(self, records: Mapping[str, Body]) -> None:
        if not self._stored(records, self._store.put_records):
            super().keep_results(records)

    def keep_answer(self, key: str, result: Result) -> Result:
        """Store the run's own result, if anybody is to have it; raises :class:`ResourceError` where that fails.

        Returns it as it is stored.
        """
        if self._owners():
            result = self._store.put(key, result)
            self._use([key])
        return result

    def hold(self) -> None:
        """Write the latest uses to the store, by owner."""
        used, self._used = self._used, []
        with suppress(ResourceError):
            for owner in self._owners():
                self._store.held.hold(owner, self._about, used)

    def _read(self, keys: Collection[str], read: Callable[[Collection[str]], dict[str, Body]]) -> dict[str, Body]:
        with suppress(ResourceError):
            bodies = read(keys)
            self._use(bodies)
            return bodies
        return {}

    def _stored(self, bodies: Mapping[str, Body], write: Callable[[Mapping[str, Body]], None]) -> bool:
        """Store ``bodies`` if the run has owners; return whether the store has them."""
        with suppress(ResourceError):
            if self._owners():
                write(bodies)
                self._use(bodies)
                return True
        return False

    def _use(self, keys: Iterable[str]) -> None:
        self._used += keys
        if len(self._used) >= _BATCH:
            self.hold()
