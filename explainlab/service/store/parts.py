"""The rows of long results: Parquet files beside the database, each named by what it holds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from explainlab.files import write_file
from explainlab.result import StoredPart
from explainlab.service.store.trouble import trouble

_NAMED_BY = 16
"""Digits of the digest in a file's name: two servers may write the rows of one result at once, with other times."""


class Damaged(Exception):
    """This part of a result is missing or changed."""


class Parts:
    """A ``folder`` with one for each result by its key; without one, it is temporary and goes with this object.

    Only the owner reads the files. Nothing is there until something is written.
    """

    def __init__(self, folder: Path | None) -> None:
        if folder is None:
            self._temporary = TemporaryDirectory(prefix="explainlab-")
            folder = Path(self._temporary.name)
        self.folder = folder

    def write(self, key: str, files: Iterable[bytes]) -> list[StoredPart]:
        """Keep the Parquet ``files`` of the result ``key``, all or none.

        Raises :class:`ResourceError` where they cannot be kept.
        """
        parts = []
        for number, content in enumerate(files):
            digest = sha256(content).hexdigest()
            path = f"{key}/{number}-{digest[:_NAMED_BY]}.parquet"
            try:
                write_file(self.folder / path, content)
            except OSError as error:
                self.delete([key])
                raise trouble(
                    f"The rows of results cannot be kept in {self.folder}: {error.strerror or error}.",
                    "Free disk space, check the permissions, or set EXPLAINLAB_PARTS_FOLDER to another folder.",
                ) from None
            parts.append(StoredPart(path=path, rows=pq.read_metadata(pa.BufferReader(content)).num_rows, digest=digest))
        return parts

    def read(self, part: StoredPart) -> bytes:
        """Read the file of ``part``; raises :class:`Damaged` where it is missing or changed."""
        path = (self.folder / part.path).resolve()
        if path.is_relative_to(self.folder.resolve()):
            with suppress(OSError):
                content = path.read_bytes()
                if sha256(content).hexdigest() == part.digest:
                    return content
        raise Damaged(part.path)

    def size(self, parts: Iterable[StoredPart]) -> int:
        """Return the bytes of all ``parts`` together."""
        return sum((self.folder / part.path).stat().st_size for part in parts)

    def delete(self, keys: Iterable[str]) -> None:
        """Forget the files of these results."""
        for key in keys:
            shutil.rmtree(self.folder / key, ignore_errors=True)

    def among(self, keys: Collection[str]) -> set[str]:
        """Return the ``keys`` that have files."""
        return self._all().intersection(keys)

    def before(self, time: datetime) -> set[str]:
        """Return the keys of results whose files were last written before ``time``."""
        return {key for key in self._all() if self._written(key) < time}

    def _all(self) -> set[str]:
        with suppress(OSError):
            return set(os.listdir(self.folder))
        return set()

    def _written(self, key: str) -> datetime:
        with suppress(OSError):
            return datetime.fromtimestamp((self.folder / key).stat().st_mtime, UTC)
        return datetime.now(UTC)
