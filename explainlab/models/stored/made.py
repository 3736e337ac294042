"""Models made here: each in a folder of the home folder, under the digest of what decides it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from explainlab.errors import ModelError
from explainlab.request import digest
from explainlab.settings import settings

PREFIX = "made:"
WEIGHTS, CARD = "model", "card.json"
"""In the folder of a made model: the directory of its files, and its card, there when it is done."""
_SHORT = 12
_BY_SEED = ("id", "digest", "files", "seed", "epochs", "best_epoch", "steps")
"""What of a card another seed may change."""


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


def but_for_seed(model_id: str) -> str:
    """Equal for made models whose cards differ in the seed of their training alone; any other id as it is.

    Raises as :func:`made_directory`.
    """
    if not model_id.startswith(PREFIX):
        return model_id
    card: dict[str, Any] = json.loads((made_directory(model_id) / CARD).read_bytes())
    settings = {name: value for name, value in card["settings"].items() if name != "seed"}
    return digest([settings, {name: value for name, value in card.items() if name not in (*_BY_SEED, "settings")}])
