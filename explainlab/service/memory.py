"""The memory of runs, kept in the store: what one has computed is there for the next, also after a restart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from explainlab.errors import ResourceError
from explainlab.models.context import Body, Cache, RunContext
from explainlab.result import Result
from explainlab.service.store.store import Store

_BATCH = 200


class StoredMemory:
    """The memory of runs in ``store``.

    ``owners`` gives the ids of the users who then have what is kept or recalled ``about`` their text or data set; while
    there are none, a run remembers only for itself. Where the store fails nothing is remembered, and the run goes on.
    """

    def __init__(self, store: Store, about: str, owners: Callable[[], Collection[str]]) -> None:
        self._store = store
        self._about = about
        self._owners = owners
        self._used: list[str] = []

    def of(self, context: RunContext) -> RunContext:
        """Return a context like ``context`` with this memory."""
        store = self._store
        cache = _StoredCache(context.cache, self, store.notes, store.keep_notes)
        results = _StoredCache(context.results, self, store.records, lambda records, _: store.put_records(records))
        return replace(context, cache=cache, results=results)

    def keep_answer(self, key: str, result: Result) -> Result:
        """Store the run's own result, if anybody is to have it; raises :class:`ResourceError` where that fails.

        Returns it as it is stored.
        """
        if self._owners():
            result = self._store.put(key, result)
            self.use([key])
        return result

    def hold(self) -> None:
        """Write the latest uses to the store, by owner."""
        used, self._used = self._used, []
        with suppress(ResourceError):
            for owner in self._owners():
                self._store.held.hold(owner, self._about, used)

    def use(self, keys: Iterable[str]) -> None:
        """Record that the run has used ``keys``."""
        self._used += keys
        if len(self._used) >= _BATCH:
            self.hold()

    @property
    def owned(self) -> bool:
        """True while there are owners."""
        return bool(self._owners())


class _StoredCache:
    """A cache in the store, by functions that ``read`` and ``write``; ``own`` is the run's, for what is not stored."""

    def __init__(
        self,
        own: Cache,
        memory: StoredMemory,
        read: Callable[[Collection[str]], dict[str, Body]],
        write: Callable[[Mapping[str, Body], bool], None],
    ) -> None:
        self._own, self._memory, self._read, self._write = own, memory, read, write

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """See :class:`Cache`."""
        known = self._own.get_many(keys)
        with suppress(ResourceError):
            stored = self._read(keys)
            self._memory.use(stored)
            known |= stored
        return known

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """See :class:`Cache`."""
        with suppress(ResourceError):
            if self._memory.owned:
                self._write(bodies, renew)
                self._memory.use(bodies)
                return
        self._own.put_many(bodies, renew)
