"""Results, views and notes in a SQL database, SQLite or any other SQLAlchemy URL. JSON in, JSON out, no pickle."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Column, DateTime, MetaData, String, Table, Text, create_engine, event, insert, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import QueuePool
from sqlalchemy.schema import CreateTable

from explainlab.attribution.records import Attribution
from explainlab.errors import ResourceError
from explainlab.request import digest

_metadata = MetaData()
_results = Table(
    "results",
    _metadata,
    Column("key", String(64), primary_key=True),
    Column("model", Text, nullable=False),
    Column("method", String(64), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
)
_views = Table(
    "views",
    _metadata,
    Column("id", String(16), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
)
_notes = Table(
    "notes",
    _metadata,
    Column("key", String(64), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("body", Text, nullable=False),
)


class Store:
    """A database of results by request key, of views (what a link reopens) by id, and of notes (what runs remember).

    Every write is one transaction: it is there whole or not at all. Errors of the database (a full disk, a read-only
    folder, a server away) come as :class:`ResourceError`. Safe to use from several threads and processes.
    """

    def __init__(self, url: str) -> None:
        self._place = "EXPLAINLAB_DATABASE_URL"
        try:
            place = make_url(url)
            self._place = place.set(query={}).render_as_string(hide_password=True)
            self._engine = create_engine(url, pool_pre_ping=True, **_options(place))
            if place.get_backend_name() == "sqlite":
                event.listen(self._engine, "connect", _configure_sqlite)
            with self._engine.begin() as connection:
                for table in _metadata.sorted_tables:
                    connection.execute(CreateTable(table, if_not_exists=True))
        except (SQLAlchemyError, OSError, ImportError, ValueError) as error:
            raise self._unavailable(error) from error

    def get(self, key: str) -> Attribution | None:
        """The result stored under ``key``, or None."""
        body = self._body(select(_results.c.body).where(_results.c.key == key))
        return None if body is None else Attribution.from_json(json.loads(body))

    def put(self, key: str, result: Attribution) -> None:
        """Keep ``result`` under ``key``; a result already there stays."""
        row = {"key": key, "model": result.request.model, "method": result.request.method}
        self._insert(_results, {**row, "body": json.dumps(result.to_json(), allow_nan=False)})

    def save_view(self, view: dict[str, Any]) -> str:
        """Keep what a page shows; equal views share one id (16 hexadecimal digits)."""
        view_id = digest(view)[:16]
        self._insert(_views, {"id": view_id, "body": json.dumps(view, allow_nan=False)})
        return view_id

    def view(self, view_id: str) -> dict[str, Any] | None:
        """The view saved under ``view_id``, or None."""
        body = self._body(select(_views.c.body).where(_views.c.id == view_id))
        return None if body is None else json.loads(body)

    def note(self, key: str) -> dict[str, Any] | None:
        """The note kept under ``key``, or None."""
        body = self._body(select(_notes.c.body).where(_notes.c.key == key))
        return None if body is None else json.loads(body)

    def keep_note(self, key: str, body: dict[str, Any]) -> None:
        """Keep ``body`` under ``key`` (64 hexadecimal digits); a note already there stays."""
        self._insert(_notes, {"key": key, "body": json.dumps(body, allow_nan=False)})

    def _insert(self, table: Table, row: dict[str, Any]) -> None:
        with self._connection() as connection:
            try:
                connection.execute(insert(table).values(**row, created=datetime.now(UTC)))
            except IntegrityError:
                connection.rollback()

    def _body(self, query) -> str | None:
        with self._connection() as connection:
            return connection.execute(query).scalar_one_or_none()

    @contextmanager
    def _connection(self):
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> ResourceError:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        return ResourceError(
            f"The result store at {self._place} cannot be used: {reason}.",
            "Free disk space, check the permissions, or set EXPLAINLAB_HOME or EXPLAINLAB_DATABASE_URL.",
        )


def _options(place: URL) -> dict[str, Any]:
    """What SQLite needs: its folder made; in memory, one connection that threads take in turns."""
    if place.get_backend_name() != "sqlite":
        return {}
    if place.database in (None, "", ":memory:"):
        turns = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
        return {**turns, "connect_args": {"check_same_thread": False}}
    if not place.database.startswith("file:"):
        Path(place.database).parent.mkdir(parents=True, exist_ok=True)
    return {}


def _configure_sqlite(connection, _) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
