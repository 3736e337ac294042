"""Models made here: each in a folder of the home folder, under the digest of what decides it."""

from __future__ import annotations

import re
from pathlib import Path

from explainlab.errors import ModelError
from explainlab.settings import settings

PREFIX = "made:"
WEIGHTS, CARD = "model", "card.json"
"""In the folder of a made model: the directory of its files, and its card, there when it is done."""
_SHORT = 12


def made_folder() -> Path:
    """The folder of all models that are made here."""
    return settings().home / "made"


def made_id(digest: str) -> str:
    """The id of the model with this digest."""
    return PREFIX + digest[:_SHORT]


def made_directory(model_id: str) -> Path:
    """The folder of a made model, by its id; raises :class:`ModelError` if there is none."""
    short = model_id.removeprefix(PREFIX)
    if re.fullmatch(f"[0-9a-f]{{{_SHORT}}}", short):
        for folder in made_folder().glob(f"{short}*"):
            if (folder / CARD).is_file():
                return folder
    raise ModelError(f"There is no model '{model_id}'.", "It may have been deleted: make it again.")
