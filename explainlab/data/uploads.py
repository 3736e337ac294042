"""Uploaded files, stored in their owner's folder under the digest of their content, each with its name."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from explainlab.data.formats import known_suffix
from explainlab.errors import DataError, ResourceError
from explainlab.files import write_file

PREFIX = "upload:"
MOST_NAMED = 120
"""Characters of a file's name that are kept."""
_ID = re.compile(r"upload:([0-9a-f]{64}(?:\.[a-z]+){1,2})")


@dataclass(frozen=True)
class StoredUpload:
    """A stored upload: its id, its size, and the time of its last use (seconds since 1970, UTC)."""

    id: str
    bytes: int
    used: float


def keep_upload(content: bytes, name: str, folder: Path, most_mb: int) -> str:
    """Store a file's ``content`` in ``folder``; return its id: ``upload:<SHA-256><ending of name>``.

    The same content is stored once, under its latest name. Raises :class:`DataError` for a name without a known format
    and for more than ``most_mb`` MB, :class:`ResourceError` where it cannot be written.
    """
    suffix = known_suffix(name)
    if len(content) > most_mb * 2**20:
        raise DataError(
            f"{name} has {len(content) / 2**20:,.1f} MB; the limit is {most_mb:,} MB.",
            "Compress it with gzip, upload fewer rows, or raise EXPLAINLAB_MAX_UPLOAD_MB.",
        )
    upload_id = f"{PREFIX}{hashlib.sha256(content).hexdigest()}{suffix}"
    path = _path(upload_id, folder)
    if not path.is_file():
        _write(path, content)
    _write(_name_path(path), _readable(name).encode("utf-8"))
    return upload_id


def upload_path(upload_id: str, folder: Path | None) -> Path:
    """Return the file of an upload in ``folder``; raises :class:`DataError` if it has none with this id."""
    if folder is not None and _ID.fullmatch(upload_id):
        path = _path(upload_id, folder)
        if path.is_file():
            return path
    raise DataError("You have no upload of this name.", "Upload the file again.")


def upload_name(upload_id: str, folder: Path | None) -> str:
    """Return the name of the uploaded file; the id itself if it is not in ``folder``."""
    if folder is not None and _ID.fullmatch(upload_id):
        with suppress(OSError):
            return _name_path(_path(upload_id, folder)).read_text(encoding="utf-8")
    return upload_id


def delete_upload(upload_id: str, folder: Path) -> None:
    """Delete an upload, its name and origin; nothing happens if it is not in ``folder``. Raises :class:`OSError`."""
    if _ID.fullmatch(upload_id):
        for path in (_path(upload_id, folder), _name_path(_path(upload_id, folder)), origin_path(upload_id, folder)):
            path.unlink(missing_ok=True)


def touch_upload(upload_id: str, folder: Path) -> None:
    """Record that the upload was used now, in its name's time. Raises :class:`OSError` if it does not exist."""
    if _ID.fullmatch(upload_id):
        os.utime(_name_path(_path(upload_id, folder)))


def origin_path(upload_id: str, folder: Path) -> Path:
    """Return the file with the origin of an upload; no id leads there, and it is deleted with the upload."""
    return folder / "origins" / upload_id.removeprefix(PREFIX)


def stored_uploads(folder: Path) -> list[StoredUpload]:
    """List the uploads in ``folder``."""
    files = folder.iterdir() if folder.is_dir() else ()
    return [_stored(path) for path in files if _ID.fullmatch(f"{PREFIX}{path.name}")]


def _stored(path: Path) -> StoredUpload:
    used = _name_path(path) if _name_path(path).exists() else path
    return StoredUpload(f"{PREFIX}{path.name}", path.stat().st_size, used.stat().st_mtime)


def _name_path(path: Path) -> Path:
    """Return the file with the name of the upload at ``path``; no id leads there."""
    return path.parent / "names" / path.name


def _readable(name: str) -> str:
    """Return a file's name without folders and invisible characters, cut to a length that can be shown."""
    seen = "".join(letter for letter in re.split(r"[/\\]", name)[-1] if letter.isprintable())
    return seen if len(seen) <= MOST_NAMED else f"{seen[: MOST_NAMED - 13]}…{seen[-12:]}"


def _path(upload_id: str, folder: Path) -> Path:
    return folder / upload_id.removeprefix(PREFIX)


def _write(path: Path, content: bytes) -> None:
    """Write the whole file or nothing."""
    try:
        write_file(path, content)
    except OSError as error:
        problem = f"The upload cannot be stored: {error.strerror or error}."
        raise ResourceError(problem, "Free disk space, or check the permissions of EXPLAINLAB_HOME.") from error
