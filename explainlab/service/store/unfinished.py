"""Jobs that have not ended, so that a restart can show which it cut short, and any page which are paused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, or_, select, update

from explainlab.request import Kind
from explainlab.service.store.database import Database
from explainlab.service.store.lease import Lease
from explainlab.service.store.schema import SERVERS, UNFINISHED

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
