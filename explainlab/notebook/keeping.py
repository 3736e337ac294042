"""The memory of a study on disk, so that one that was stopped goes on, and memory does not grow with its texts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from itertools import islice

from explainlab.models.context import Body, RunContext

_AT_ONCE = 500
"""Keys that are looked up together."""


class Kept(RunContext):
    """Remembers notes and results in a file without a name, which is gone with this object."""

    def __init__(self) -> None:
        super().__init__()
        self._file = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("CREATE TABLE notes (key TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID")

    def recall_all(self, keys: Collection[str]) -> dict[str, Body]:
        found: dict[str, Body] = {}
        left = iter(keys)
        while some := list(islice(left, _AT_ONCE)):
            places = ",".join("?" * len(some))
            rows = self._file.execute(f"SELECT key, body FROM notes WHERE key IN ({places})", some)
            found |= {key: json.loads(body) for key, body in rows}
        return found

    def keep_all(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        rows = [(key, json.dumps(body)) for key, body in bodies.items()]
        clash = "REPLACE" if renew else "IGNORE"
        self._file.executemany(f"INSERT OR {clash} INTO notes VALUES (?, ?)", rows)

    def close(self) -> None:
        """Forget everything."""
        self._file.close()
