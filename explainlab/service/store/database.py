"""The database behind the store: opened by URL, brought up to date, its errors in plain words."""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Executable, Table, create_engine, delete, event, insert, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from explainlab.errors import ResourceError
from explainlab.service.store.parts import Parts
from explainlab.service.store.trouble import trouble

T = TypeVar("T")
log = logging.getLogger(__name__)
_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCKS = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(7296815436202811)"}
"""Statements that let only one process at a time bring a database up to date."""
_alembic = threading.Lock()  # alembic keeps its state in its modules
_POSTGRESQL = ("postgres", "postgresql")
_CONNECT_SECONDS = 5
_BUSY_SECONDS = 10
"""Seconds that a statement waits for the lock of SQLite's file."""
_OVERWRITTEN = "overwritten"
_RESTART = "Restart the server once the right file is there."
_INCREMENTAL = 2  # SQLite's mode of a file that can shrink
_CHUNK = 500
_UNRELEASED = {f"v{number}" for number in range(1, 13)}
"""Versions of stores from before the first release."""


class Database:
    """A SQL database with the tables of :mod:`.schema`: SQLite, PostgreSQL or any other with a SQLAlchemy URL.

    Opening brings it up to date and loses nothing; several processes may do so at once. Every statement is a
    transaction of its own. Every failure raises :class:`ResourceError`; the next statement connects again to a
    server that was away. ``folder`` is that of SQLite's file; None of other databases and in memory. The files of
    ``parts`` are in the folder that is given, by default beside SQLite's file, else in a temporary one.

    SQLite's file may be moved, removed or replaced while it is open. Every statement then fails, and the first of them
    saves the contents of the open file: to a new file beside it, and to the moved file itself. A file that is moved
    back is used again. Where another file is copied over it in place, its readable rest is saved, and this
    database is not used any more.
    """

    def __init__(self, url: str, parts: Path | None = None) -> None:
        self._address = "EXPLAINLAB_DATABASE_URL"
        self._saving = threading.Lock()
        self._remedy = ""
        try:
            address = make_url(url)
            self._address = address.set(query={}).render_as_string(hide_password=True)
            if address.drivername in _POSTGRESQL:
                address = address.set(drivername="postgresql+psycopg")
            self._engine = create_engine(address, pool_pre_ping=True, **_options(address))
            if address.get_backend_name() == "sqlite":
                event.listen(self._engine, "connect", _configure_sqlite)
            path = self._find_file()
            self._file = _OpenFile(path) if path else None
            event.listen(self._engine, "do_connect", self._refuse_another)
            self.folder = path and path.parent
            self.parts = Parts(parts or (self.folder and self.folder / "parts"))
            self._bring_up_to_date()
        except (SQLAlchemyError, sqlite3.Error, OSError, ImportError, ValueError) as error:
            raise self._unavailable(error) from error

    def insert(self, table: Table, row: dict[str, Any]) -> bool:
        """Add ``row``, created now; False where its key exists."""
        try:
            with self.connection() as connection:
                connection.execute(insert(table).values(**row, created=datetime.now(UTC)))
        except IntegrityError:
            return False
        return True

    def insert_new(self, table: Table, rows: Sequence[Mapping[str, Any]], renew: bool = False) -> None:
        """Add rows with a ``key`` and a ``body``, created now; where a key exists, its row stays or is renewed."""
        for row in rows if not self._insert_together(table, rows, renew) else ():
            self._insert_together(table, [row], renew)

    def bodies(self, table: Table, keys: Collection[str]) -> dict[str, str]:
        """Return the ``body`` of every row of ``table`` whose ``key`` is one of ``keys``."""
        query = select(table.c.key, table.c.body)
        with self.connection() as connection:
            return {
                key: body
                for chunk in chunks(keys)
                for key, body in connection.execute(query.where(table.c.key.in_(chunk)))
            }

    def _insert_together(self, table: Table, rows: Sequence[Mapping[str, Any]], renew: bool) -> bool:
        """Insert in one transaction of :meth:`insert_new`; False where another process just added one of the keys."""
        now = datetime.now(UTC)
        with suppress(IntegrityError), self.connection() as connection:
            for chunk in chunks(rows):
                keys = table.c.key.in_([row["key"] for row in chunk])
                if renew:
                    connection.execute(delete(table).where(keys))
                known = set(connection.scalars(select(table.c.key).where(keys)))
                new = [{**row, "created": now} for row in chunk if row["key"] not in known]
                if new:
                    connection.execute(insert(table), new)
            return True
        return False

    def change(self, statement: Executable) -> int:
        """Execute an update or a deletion; how many rows matched."""
        with self.connection() as connection:
            return connection.execute(statement).rowcount

    def rows(self, query: Executable) -> list[Any]:
        """Return all rows of a selection."""
        with self.connection() as connection:
            return list(connection.execute(query))

    def value(self, query: Executable) -> Any:
        """Return the value of a selection, or None."""
        with self.connection() as connection:
            return connection.execute(query).scalar_one_or_none()

    def shrink(self) -> None:
        """Give the space of what was deleted back to the disk; servers of databases do so by themselves."""
        if self._engine.dialect.name != "sqlite":
            return
        with self.connection() as connection:
            cursor = connection.connection.cursor()
            if cursor.execute("PRAGMA auto_vacuum").fetchone()[0] == _INCREMENTAL:
                while cursor.execute("PRAGMA freelist_count").fetchone()[0]:
                    cursor.execute("PRAGMA incremental_vacuum(1000)").fetchall()  # pages; others may write between
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the connections that are not in use. The next statement opens another one."""
        self._engine.dispose()

    def count_renewal(self, connection: Connection) -> None:
        """Count the renewal of a lease in the header of SQLite's file: an older copy of the file has fewer."""
        if self._file:
            number = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            connection.exec_driver_sql(f"PRAGMA user_version = {number + 1}")

    @property
    def has_clock(self) -> bool:
        """True if everybody reads the time from its one clock; with SQLite each machine reads its own."""
        return self._engine.dialect.name != "sqlite"

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Open a transaction. Its errors are :class:`ResourceError`, but for an ``IntegrityError``."""
        self._require_file()
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            raise self._unavailable(error) from error
        self._require_file()  # a file that was moved meanwhile may have been saved before

    @property
    def loss(self) -> str:
        """The problem and its remedy where SQLite's file is no longer the one that was opened; else nothing."""
        try:
            self._require_file()
        except ResourceError as error:
            return str(error)
        return ""

    def _require_file(self) -> None:
        """Raise :class:`ResourceError` where SQLite's file is no longer the one that was opened; save its contents."""
        fate = self._file.fate if self._file else ""
        if not fate:
            self._remedy = ""
            return
        left = "What is left of it is" if fate == _OVERWRITTEN else "Its contents are"
        with self._saving:
            try:
                remedy = self._remedy = self._remedy or f"{left} in {self._save(fate)}. {_RESTART}"
            except (SQLAlchemyError, OSError) as error:
                remedy = f"Its contents cannot be saved ({_reason(error)})."
                if fate == _OVERWRITTEN:  # for good
                    remedy = self._remedy = f"{remedy} {_RESTART}"
                else:
                    remedy = f"{remedy} Put the file back."
        raise trouble(f"The result store at {self._address} has been {fate} while it was open.", remedy)

    def _refuse_another(self, *_: Any) -> None:
        """Let no connection open the file that has taken the place of SQLite's, or make a new one."""
        if self._file and self._file.fate:
            raise sqlite3.OperationalError(f"its file has been {self._file.fate}")

    def _save(self, fate: str) -> Path:
        """Save the contents of the open file to a new one beside it, return that, and close the open one.

        A moved file gets all that its write-ahead log has. SQLite would read that log into the file that is now in its
        place, so the log becomes empty.
        """
        assert self._file is not None
        path = self._file.path
        saved = path.with_name(f"{path.stem}-saved-{datetime.now(UTC):%Y%m%dT%H%M%SZ}{path.suffix}")
        try:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                if fate != _OVERWRITTEN:
                    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
                os.close(os.open(saved, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                try:
                    connection.execute(text("VACUUM INTO :file"), {"file": str(saved)})
                except SQLAlchemyError:
                    saved.unlink()
                    raise
        finally:
            if fate == _OVERWRITTEN:
                with suppress(FileNotFoundError):
                    os.truncate(f"{path}-wal", 0)
                self._engine.dispose()
        self._engine.dispose()
        log.error("the file of the result store is gone; its contents are saved", extra={"file": str(saved)})
        return saved

    @property
    def version(self) -> str:
        """The version of the tables."""
        return str(_scripts().get_current_head())

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a read-only transaction that sees the contents of one moment. Raises as :meth:`connection`."""
        self._require_file()
        sqlite = self._engine.dialect.name == "sqlite"
        level = "AUTOCOMMIT" if sqlite else "REPEATABLE READ"
        try:
            with self._engine.connect().execution_options(isolation_level=level) as connection, connection.begin():
                if sqlite:  # its driver begins a transaction only before the first insert
                    connection.exec_driver_sql("BEGIN")
                yield connection
                if sqlite:
                    connection.exec_driver_sql("COMMIT")
        except SQLAlchemyError as error:
            raise self._unavailable(error) from error

    def _bring_up_to_date(self) -> None:
        scripts = _scripts()
        with self._engine.connect() as connection:
            version = MigrationContext.configure(connection).get_current_revision()
        if version == scripts.get_current_head():
            return
        if version in _UNRELEASED:
            raise trouble(
                f"The result store at {self._address} is of a build before the first release, whose results are not "
                "carried over.",
                "Delete it, or set EXPLAINLAB_HOME or EXPLAINLAB_DATABASE_URL to another store.",
            )
        if version is not None and version not in {script.revision for script in scripts.walk_revisions()}:
            raise trouble(
                f"The result store at {self._address} was made by a newer ExplainLab (its version is {version}).",
                "Update ExplainLab, or set EXPLAINLAB_HOME or EXPLAINLAB_DATABASE_URL to another store.",
            )
        backend = self._engine.dialect.name
        with self._engine.connect() as connection:
            if backend == "sqlite":  # else its driver begins a transaction only before the first insert
                connection.execution_options(isolation_level="AUTOCOMMIT")
            with _alembic, connection.begin():
                if backend in _LOCKS:
                    connection.exec_driver_sql(_LOCKS[backend])
                _upgrade(connection)

    def _find_file(self) -> Path | None:
        if self._engine.dialect.name != "sqlite":
            return None
        with self._engine.connect() as connection:
            path = connection.exec_driver_sql("SELECT file FROM pragma_database_list WHERE name = 'main'").scalar()
        return Path(path) if path else None

    def _unavailable(self, error: Exception) -> ResourceError:
        return trouble(
            f"The result store at {self._address} cannot be used: {_reason(error)}.",
            "Free disk space, check the permissions, or set EXPLAINLAB_HOME or EXPLAINLAB_DATABASE_URL.",
        )


def _reason(error: Exception) -> str:
    found = getattr(error, "strerror", None) or getattr(error, "orig", None) or error
    return str(found).splitlines()[0]


class _OpenFile:
    """SQLite's file at a ``path`` as it was opened.

    It keeps its number. SQLite writes to it now and then; its header keeps a mark and never counts fewer renewals of
    leases. Reading it as any other file would end SQLite's locks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._changed = (0, 0)
        self._header = _header(path)
        self._overwritten = False
        found = path.stat()
        self._number = (found.st_dev, found.st_ino)

    @property
    def fate(self) -> str:
        """A word for the loss of the file since it was opened; empty: there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return "moved or removed"
        if (found.st_dev, found.st_ino) != self._number:
            return "replaced"
        with self._lock:
            if not self._overwritten and self._changed != (found.st_mtime_ns, found.st_size):
                with suppress(sqlite3.OperationalError):  # such as too many open files: later
                    before, self._header = self._header, _header(self.path)
                    self._overwritten = self._header.mark != before.mark or self._header.renewals < before.renewals
                    self._changed = (found.st_mtime_ns, found.st_size)
            return _OVERWRITTEN if self._overwritten else ""


class _Header(NamedTuple):
    """The fields of the header of SQLite's file that are ours: a random mark, and the renewals of leases."""

    mark: int
    renewals: int


def _header(path: Path) -> _Header:
    """Read the header of SQLite's file alone, as if it never changed: without its log and its locks."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as connection:
            fields = ("application_id", "user_version")
            return _Header(*(connection.execute(f"PRAGMA {field}").fetchone()[0] for field in fields))
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # another kind of file
        return _Header(-1, -1)


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield ``items``, a statement's worth at a time."""
    rest = iter(items)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


@cache
def _scripts() -> ScriptDirectory:
    """Return the migrations, read once in a process."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return ScriptDirectory.from_config(config)


def _upgrade(connection: Connection) -> None:
    """Upgrade to the latest schema; Alembic's own command would read all migrations anew."""
    scripts, config = _scripts(), Config()
    config.attributes["connection"] = connection
    with EnvironmentContext(config, scripts, fn=lambda version, _: scripts._upgrade_revs("head", version)):
        scripts.run_env()


def _options(address: URL) -> dict[str, Any]:
    """Return options: a server's time limit, SQLite's folder, or the one connection in memory that threads share."""
    if address.drivername == "postgresql+psycopg":
        return {"connect_args": {"connect_timeout": _CONNECT_SECONDS}}
    if address.get_backend_name() != "sqlite":
        return {}
    if address.database in (None, "", ":memory:"):
        shared = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
        return {**shared, "connect_args": {"check_same_thread": False}}
    if not address.database.startswith("file:"):
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    return {}


def _close_to_others(path: str) -> None:
    """Let only the owner read SQLite's files at ``path`` (empty: in memory); those beside the database follow it."""
    for file in (path, f"{path}-wal", f"{path}-shm") if path else ():
        with suppress(OSError):  # it is not there, or another's
            os.chmod(file, 0o600)


def _configure_sqlite(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    _close_to_others(cursor.execute("PRAGMA database_list").fetchone()[2])
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}")
    if not cursor.execute("PRAGMA page_count").fetchone()[0]:  # a new file
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        cursor.execute("BEGIN IMMEDIATE")
        if not cursor.execute("PRAGMA application_id").fetchone()[0]:
            cursor.execute(f"PRAGMA application_id={secrets.randbits(31)}")
        cursor.execute("COMMIT")
    _write_ahead(cursor)
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    """Switch SQLite to a write-ahead log, whose lock it does not wait for by itself."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
