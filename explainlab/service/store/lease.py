"""The lease of a server: while it is renewed, other servers leave its jobs alone; and jobs that have not ended."""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, false, func, insert, not_, or_, select, update
from sqlalchemy.exc import IntegrityError

from explainlab.errors import ResourceError
from explainlab.request import Kind
from explainlab.service.store.database import Database
from explainlab.service.store.schema import SERVERS, UNFINISHED

log = logging.getLogger(__name__)

LEASE_SECONDS = 10.0
"""Seconds without a renewal of its lease after which a server is taken for dead."""
BEAT_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_Other = tuple[str, datetime]
"""The lease of another server as it is now: the server's id, and when it runs out by the clock of its machine."""


class Lease:
    """The lease of one server, known by its random id ``server``. It has none before it first renews it.

    The clock of the database says whether a lease has run out. SQLite only has the clock of each machine: there every
    server watches the leases of the others, and measures with its own stopwatch how long one has not changed.

    Every renewal also writes the server's report of its workers, which ``workers`` returns as JSON.
    """

    def __init__(self, database: Database) -> None:
        self.server = secrets.token_hex(16)
        self.workers: Callable[[], str | None] = lambda: None
        self._database = database
        self._over = threading.Event()
        self._watched: dict[_Other, float] = {}  # since when (monotonic)

    def renew(self) -> None:
        """Take or prolong the lease; raises :class:`ResourceError` where the database cannot be written."""
        with suppress(IntegrityError), self._database.connection() as connection:  # another thread just took it
            until = connection.execute(select(func.now())).scalar_one() + timedelta(seconds=LEASE_SECONDS)
            own, told = SERVERS.c.id == self.server, {"until": until, "workers": self.workers()}
            if not connection.execute(update(SERVERS).where(own).values(told)).rowcount:
                connection.execute(insert(SERVERS).values(id=self.server, **told))
            self._database.count_renewal(connection)

    def keep(self, then: Callable[[], None]) -> None:
        """Renew it from now on, in a thread of its own, and call ``then`` each time that this succeeds."""
        self._beat(then)
        others = len(self._database.rows(select(SERVERS.c.id).where(self.lives(), SERVERS.c.id != self.server)))
        if others:
            log.info("servers on this database besides this one: %d; each has a queue of its own", others)

        def work() -> None:
            while not self._over.wait(BEAT_SECONDS):
                self._beat(then)

        threading.Thread(target=work, name="explainlab-lease", daemon=True).start()

    def lives(self) -> ColumnElement[bool]:
        """Return whether a row of the servers has a lease."""
        if self._database.has_clock:
            return SERVERS.c.until > func.now()
        silent = [other for other, seconds in self._watch().items() if seconds > LEASE_SECONDS]
        rows = (and_(SERVERS.c.id == server, SERVERS.c.until == until) for server, until in silent)
        return not_(or_(false(), *rows))

    def told(self) -> dict[str, str]:
        """Return what the living servers on the database say of their workers, by their ids.

        With SQLite this waits for the next renewals, :data:`LEASE_SECONDS` at most.
        """
        if not self._database.has_clock:
            first = self._watch().keys()
            while any(seconds <= LEASE_SECONDS for other, seconds in self._watch().items() if other in first):
                time.sleep(_LOOK_SECONDS)
        query = select(SERVERS.c.id, SERVERS.c.workers).where(self.lives(), SERVERS.c.workers.is_not(None))
        return {server: workers for server, workers in self._database.rows(query.order_by(SERVERS.c.id))}

    def end(self) -> None:
        """Give it up: what this server leaves unfinished is cut short."""
        self._over.set()
        with suppress(ResourceError):
            self._database.change(delete(SERVERS).where(SERVERS.c.id == self.server))

    def _watch(self) -> dict[_Other, float]:
        """Return for how many seconds the leases of others have not changed, as far as this server has seen."""
        others = self._database.rows(select(SERVERS.c.id, SERVERS.c.until).where(SERVERS.c.id != self.server))
        now, before = time.monotonic(), self._watched
        self._watched = {(server, until): before.get((server, until), now) for server, until in others}
        return {other: now - since for other, since in self._watched.items()}

    def _beat(self, then: Callable[[], None]) -> None:
        try:
            self.renew()
            self._database.change(delete(SERVERS).where(not_(self.lives())))
            then()
        except ResourceError:  # readiness and Status tell it
            pass
        except Exception as error:  # its traceback would show what users have written
            log.error("deferred writes to the store cannot be written: %s", type(error).__name__)


_NO_SERVER = ""


@dataclass(frozen=True)
class CutShort:
    """A request that is unanswered, and no server works on it; ``key`` is its job's, ``asked`` (UTC) its time."""

    key: str
    kind: Kind
    request: dict[str, Any]
    asked: datetime


class Unfinished:
    """The unfinished jobs of users. Each belongs to the server where it was last requested, a paused one to none.

    That of a server without a lease has been cut short. A server that was taken for dead, and is not, changes only what
    no other one has taken over.
    """

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database = database
        self._lease, self._server = lease, lease.server

    def begin(self, key: str, owner: str, kind: Kind, request: dict[str, Any]) -> None:
        """Record that the user with the id ``owner`` waits for ``request`` on this server, under the job ``key``."""
        same = (UNFINISHED.c.key == key, UNFINISHED.c.owner == owner)
        if not self._database.change(update(UNFINISHED).where(*same).values(server=self._server)):
            row = {"key": key, "owner": owner, "server": self._server, "kind": kind}
            self._database.insert(UNFINISHED, {**row, "request": json.dumps(request, allow_nan=False)})

    def end(self, key: str) -> None:
        """Remove this server's job, which has ended, for all its users."""
        own = UNFINISHED.c.server == self._server
        self._database.change(delete(UNFINISHED).where(UNFINISHED.c.key == key, own))

    def pause(self, owner: str, keys: Iterable[str]) -> None:
        """Pause these jobs of ``owner`` on this server: they can go on later, on any server."""
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.key.in_(list(keys)), UNFINISHED.c.server == self._server)
        self._database.change(update(UNFINISHED).where(*theirs).values(server=_NO_SERVER))

    def cut_short(self, owner: str) -> list[CutShort]:
        """Return the requests that dead servers left unanswered, and the paused ones, oldest first."""
        columns = (UNFINISHED.c.key, UNFINISHED.c.kind, UNFINISHED.c.request, UNFINISHED.c.created)
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.server != self._server, self._cut_short())
        rows = self._database.rows(select(*columns).where(*theirs).order_by(UNFINISHED.c.created, UNFINISHED.c.key))
        return [
            CutShort(key, kind, json.loads(request), created.replace(tzinfo=created.tzinfo or UTC))
            for key, kind, request, created in rows
        ]

    def of(self, owner: str) -> list[dict[str, Any]]:
        """Return the requests that living servers work on for the user with the id ``owner``."""
        theirs = (UNFINISHED.c.owner == owner, ~self._cut_short())
        return [json.loads(request) for (request,) in self._database.rows(select(UNFINISHED.c.request).where(*theirs))]

    def forget(self, owner: str, keys: Iterable[str]) -> None:
        """Drop these jobs of ``owner``, unless they run on another server."""
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.key.in_(list(keys)))
        own = UNFINISHED.c.server == self._server
        self._database.change(delete(UNFINISHED).where(*theirs, or_(own, self._cut_short())))

    def _cut_short(self) -> ColumnElement[bool]:
        return UNFINISHED.c.server.not_in(select(SERVERS.c.id).where(self._lease.lives()))
