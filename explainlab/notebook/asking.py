"""The calls of the library, with a progress bar, a line before a long run, and a cache of finished work.

Every call runs in our own modes of torch (:mod:`explainlab.models.modes`), as methods compute between passes too.

Ctrl-C ends a call within one batch. The finished part of a data set stays until the next study ends: the same call
continues from there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from explainlab.analyses import run
from explainlab.attribution.explain import explain as explain_text
from explainlab.models.context import Body, RunContext
from explainlab.models.modes import own_modes
from explainlab.notebook.telling import ProgressBar
from explainlab.reporting import Reporter, in_sight
from explainlab.training.train import train_files

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


P = ParamSpec("P")
T = TypeVar("T")
_stopped: list[DiskCache] = []
"""The cache of the last study, if a reader stopped it."""


def _with_progress(ask: Callable[P, T], memory: Callable[[], AbstractContextManager[RunContext]]) -> Callable[P, T]:
    """Return ``ask`` with a progress bar of the caller's run, or by default of one with a ``memory``."""

    @wraps(ask)
    def asked(*args: P.args, **named: P.kwargs) -> T:
        own: Any = named.pop("context", None)
        with memory() if own is None else nullcontext(own) as context:
            bar = ProgressBar(context)
            try:
                with own_modes():
                    return ask(*args, **{**named, "context": bar.context})  # type: ignore[arg-type]
            finally:
                bar.close()

    return asked


def _in_memory() -> AbstractContextManager[RunContext]:
    return nullcontext(RunContext())


@contextmanager
def _on_disk() -> Iterator[RunContext]:
    """Yield a context on the cache of the study that was stopped last, or a new one; Ctrl-C keeps it for the next."""
    cache = _stopped.pop() if _stopped else DiskCache()
    try:
        yield RunContext(cache=cache, results=cache)
    except KeyboardInterrupt:
        _stopped.append(cache)
        raise
    cache.close()


explain = _with_progress(explain_text, _in_memory)
study = _with_progress(run.study, _on_disk)
evaluate = _with_progress(run.evaluate, _on_disk)


@wraps(train_files)
def train(*args: Any, **named: Any) -> Any:
    """Call :func:`explainlab.training.train.train_files` with a progress bar."""
    report = Reporter(in_sight())
    try:
        return train_files(*args, **{"report": report, **named})
    finally:
        report.close()
