"""Results, views, notes and runs in a SQL database, SQLite, PostgreSQL or any other. JSON in, JSON out, no pickle."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import delete, select, update

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.bodies import in_bodies, of_bodies
from explainlab.analyses.registry import read_result
from explainlab.request import digest
from explainlab.result import Result, StoredPart
from explainlab.service.store import backup
from explainlab.service.store.database import Database
from explainlab.service.store.lease import Lease, Unfinished
from explainlab.service.store.ownership import Ownership
from explainlab.service.store.parts import Damaged
from explainlab.service.store.remarks import Remarks, Sheet, all_sheets
from explainlab.service.store.runs import Runs, Visibility
from explainlab.service.store.schema import NOTES, REMARKS, RESULTS, RUNS, SIGN_OUTS, UNFINISHED, VIEWS

_MOST_KEPT = 2**20
"""Longer stored results, in characters, are not kept in memory and are read anew."""

_CLOCKS_APART = timedelta(days=1)
"""Difference between the clocks of servers on one database that a sign-out outlasts."""

_DAMAGED = "damaged"
"""In the note under a result's own key that is left of a damaged one."""

R = TypeVar("R", bound=Result)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedView:
    """A saved view of a page, its owner, and its visibility."""

    owner: str
    visibility: Visibility
    body: dict[str, Any]


