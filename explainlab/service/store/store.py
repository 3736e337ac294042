"""Results, views, notes and runs in a SQL database, SQLite, PostgreSQL or any other. JSON in, JSON out, no pickle."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import delete, select, update

from explainlab.analyses.registry import read_result
from explainlab.request import digest
from explainlab.result import Result
from explainlab.service.store.database import Database
from explainlab.service.store.remarks import Remarks
from explainlab.service.store.runs import Runs, Visibility
from explainlab.service.store.schema import NOTES, RESULTS, VIEWS
from explainlab.service.store.unfinished import Unfinished

_MOST_KEPT = 2**20
"""Characters of a stored result that stays in memory once it was read; longer ones are read anew."""


@dataclass(frozen=True)
class SavedView:
    """What a page showed, whose it is and who may see it."""

    owner: str
    visibility: Visibility
    body: dict[str, Any]


class Store:
    """A database of results by request key, views (what a link reopens) by id, notes (what runs remember), and runs.

    Every write is one transaction: it is there whole or not at all. Errors of the database (a full disk, a read-only
    folder, a server away) come as :class:`explainlab.errors.ResourceError`. Safe to use from several threads and
    processes. Who may see what is not decided here: see ``service/access.py``.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self.runs = Runs(self._database)
        self.unfinished = Unfinished(self._database)

    def remarks(self, owner: str, data: str) -> Remarks:
        """What the user with the id ``owner`` has left on a data set, which goes by its digest."""
        return Remarks(self._database, owner, data)

    def get(self, key: str) -> Result | None:
        """The result stored under ``key``, or None.

        Raises :class:`ValueError`, :class:`KeyError` or :class:`TypeError` for a form that this version does not read.
        """
        body = self._body(key)
        if body is None:
            return None
        return _kept(body) if len(body) <= _MOST_KEPT else _read(body)

    def put(self, key: str, result: Result) -> None:
        """Keep ``result`` under ``key`` (64 hexadecimal digits); a result already there stays."""
        self.put_record(key, result.to_json())

    def record(self, key: str) -> dict[str, Any] | None:
        """The JSON of the result stored under ``key``, or None."""
        body = self._body(key)
        return None if body is None else json.loads(body)

    def put_record(self, key: str, record: Mapping[str, Any]) -> None:
        """As :meth:`put`, of the JSON of a result."""
        row = {"key": key, "model": record["model"], "question": record.get("study") or record["method"]}
        self._database.insert(RESULTS, {**row, "body": json.dumps(record, allow_nan=False)})

    def forget(self, key: str) -> None:
        """Delete the result or the note kept under ``key``, if there is one."""
        for table in (RESULTS, NOTES):
            self._database.change(delete(table).where(table.c.key == key))

    def save_view(self, view: dict[str, Any], owner: str = "local") -> str:
        """Keep what a page shows for the user with the id ``owner``; returns its id, which nobody can guess.

        Equal views of one owner share it.
        """
        same = (VIEWS.c.owner == owner, VIEWS.c.digest == digest(view))
        known = select(VIEWS.c.id).where(*same)
        view_id: str | None = self._database.value(known)
        if view_id is not None:
            return view_id
        row = {"id": secrets.token_hex(16), "owner": owner, "digest": digest(view), "visibility": "private"}
        added = self._database.insert(VIEWS, {**row, "body": json.dumps(view, allow_nan=False)})
        made: str = row["id"] if added else self._database.value(known)
        return made

    def view(self, view_id: str) -> SavedView | None:
        """The view saved under ``view_id``, whoever's it is, or None."""
        found = self._database.rows(
            select(VIEWS.c.owner, VIEWS.c.visibility, VIEWS.c.body).where(VIEWS.c.id == view_id)
        )
        return SavedView(found[0].owner, found[0].visibility, json.loads(found[0].body)) if found else None

    def share_view(self, view_id: str, visibility: Visibility) -> None:
        """Set who may see the view."""
        self._database.change(update(VIEWS).where(VIEWS.c.id == view_id).values(visibility=visibility))

    def note(self, key: str) -> dict[str, Any] | None:
        """The note kept under ``key``, or None."""
        body = self._database.value(select(NOTES.c.body).where(NOTES.c.key == key))
        return None if body is None else json.loads(body)

    def keep_note(self, key: str, body: dict[str, Any]) -> None:
        """Keep ``body`` under ``key`` (64 hexadecimal digits); a note already there stays."""
        self._database.insert(NOTES, {"key": key, "body": json.dumps(body, allow_nan=False)})

    def _body(self, key: str) -> str | None:
        body: str | None = self._database.value(select(RESULTS.c.body).where(RESULTS.c.key == key))
        return body


def _read(body: str) -> Result:
    return read_result(json.loads(body))


_kept = lru_cache(maxsize=256)(_read)
"""Equal texts are one record, so that what is made of it need not be made again."""
