"""Ownership in the store: users' results, notes and views, each with its subject, its size and its last use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, delete, exists, func, literal, select, update
from sqlalchemy import insert as insert_into
from sqlalchemy.exc import IntegrityError

from explainlab.service.store.database import Database, chunks
from explainlab.service.store.schema import HELD, NOTES, RESULTS, RUNS, VIEWS

_KEYS = {RESULTS: RESULTS.c.key, NOTES: NOTES.c.key, VIEWS: VIEWS.c.id}
"""The tables whose rows are held, with the columns of their keys."""


@dataclass(frozen=True)
class Part:
    """All belongings of the user with the id ``owner`` about one text or data set.

    ``bytes`` as stored, ``used`` (UTC) the time of their last use.
    """

    owner: str
    about: str
    bytes: int
    used: datetime


class Ownership:
    """The owners of everything stored. A result or a note stays as long as it has an owner; a view has one owner.

    Every method raises :class:`explainlab.errors.ResourceError` where the database fails.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def hold(self, owner: str, about: str, keys: Sequence[str]) -> None:
        """Make ``owner`` an owner of everything stored under ``keys``; keys without a stored body do not count.

        ``about`` is the digest of the text or the data set: see :func:`explainlab.service.resolved.subject_key`.
        """
        for chunk in chunks(keys):
            with suppress(IntegrityError), self._database.connection() as connection:  # another thread just did
                _hold(connection, owner, about, chunk)

    def measure(self, notes: Iterable[str]) -> None:
        """Correct the recorded sizes of these ``notes``, which have changed."""
        size = select(func.length(NOTES.c.body)).where(NOTES.c.key == HELD.c.key).scalar_subquery()
        for chunk in chunks(notes):
            self._database.change(update(HELD).where(HELD.c.key.in_(chunk)).values(bytes=size))

    def release(self, owner: str, about: str, keys: Sequence[str] | None = None) -> None:
        """Remove ``owner`` from ``keys``, by default from all ``about`` it, and delete those left without an owner."""
        theirs = [HELD.c.owner == owner, HELD.c.about == about]
        with self._database.connection() as connection:
            if keys is None:
                keys = list(connection.scalars(select(HELD.c.key).where(*theirs)))
            for chunk in chunks(keys):
                connection.execute(delete(HELD).where(*theirs, HELD.c.key.in_(chunk)))
                for table, key in _KEYS.items():
                    connection.execute(delete(table).where(key.in_(chunk), *_unheld(key)))
        self._delete_files(self._database.parts.among(keys))

    def delete_before(self, time: datetime) -> None:
        """Remove all ownership that was last used before this ``time``."""
        self._database.change(delete(HELD).where(HELD.c.created < time))

    def delete_unheld(self, time: datetime) -> None:
        """Delete everything without an owner that was stored before this ``time``."""
        for table, key in _KEYS.items():
            self._database.change(delete(table).where(table.c.created < time, *_unheld(key)))
        self._delete_files(self._database.parts.before(time))

    def _delete_files(self, keys: Iterable[str]) -> None:
        """Delete those files of ``keys`` whose result is gone, or was never stored."""
        for chunk in chunks(keys):
            stored = {row.key for row in self._database.rows(select(RESULTS.c.key).where(RESULTS.c.key.in_(chunk)))}
            self._database.parts.delete(key for key in chunk if key not in stored)

    def parts(self) -> list[Part]:
        """Return all belongings of users, the longest unused first."""
        last = func.max(HELD.c.created)
        query = select(HELD.c.owner, HELD.c.about, func.sum(HELD.c.bytes), last).group_by(HELD.c.owner, HELD.c.about)
        rows = self._database.rows(query.order_by(last))
        return [
            Part(owner, about, int(size), used.replace(tzinfo=used.tzinfo or UTC)) for owner, about, size, used in rows
        ]


def _hold(connection: Connection, owner: str, about: str, keys: Iterable[str]) -> None:
    now, keys = datetime.now(UTC), list(keys)
    same = (HELD.c.owner == owner, HELD.c.about == about)
    renewed = connection.execute(update(HELD).where(*same, HELD.c.key.in_(keys)).values(created=now))
    if renewed.rowcount == len(keys):
        return
    known = select(HELD.c.key).where(*same)
    for table, key in _KEYS.items():
        size = func.length(table.c.body) + (RESULTS.c.beside if table is RESULTS else 0)
        fresh = select(literal(owner), literal(about), key, size, literal(now, HELD.c.created.type))
        fresh = fresh.where(key.in_(keys), key.not_in(known))
        connection.execute(insert_into(HELD).from_select(["owner", "about", "key", "bytes", "created"], fresh))


def _unheld(key: ColumnElement[str]) -> list[ColumnElement[bool]]:
    return [~exists().where(HELD.c.key == key), ~exists().where(RUNS.c.key == key)]
