"""The files of a model's directory: ordinary files that can be opened without a wait and read in little memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from explainlab.errors import ModelError
from explainlab.limits import MAX_MODEL_TEXT_MB

FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
"""What is read of a model: its digest is over these files."""
_TEXTS = ["*.json", "*.txt", "*.model", "vocab.*", "*.jinja"]
_TEMPLATES = "additional_chat_templates"


def require_files(model_id: str, directory: Path) -> None:
    """Raise :class:`ModelError` for pipes, devices, broken links and huge texts among the files of a model."""
    try:
        for path in _entries(directory):
            _require_file(model_id, path)
    except OSError as error:
        raise ModelError(
            f"The directory {model_id} cannot be read: {error.strerror}.", "Correct its permissions."
        ) from error


def _entries(directory: Path) -> Iterator[Path]:
    yield from sorted(directory.iterdir())
    if (directory / _TEMPLATES).is_dir():
        yield from sorted((directory / _TEMPLATES).iterdir())


def _require_file(model_id: str, path: Path) -> None:
    is_read = any(fnmatchcase(path.name, pattern) for pattern in FILES)
    try:
        found = path.stat()
    except OSError:
        found = None
    folder = found is not None and stat.S_ISDIR(found.st_mode)
    regular = found is not None and stat.S_ISREG(found.st_mode)
    broken = found is None or folder or not os.access(path, os.R_OK)
    if (broken and is_read) or not (broken or regular):
        raise ModelError(f"The file {path.name} of {model_id} cannot be read.", "Put an ordinary file in its place.")
    is_text = any(fnmatchcase(path.name, pattern) for pattern in _TEXTS)
    if found and is_text and found.st_size > MAX_MODEL_TEXT_MB * 2**20:
        raise ModelError(
            f"The file {path.name} of {model_id} is larger than {MAX_MODEL_TEXT_MB} MB.",
            "Only weights may be so large: save the model again with save_pretrained.",
        )