class Store:
    """A database of results by request key, views (reopened by a link) by id, notes (reused by runs), and runs.

    Every write is one transaction. Errors of the database (a full disk, a read-only folder, a server away) raise
    :class:`explainlab.errors.ResourceError`. Safe to use from several threads and processes. Users' rights are checked
    elsewhere: see ``service/access.py``. ``folder`` is that of SQLite's file; None of other databases and in memory.
    The rows of long results are files in the folder ``parts``; None: beside SQLite's file, else a temporary one.
    """

    def __init__(self, url: str, parts: Path | None = None) -> None:
        self._database = Database(url, parts)
        self.parts = self._database.parts
        self.folder: Path | None = self._database.folder
        self.runs = Runs(self._database)
        self.held = Ownership(self._database)
        self.lease = Lease(self._database)
        self.unfinished = Unfinished(self._database, self.lease)

    def close(self) -> None:
        """Give up the lease and every connection; a database in memory is empty afterwards."""
        self.lease.end()
        self._database.close()

    def back_up(self, file: Path, build: str) -> dict[str, int]:
        """See :func:`explainlab.service.store.backup.back_up`."""
        return backup.back_up(self._database, file, build)

    def restore(self, file: Path) -> dict[str, int]:
        """See :func:`explainlab.service.store.backup.restore`."""
        return backup.restore(self._database, file)

    @property
    def loss(self) -> str:
        """See :attr:`explainlab.service.store.database.Database.loss`."""
        return self._database.loss

    def remarks(self, owner: str, data: str) -> Remarks:
        """Return the remarks of the user with the id ``owner`` on the data set with the digest ``data``."""
        return Remarks(self._database, owner, data)

    def all_remarks(self) -> list[Sheet]:
        """Return every user's remarks on each data set: their size and the time of the last."""
        return all_sheets(self._database)

    def get(self, key: str) -> Result | None:
        """Return the result stored under ``key``, or None; of a damaged one the undamaged rest: see :meth:`damaged`.

        Raises :class:`ValueError`, :class:`KeyError` or :class:`TypeError` for a form that this version cannot read.
        """
        rows = self._database.rows(select(RESULTS.c.body, RESULTS.c.beside).where(RESULTS.c.key == key))
        if not rows:
            return None
        body, beside = rows[0]
        if len(body) <= _MOST_KEPT and not beside:
            return _kept(body)
        record = json.loads(body)
        damaged: list[Damaged] = []
        try:
            return of_bodies(record, self._files(record, damaged) if beside else None)
        except (Damaged, ValueError):
            if not damaged:
                raise
            log.warning("%s is missing or changed: its result is damaged, and may be computed again", damaged[0])
            self.keep_notes({key: {_DAMAGED: str(damaged[0])}})
            self._database.change(delete(RESULTS).where(RESULTS.c.key == key))
            self.parts.delete([key])
            return None

    def damaged(self, key: str) -> bool:
        """Return whether the result under ``key`` is gone because a part of it was missing or changed."""
        return _DAMAGED in (self.note(key) or {}) and not self.has(key)

    def put(self, key: str, result: R) -> R:
        """Keep ``result`` under ``key`` (64 hexadecimal digits), and return it with its parts; one there stays."""
        result = result.as_stored
        if not self.has(key):
            record, files = in_bodies(result)
            parts = self.parts.write(key, files)  # before the result, which is there when they all are
            named = {"parts": [part._asdict() for part in parts]} if parts else {}
            self._put({key: record | named}, {key: self.parts.size(parts)})
        return self._with_parts(key, result)

    def records(self, keys: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the JSON of the results that are stored under any of ``keys``, but for the texts of those in parts."""
        return {key: json.loads(body) for key, body in self._database.bodies(RESULTS, keys).items()}

    def has(self, key: str) -> bool:
        """Return whether a result is stored under ``key``."""
        return self._database.value(select(RESULTS.c.key).where(RESULTS.c.key == key)) is not None

    def put_records(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Store results, given as JSON by their keys, like :meth:`put`."""
        self._put(records, {})

    def _put(self, records: Mapping[str, Mapping[str, Any]], beside: Mapping[str, int]) -> None:
        """Insert the ``bodies``; ``beside`` has the bytes of the files of some."""
        self._database.insert_new(
            RESULTS,
            [
                {
                    "key": key,
                    "model": record["model"],
                    "question": record.get("study") or record["method"],
                    "body": json.dumps(record, allow_nan=False),
                    "beside": beside.get(key, 0),
                }
                for key, record in records.items()
            ],
        )

    def delete_before(self, time: datetime) -> None:
        """Delete runs, remarks and unfinished jobs last used before ``time``, and what only they needed."""
        for column in (RUNS.c.asked, REMARKS.c.created, UNFINISHED.c.created):
            self._database.change(delete(column.table).where(column < time))
        self.held.delete_before(time)
        self.held.delete_unheld(time)

    def shrink(self) -> None:
        """See :meth:`explainlab.service.store.database.Database.shrink`."""
        self._database.shrink()

    def save_view(self, view: dict[str, Any], owner: str = "local", abouts: Collection[str] = ("",)) -> str:
        """Save what a page shows for the user with the id ``owner``; returns its id, which nobody can guess.

        Equal views of an owner share an id. ``abouts`` are the digests of the texts and data sets that it shows.
        """
        view_id = self._view_id(view, owner)
        for about in abouts:
            self.held.hold(owner, about, [view_id])
        return view_id

    def _view_id(self, view: dict[str, Any], owner: str) -> str:
        same = (VIEWS.c.owner == owner, VIEWS.c.digest == digest(view))
        saved = select(VIEWS.c.id).where(*same)
        view_id: str | None = self._database.value(saved)
        if view_id is not None:
            return view_id
        row = {"id": secrets.token_hex(16), "owner": owner, "digest": digest(view), "visibility": "private"}
        added = self._database.insert(VIEWS, {**row, "body": json.dumps(view, allow_nan=False)})
        made: str = row["id"] if added else self._database.value(saved)
        return made

    def view(self, view_id: str) -> SavedView | None:
        """Return the view saved under ``view_id``, of any owner, or None."""
        rows = self._database.rows(select(VIEWS.c.owner, VIEWS.c.visibility, VIEWS.c.body).where(VIEWS.c.id == view_id))
        return SavedView(rows[0].owner, rows[0].visibility, json.loads(rows[0].body)) if rows else None

    def share_view(self, view_id: str, visibility: Visibility) -> None:
        """Set who may see the view."""
        self._database.change(update(VIEWS).where(VIEWS.c.id == view_id).values(visibility=visibility))

    def note(self, key: str) -> dict[str, Any] | None:
        """Return the note kept under ``key``, or None."""
        return self.notes([key]).get(key)

    def notes(self, keys: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the notes that are kept under any of ``keys``."""
        return {key: json.loads(body) for key, body in self._database.bodies(NOTES, keys).items()}

    def keep_notes(self, bodies: Mapping[str, dict[str, Any]], renew: bool = False) -> None:
        """Keep notes by their keys (64 hexadecimal digits); one already there stays, or gives way (``renew``)."""
        rows = [{"key": key, "body": json.dumps(body, allow_nan=False)} for key, body in bodies.items()]
        self._database.insert_new(NOTES, rows, renew)
        if renew:
            self.held.measure(bodies)

    def end_sign_in(self, key: str, most_hours: int) -> None:
        """Remember for ``most_hours`` that the sign-in with this ``key`` (64 hexadecimal digits) has ended."""
        earliest = datetime.now(UTC) - timedelta(hours=most_hours) - _CLOCKS_APART
        self._database.change(delete(SIGN_OUTS).where(SIGN_OUTS.c.created < earliest))
        self._database.insert(SIGN_OUTS, {"key": key})

    def sign_in_ended(self, key: str) -> bool:
        """Return whether :meth:`end_sign_in` has been called for ``key``."""
        return self._database.value(select(SIGN_OUTS.c.key).where(SIGN_OUTS.c.key == key)) is not None

    def _files(self, record: Mapping[str, Any], damaged: list[Damaged]) -> Iterator[bytes]:
        """Read the files of ``record``; errors of damaged ones go to ``damaged`` too, as pydantic hides them."""
        for part in _parts(record):
            try:
                yield self.parts.read(part)
            except Damaged as error:
                damaged.append(error)
                raise

    def _with_parts(self, key: str, result: R) -> R:
        """Return ``result`` with the parts of the one under ``key``."""
        if not isinstance(result, AnalysisResult) or not self.parts.among([key]):
            return result
        return replace(result, parts=tuple(_parts(self.records([key]).get(key, {}))))


def _parts(record: Mapping[str, Any]) -> Iterator[StoredPart]:
    return (StoredPart(**part) for part in record.get("parts", ()))


@lru_cache(maxsize=256)
def _kept(body: str) -> Result:
    """Return the result of a ``body``; equal ones give the same record, so that its figures are kept as well."""
    return read_result(json.loads(body))
