"""A cache of a study on disk: a stopped study continues, and memory does not grow with the number of its texts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from itertools import islice

from explainlab.models.context import Body

_AT_ONCE = 500
"""The number of keys in one look-up."""


class DiskCache:
    """A cache of notes and results in a file without a name, which SQLite deletes with this object."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("CREATE TABLE notes (key TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID")

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """See :class:`explainlab.models.context.Cache`."""
        found: dict[str, Body] = {}
        left = iter(keys)
        while some := list(islice(left, _AT_ONCE)):
            places = ",".join("?" * len(some))
            rows = self._file.execute(f"SELECT key, body FROM notes WHERE key IN ({places})", some)
            found |= {key: json.loads(body) for key, body in rows}
        return found

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """See :class:`explainlab.models.context.Cache`."""
        rows = [(key, json.dumps(body)) for key, body in bodies.items()]
        clash = "REPLACE" if renew else "IGNORE"
        self._file.executemany(f"INSERT OR {clash} INTO notes VALUES (?, ?)", rows)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
