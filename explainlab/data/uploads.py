"""Files that users bring: kept in the home folder, each user's apart, under the digest of their content.

Who reads is told by :func:`read_as`; an upload is there for its own user and for nobody else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import NamedTemporaryFile

from explainlab.data.formats import known_suffix
from explainlab.errors import DataError, ResourceError
from explainlab.settings import settings

PREFIX = "upload:"
MOST_NAMED = 120
"""Characters of a file's name that are kept."""
_ID = re.compile(r"upload:([0-9a-f]{64}(?:\.[a-z]+){1,2})")
_LOCAL = "local"  # whoever uses an instance without sign-in, as service/users.py has it
_reader: ContextVar[str] = ContextVar("reader", default=_LOCAL)


def read_as(user_id: str) -> None:
    """From now on in this thread uploads are those of the user with this id."""
    _reader.set(user_id)


@contextmanager
def reading_as(user_id: str) -> Iterator[None]:
    """Inside, uploads are those of the user with this id; after it, of whom they were before."""
    token = _reader.set(user_id)
    try:
        yield
    finally:
        _reader.reset(token)


def reader() -> str:
    """The id of the user whose uploads are read in this thread; that of the local user unless :func:`read_as` said."""
    return _reader.get()


def keep_upload(content: bytes, name: str, user_id: str) -> str:
    """Store a file's ``content`` for its user; the id by which it is read: ``upload:<SHA-256><ending of name>``.

    The same content is stored once, and goes by the name under which it came last. Raises :class:`DataError` for a name
    without a known format and for more bytes than the settings' ``max_upload_mb``, :class:`ResourceError` where it
    cannot be written.
    """
    suffix, limit = known_suffix(name), settings().max_upload_mb
    if len(content) > limit * 2**20:
        raise DataError(
            f"{name} has {len(content) / 2**20:,.1f} MB; the limit is {limit:,} MB.",
            "Pack it with gzip, bring fewer rows, or raise EXPLAINLAB_MAX_UPLOAD_MB.",
        )
    upload_id = f"{PREFIX}{hashlib.sha256(content).hexdigest()}{suffix}"
    path = _path(upload_id, user_id)
    if not path.is_file():
        _write(path, content)
    _write(_name_path(path), _readable(name).encode("utf-8"))
    return upload_id


def upload_path(upload_id: str, user_id: str) -> Path:
    """The file of an upload of this user; raises :class:`DataError` if this user has none with this id."""
    if _ID.fullmatch(upload_id):
        path = _path(upload_id, user_id)
        if path.is_file():
            return path
    raise DataError("You have no upload of this name.", "Upload the file again.")


def upload_name(upload_id: str, user_id: str) -> str:
    """What the file was called that this user brought; the id itself where this user has none under it."""
    if _ID.fullmatch(upload_id):
        with suppress(OSError):
            return _name_path(_path(upload_id, user_id)).read_text(encoding="utf-8")
    return upload_id


def _name_path(path: Path) -> Path:
    """Where the name of the upload at ``path`` is kept; no id leads there."""
    return path.parent / "names" / path.name


def _readable(name: str) -> str:
    """A file's name without folders and what cannot be seen, and not too long to show."""
    seen = "".join(letter for letter in re.split(r"[/\\]", name)[-1] if letter.isprintable())
    return seen if len(seen) <= MOST_NAMED else f"{seen[: MOST_NAMED - 13]}…{seen[-12:]}"


def _path(upload_id: str, user_id: str) -> Path:
    owner = hashlib.sha256(user_id.encode()).hexdigest()
    return settings().home / "uploads" / owner / upload_id.removeprefix(PREFIX)


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            part = Path(file.name)
            file.write(content)
        part.replace(path)
    except OSError as error:
        if part:
            part.unlink(missing_ok=True)
        problem = f"The upload cannot be stored: {error.strerror or error}."
        raise ResourceError(problem, "Free disk space, or check the permissions of EXPLAINLAB_HOME.") from error
