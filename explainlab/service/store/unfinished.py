"""What was asked and has not ended yet, so that a restart can tell what it cut short."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, select, update

from explainlab.request import Kind
from explainlab.service.store.database import Database
from explainlab.service.store.schema import UNFINISHED


@dataclass(frozen=True)
class CutShort:
    """A request that its server did not live to answer; ``key`` is its job's, ``asked`` (UTC) when it was asked."""

    key: str
    kind: Kind
    request: dict[str, Any]
    asked: datetime


class Unfinished:
    """The jobs that users have asked for. Every one opened is a server's own: what others began has been cut short.

    So one server at a time works on a database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._server = secrets.token_hex(16)

    def begin(self, key: str, owner: str, kind: Kind, request: dict[str, Any]) -> None:
        """The user with the id ``owner`` asks this server for ``request``, whose job goes by ``key``."""
        same = (UNFINISHED.c.key == key, UNFINISHED.c.owner == owner)
        if not self._database.change(update(UNFINISHED).where(*same).values(server=self._server)):
            row = {"key": key, "owner": owner, "server": self._server, "kind": kind}
            self._database.insert(UNFINISHED, {**row, "request": json.dumps(request, allow_nan=False)})

    def end(self, key: str) -> None:
        """The job has ended, for all who asked."""
        self._database.change(delete(UNFINISHED).where(UNFINISHED.c.key == key))

    def cut_short(self, owner: str) -> list[CutShort]:
        """What servers before this one left unanswered, the first asked first."""
        columns = (UNFINISHED.c.key, UNFINISHED.c.kind, UNFINISHED.c.request, UNFINISHED.c.created)
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.server != self._server)
        found = self._database.rows(select(*columns).where(*theirs).order_by(UNFINISHED.c.created, UNFINISHED.c.key))
        return [
            CutShort(key, kind, json.loads(request), created.replace(tzinfo=created.tzinfo or UTC))
            for key, kind, request, created in found
        ]

    def forget(self, owner: str, keys: Iterable[str]) -> None:
        """``owner`` no longer wants these."""
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.key.in_(list(keys)))
        self._database.change(delete(UNFINISHED).where(*theirs))
