"""A backup: the contents of a store as one zip file, which any kind of database can be filled from.

``manifest.json`` has the versions, ``tables/NAME.jsonl`` the rows of a table, one a line, and ``parts/`` the Parquet
files of long results. Leases of servers stay out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from sqlalchemy import DateTime, Table, func, insert, select

from explainlab.errors import DataError, RequestError
from explainlab.files import whole_file, write_file
from explainlab.result import StoredPart
from explainlab.service.store.database import Database, chunks
from explainlab.service.store.parts import Damaged
from explainlab.service.store.schema import RESULTS, SERVERS, metadata

TABLES = tuple(table for table in metadata.sorted_tables if table is not SERVERS)
_FORMAT = 1
_MANIFEST = "manifest.json"
_PART = re.compile(r"parts/([0-9a-f]{64})/[0-9]+-[0-9a-f]+\.parquet")


def back_up(database: Database, file: Path, build: str) -> dict[str, int]:
    """Write the contents of ``database``, as they are at one moment, to a new ``file`` that only its owner can read.

    Servers may go on meanwhile. ``build`` is the version of ExplainLab. Returns the number of rows by table, of
    ``files`` of long results, and of ``damaged`` ones, which a backup lacks. Raises :class:`RequestError` for a file
    that exists or cannot be written, and :class:`ResourceError` for a database that cannot be read.
    """
    if file.exists():
        raise RequestError(f"{file} exists.", "Name a new file.")
    counts: dict[str, int] = {}
    manifest = {"format": _FORMAT, "store": database.version, "explainlab": build}
    try:
        with whole_file(file) as out, ZipFile(out, "w", ZIP_DEFLATED) as archive, database.snapshot() as connection:
            archive.writestr(_MANIFEST, json.dumps(manifest))
            for table in TABLES:
                with archive.open(_member(table), "w", force_zip64=True) as lines:
                    counts[table.name] = 0
                    for row in connection.execution_options(yield_per=100).execute(select(table)):
                        lines.write(_line(row._asdict()))
                        counts[table.name] += 1
            long = connection.execution_options(yield_per=1).scalars(select(RESULTS.c.body).where(RESULTS.c.beside > 0))
            kept = [_keep(archive, database, part) for body in long for part in json.loads(body)["parts"]]
    except OSError as error:
        raise RequestError(f"{file} cannot be written: {error.strerror or error}.", "Name another file.") from None
    return {**counts, "files": sum(kept), "damaged": len(kept) - sum(kept)}


def restore(database: Database, file: Path) -> dict[str, int]:
    """Fill an empty ``database`` from a ``file`` of :func:`back_up`, with all of it or nothing.

    Returns the number of rows by table, and of ``files`` of long results. Raises :class:`RequestError` for a database
    that is not empty, :class:`DataError` for a file that is no backup, is damaged or is of another version, and
    :class:`ResourceError` for a database that cannot be written.
    """
    written: set[str] = set()
    try:
        with ZipFile(file) as archive:
            _require_version(json.loads(archive.read(_MANIFEST)), database.version)
            with database.connection() as connection:
                if any(connection.scalar(select(func.count()).select_from(table)) for table in TABLES):
                    remedy = "Set EXPLAINLAB_HOME or EXPLAINLAB_DATABASE_URL to a new one."
                    raise RequestError("The result store is not empty.", remedy)
                files = [name for name in archive.namelist() if name.startswith("parts/")]
                for name in files:
                    written.add(_key_of(name))
                    write_file(database.parts.folder / name.removeprefix("parts/"), archive.read(name))
                counts = {}
                for table in TABLES:
                    with archive.open(_member(table)) as lines:
                        counts[table.name] = 0
                        for rows in chunks(_read(lines, table)):
                            connection.execute(insert(table), rows)
                            counts[table.name] += len(rows)
    except BaseException as error:
        database.parts.delete(written)
        if isinstance(error, OSError):
            raise DataError(f"{file} cannot be read: {error.strerror or error}.", "Check the path.") from None
        if isinstance(error, BadZipFile | KeyError | ValueError | TypeError | EOFError | NotImplementedError):
            raise DataError(f"{file} is no backup of a store, or it is damaged.", "Use another backup.") from None
        raise
    return {**counts, "files": len(files)}


def _member(table: Table) -> str:
    return f"tables/{table.name}.jsonl"


def _line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON."""
    return json.dumps({name: _plain(value) for name, value in row.items()}).encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; a time without a zone, as SQLite gives it, is UTC."""
    if not isinstance(value, datetime):
        return value
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()


def _read(lines: IO[bytes], table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; raises :class:`KeyError` for a column that the table lacks."""
    read: dict[str, Callable[[Any], Any]] = {
        column.name: datetime.fromisoformat if isinstance(column.type, DateTime) else _same for column in table.columns
    }
    for line in lines:
        yield {name: read[name](value) for name, value in json.loads(line).items()}


def _same(value: Any) -> Any:
    return value


def _keep(archive: ZipFile, database: Database, part: dict[str, Any]) -> bool:
    """Add a file of a long result; False where it is damaged, or gone since the snapshot."""
    stored = StoredPart(**part)
    try:
        archive.writestr(f"parts/{stored.path}", database.parts.read(stored))
    except Damaged:
        return False
    return True


def _key_of(name: str) -> str:
    """Return the key of the result that a file belongs to; raises :class:`ValueError` for any other name."""
    found = _PART.fullmatch(name)
    if found is None:
        raise ValueError(name)
    return found[1]


def _require_version(manifest: Mapping[str, Any], version: str) -> None:
    """Raise :class:`DataError` unless a backup is of this ``version`` of the store."""
    if manifest["format"] != _FORMAT or manifest["store"] != version:
        raise DataError(
            f"The backup is of version {manifest['store']} of the store, and this ExplainLab has {version}.",
            f"Restore it with ExplainLab {manifest['explainlab']}; a newer one then brings the store up to date.",
        )
