"""Users' uploads: a folder for each user in the home folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from explainlab import data
from explainlab.reader import Reader
from explainlab.request import Request
from explainlab.service.users import User
from explainlab.settings import settings


def reader_for(user_id: str) -> Reader:
    """Reads for the user with this id: their uploads, within the limits of the settings."""
    return Reader(_folder(user_id), settings().limits)


def reader_of(request: Request) -> Reader:
    """Reads the data that ``request`` names."""
    return reader_for(request.reader)


def keep_upload(content: bytes, name: str, user: User) -> str:
    """Store a file that ``user`` brings; see :func:`explainlab.data.keep_upload`."""
    return data.keep_upload(content, name, _folder(user.id), settings().max_upload_mb)


def _folder(user_id: str) -> Path:
    return settings().home / "uploads" / hashlib.sha256(user_id.encode()).hexdigest()
