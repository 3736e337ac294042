"""Users' uploads: a folder for each user in the home folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from explainlab import data
from explainlab.data.plant import ENDING, Planting, planted_files, standing_words
from explainlab.data.uploads import delete_upload, touch_upload
from explainlab.models.stored.made import made_folder
from explainlab.reader import Reader
from explainlab.request import Request
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
    """Reads for the user with this id: their uploads, within the limits of the settings."""
    return Reader(folder_of(user_id), made=made_folder(), limits=settings().limits)


def reader_of(request: Request) -> Reader:
    """Reads the data that ``request`` names."""
    return reader_for(request.reader)


def keep_upload(content: bytes, name: str, user: User) -> str:
    """Store a file that ``user`` brings; see :func:`explainlab.data.keep_upload`."""
    return data.keep_upload(content, name, folder_of(user.id), settings().max_upload_mb)


def keep_planted(
    source: str, name: str, columns: Mapping[str, str], planting: Planting, seed: int, user: User, reader: Reader
) -> PlantedUploads:
    """Plant words into ``source``, called ``name``, and keep the two files among the uploads of ``user``.

    Raises as :func:`explainlab.data.plant.planted_files` and :func:`explainlab.data.keep_upload`.
    """
    files = planted_files(source, planting, columns=columns, seed=seed, reader=reader)
    stem = f"{name.partition('.')[0]}-planted{'' if planting.share == 1 else f'-{planting.share:g}'}"
    return PlantedUploads(
        learn=keep_upload(files.content, f"{stem}{ENDING}", user),
        held_out=keep_upload(files.held_out, f"{stem}-held-out{ENDING}", user),
        rows=files.rows - files.held_out_rows,
        held_out_rows=files.held_out_rows,
        warning=standing_words(files.already, files.rows),
    )


def touch(upload_id: str, user: User) -> None:
    """``user`` has used the upload just now."""
    with suppress(OSError):
        touch_upload(upload_id, folder_of(user.id))


def forget_upload(upload_id: str, folder: Path) -> None:
    """Delete an upload in a user's ``folder``; the hourly sweep tries again what cannot be deleted now."""
    with suppress(OSError):
        delete_upload(upload_id, folder)


def upload_folders() -> list[Path]:
    """The folders of all users who have uploaded something."""
    folder = settings().home / "uploads"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def folder_of(user_id: str) -> Path:
    """The folder of the uploads of the user with this id."""
    return settings().home / "uploads" / hashlib.sha256(user_id.encode()).hexdigest()
