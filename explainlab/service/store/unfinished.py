"""Jobs that have not ended, so that a restart can show which it cut short."""

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
    """A request that its server left unanswered; ``key`` is its job's, ``asked`` (UTC) when it was made."""

    key: str
    kind: Kind
    request: dict[str, Any]
    asked: datetime


class Unfinished:
    """The unfinished jobs of users. Each instance is a server: jobs that another one began have been cut short.

    So only one server at a time may use a database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._server = secrets.token_hex(16)

    def begin(self, key: str, owner: str, kind: Kind, request: dict[str, Any]) -> None:
        """The user with the id ``owner`` waits for ``request`` on this server, under the job ``key``."""
        same = (UNFINISHED.c.key == key, UNFINISHED.c.owner == owner)
        if not self._database.change(update(UNFINISHED).where(*same).values(server=self._server)):
            row = {"key": key, "owner": owner, "server": self._server, "kind": kind}
            self._database.insert(UNFINISHED, {**row, "request": json.dumps(request, allow_nan=False)})

    def end(self, key: str) -> None:
        """The job has ended, for all its users."""
        self._database.change(delete(UNFINISHED).where(UNFINISHED.c.key == key))

    def cut_short(self, owner: str) -> list[CutShort]:
        """What earlier servers left unanswered, oldest first."""
        columns = (UNFINISHED.c.key, UNFINISHED.c.kind, UNFINISHED.c.request, UNFINISHED.c.created)
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.server != self._server)
        rows = self._database.rows(select(*columns).where(*theirs).order_by(UNFINISHED.c.created, UNFINISHED.c.key))
        return [
            CutShort(key, kind, json.loads(request), created.replace(tzinfo=created.tzinfo or UTC))
            for key, kind, request, created in rows
        ]

    def forget(self, owner: str, keys: Iterable[str]) -> None:
        """Drop these jobs of ``owner``."""
        theirs = (UNFINISHED.c.owner == owner, UNFINISHED.c.key.in_(list(keys)))
        self._database.change(delete(UNFINISHED).where(*theirs))
