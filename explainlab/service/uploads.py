"""Users' uploads: a folder for each user in the home folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from explainlab import data
from explainlab.data.plant import ENDING, VERSION, Planting, planted_files, standing_words
from explainlab.data.uploads import delete_upload, origin_path, touch_upload, upload_path
from explainlab.errors import DataError
from explainlab.files import write_file
from explainlab.models.stored.places import made_folder
from explainlab.reader import Reader
from explainlab.request import Request, digest
from explainlab.service.users import User
from explainlab.settings import settings


@dataclass(frozen=True)
class PlantedUploads:
    """A planted data set of a user: the ids of the file to ``learn`` from, and of the rows ``held_out``.

    ``rows`` to learn from and ``held_out_rows``; ``warning``: the words stood in many texts before, else empty.
    """

    learn: str
    held_out: str
    rows: int
    held_out_rows: int
    warning: str


def reader_for(user_id: str) -> Reader:
    """Return a reader for the user with this id: of their uploads, within the limits of the settings."""
    return Reader(folder_of(user_id), made=made_folder(), limits=settings().limits)


def reader_of(request: Request) -> Reader:
    """Return a reader of the data that ``request`` names."""
    return reader_for(request.reader)


def keep_upload(content: bytes, name: str, user: User) -> str:
    """Store a file that ``user`` brings; see :func:`explainlab.data.keep_upload`."""
    return data.keep_upload(content, name, folder_of(user.id), settings().max_upload_mb)


def keep_planted(
    source: str, name: str, columns: Mapping[str, str], planting: Planting, seed: int, user: User, reader: Reader
) -> PlantedUploads:
    """Plant words into ``source``, called ``name``, and keep the two files among the uploads of ``user``.

    Equal words are not planted again while both files are there. Raises as :func:`explainlab.data.plant.planted_files`
    and :func:`explainlab.data.keep_upload`.
    """
    settled = planting.model_dump(mode="json")
    key = digest([VERSION, data.rows_digest(source, reader), name, dict(columns), settled, seed])
    kept = _planted_before(key, user)
    if kept is not None:
        return kept
    files = planted_files(source, planting, columns=columns, seed=seed, reader=reader)
    stem = f"{name.partition('.')[0]}-planted{'' if planting.share == 1 else f'-{planting.share:g}'}"
    planted = PlantedUploads(
        learn=keep_upload(files.content, f"{stem}{ENDING}", user),
        held_out=keep_upload(files.held_out, f"{stem}-held-out{ENDING}", user),
        rows=files.rows - files.held_out_rows,
        held_out_rows=files.held_out_rows,
        warning=standing_words(files.already, files.rows),
    )
    with suppress(OSError):
        write_file(origin_path(planted.learn, folder_of(user.id)), json.dumps([key, asdict(planted)]).encode())
    return planted


def touch(upload_id: str, user: User) -> None:
    """Record that ``user`` has used the upload just now."""
    with suppress(OSError):
        touch_upload(upload_id, folder_of(user.id))


def forget_upload(upload_id: str, folder: Path) -> None:
    """Delete an upload in a user's ``folder``; the hourly sweep tries again what cannot be deleted now."""
    with suppress(OSError):
        delete_upload(upload_id, folder)


def upload_folders() -> list[Path]:
    """Return the folders of all users who have uploaded something."""
    folder = settings().home / "uploads"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def folder_of(user_id: str) -> Path:
    """Return the folder of the uploads of the user with this id."""
    return settings().home / "uploads" / hashlib.sha256(user_id.encode()).hexdigest()


def _planted_before(key: str, user: User) -> PlantedUploads | None:
    """Return the files that ``user`` planted with this ``key``, as used just now; None unless both are there."""
    folder = folder_of(user.id)
    for path in origin_path("", folder).glob("*"):
        with suppress(OSError, ValueError, TypeError, DataError):
            found, record = json.loads(path.read_bytes())
            if found == key:
                planted = PlantedUploads(**record)
                for each in (planted.learn, planted.held_out):
                    upload_path(each, folder)
                    touch(each, user)
                return planted
    return None
