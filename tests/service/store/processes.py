"""Processes of their own on one database."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from sqlalchemy import Engine, event

from explainlab.analyses.registry import read_result
from explainlab.attribution.records import Attribution
from explainlab.service.store import lease
from explainlab.service.store.database import Database
from explainlab.service.store.lease import Unfinished
from explainlab.service.store.store import Store
from tests import forked

SOON = 60


@dataclass(frozen=True)
class Other:
    """A running process, and the end of a pipe to it."""

    process: BaseProcess
    pipe: Connection

    def told(self) -> Any:
        """Return the next message."""
        assert self.pipe.poll(SOON), "it says nothing"
        return self.pipe.recv()

    def ended(self) -> int:
        """Return the exit code of the process, once it has ended."""
        self.process.join(SOON)
        return self.process.exitcode


@contextmanager
def other(work: Callable[..., None], *arguments: Any) -> Iterator[Other]:
    """Yield ``work(pipe, *arguments)`` in a new process; kill it at the end."""
    ours, theirs = forked.pipe()
    process = forked.start(work, theirs, *arguments)
    theirs.close()
    try:
        yield Other(process, ours)
    finally:
        process.kill()
        process.join()


def write_many(pipe: Connection, url: str, name: str, record: dict[str, Any]) -> None:
    """Store fifty results that name their writer, once told to."""
    result = Attribution.from_json(record).with_warning(name)
    pipe.send("ready")
    pipe.recv()
    store = Store(url)
    for i in range(50):
        store.put(f"{i:064}", result)


def killed_before_a_commit(_: Connection, url: str, record: dict[str, Any]) -> None:
    """Store a result, and be killed when the second is about to be committed."""
    store = Store(url)
    store.put("a" * 64, Attribution.from_json(record))
    event.listen(Engine, "commit", lambda _: os.kill(os.getpid(), signal.SIGKILL))
    store.put("b" * 64, Attribution.from_json(record))


def killed_in_a_migration(_: Connection, url: str, number: int) -> None:
    """Open the database, and be killed before the statement of this ``number``, counted from 1."""
    counted = count(1)

    def kill(*_: Any) -> None:
        if next(counted) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", kill)
    Store(url)


def write_for_ever(pipe: Connection, url: str, record: dict[str, Any]) -> None:
    """Store one result under ever new keys, each with a note and a view, and tell each key and view once both are."""
    store, result = Store(url), read_result(record)
    for number in count():
        key = f"{number:064}"
        store.put(key, result)
        store.keep_notes({key: {"number": number}})
        pipe.send((key, store.save_view({"number": number})))


def open_and_save(pipe: Connection, url: str) -> None:
    """Open the database and save a view, once told to; tells the view's id."""
    pipe.send("ready")
    pipe.recv()
    pipe.send(Store(url).save_view({"text": "the same"}))


def serve(pipe: Connection, url: str, keys: list[str]) -> None:
    """Run a server with a short lease on two jobs of Ann; end the first one on request."""
    lease.LEASE_SECONDS, lease.BEAT_SECONDS = 6, 0.2
    database = Database(url)
    own = lease.Lease(database)
    unfinished = Unfinished(database, own)
    own.keep(lambda: None)
    for key in keys:
        unfinished.begin(key, "ann", "attribution", {"text": "a film"})
    pipe.send("begun")
    pipe.recv()
    unfinished.end(keys[0])
    pipe.send("done")
    pipe.recv()
