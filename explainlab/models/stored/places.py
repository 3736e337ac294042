"""Places of a model's files: in the project, in a directory, in the home folder where it was made, or on the hub."""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from explainlab.errors import ModelError
from explainlab.guard import Exceeded, guarded
from explainlab.models.prompting import split_id
from explainlab.models.stored.directory import FILES, require_files
from explainlab.models.stored.trial import try_files
from explainlab.models.stored.weights import ADAPTER, Files, adapted_model, first_line
from explainlab.request import digest
from explainlab.settings import ASSETS, settings

EMBEDDED = "embedded:"
MADE = "made:"
WEIGHTS, CARD = "model", "card.json"
"""Names in the folder of a made model: the directory of its files, and its card, which is written last."""
Stamp: TypeAlias = tuple[tuple[Path, int, int], ...]
"""Files with their sizes and the times of their last change, ns."""
_MOST_TRIED, _REMEMBERED_SECONDS = 64, 60
_tried: dict[tuple[str, Stamp], tuple[float, ModelError | None]] = {}
"""The end of the validity (monotonic seconds) and the error of files that were tried."""
_SHORT = 12
_BY_SEED = ("id", "digest", "files", "seed", "epochs", "best_epoch", "steps")
"""Fields of a model card that may differ between seeds."""


def made_folder() -> Path:
    """Return the folder of all models that are made here."""
    return settings().home / "made"


def made_id(digest: str) -> str:
    """Return the id of the model with this digest."""
    return MADE + digest[:_SHORT]


def made_directory(model_id: str) -> Path:
    """Return the folder of a made model, by its id; raises :class:`ModelError` if there is none."""
    short = model_id.removeprefix(MADE)
    if re.fullmatch(f"[0-9a-f]{{{_SHORT}}}", short):
        for folder in made_folder().glob(f"{short}*"):
            if (folder / CARD).is_file():
                return folder
    raise ModelError(f"There is no model '{model_id}'.", "It may have been deleted: make it again.")


def but_for_seed(model_id: str) -> str:
    """Return an id that made models share if their cards differ only in the training seed; any other id unchanged.

    Raises as :func:`made_directory`.
    """
    if not model_id.startswith(MADE):
        return model_id
    card: dict[str, Any] = json.loads((made_directory(model_id) / CARD).read_bytes())
    own = {name: value for name, value in card["settings"].items() if name != "seed"}
    return digest([own, {name: value for name, value in card.items() if name not in (*_BY_SEED, "settings")}])


def embedded_models() -> list[str]:
    """List the ids of the models that come with the project."""
    return [EMBEDDED + path.parent.name for path in sorted((ASSETS / "models").glob("*/config.json"))]


def resolved_id(model_id: str) -> str:
    """Return the id of a model without its template; a path becomes absolute, without links and ``..``."""
    path = _path_of(model_id)
    with suppress(ValueError):  # characters that no path has
        return model_id if path is None else os.path.realpath(path)
    return model_id


def locate(model_id: str, fetch: bool = True) -> tuple[Path | None, str]:
    """Return the directory of a model's files and its kind: ``embedded``, ``directory`` or ``hub``.

    With ``fetch`` False the network is not used and the directory of a hub model that is not here is None. The template
    of an id is ignored; the directory of an adapter is its own.
    """
    model_id = split_id(model_id)[1]
    if model_id.startswith(EMBEDDED):
        if model_id not in embedded_models():
            raise ModelError(f"There is no embedded model '{model_id}'.", _nearest(model_id))
        return ASSETS / "models" / model_id.removeprefix(EMBEDDED), "embedded"
    if model_id.startswith(MADE):
        return made_directory(model_id) / WEIGHTS, "directory"
    if not model_id.strip():
        raise ModelError("There is no model without a name.", _nearest(""))
    path = _path_of(model_id)
    if path is None:
        return _from_hub(model_id, fetch), "hub"
    if not os.path.isdir(path):
        raise ModelError(f"There is no model '{model_id}'.", _nearest(model_id))
    if not any((path / name).is_file() for name in ("config.json", ADAPTER)):
        raise ModelError(f"The directory {model_id} has no config.json.", "Save the model with save_pretrained.")
    require_files(model_id, path)
    return path.resolve(), "directory"


def _path_of(model_id: str) -> Path | None:
    """Return the directory that ``model_id`` names, even if missing; None for an embedded, made or hub model."""
    path = Path(os.path.expanduser(model_id))  # unlike pathlib's, these two raise for no name at all
    on_hub = model_id.count("/") == 1 and not (model_id.startswith((".", "~", "/")) or "\\" in model_id)
    return None if model_id.startswith((EMBEDDED, MADE)) or (on_hub and not os.path.isdir(path)) else path


def _from_hub(model_id: str, fetch: bool) -> Path | None:
    try:
        return Path(snapshot_download(model_id, allow_patterns=FILES, local_files_only=not fetch))
    except HFValidationError as error:
        raise ModelError(f"'{model_id}' is not a model id.", _nearest(model_id)) from error
    except LocalEntryNotFoundError as error:
        if not fetch:
            return None
        raise ModelError(
            f"The hub cannot be reached and {model_id} is not stored here.",
            "Check the network, or give a directory with the model's files.",
        ) from error
    except HfHubHTTPError as error:
        raise ModelError(
            f"The hub has no model '{model_id}' that may be read here ({first_line(error)}).", _nearest(model_id)
        ) from error
    except OSError as error:
        raise ModelError(
            f"{model_id} cannot be fetched: {first_line(error)}.", "Check the network and the disk."
        ) from error


def files_of(model_id: str) -> Files:
    """Return the files of a model, for an adapter also those of its base model; fetch missing ones."""
    files = files_here(model_id, fetch=True)
    assert files is not None  # a model that cannot be fetched has raised
    return files


def files_here(model_id: str, fetch: bool = False) -> Files | None:
    """Return :func:`files_of`; without ``fetch`` None for a hub model that is not on this machine."""
    directory, source = locate(model_id, fetch)
    if directory is None:
        return None
    _require_tried(model_id, directory, source)
    changed = adapted_model(model_id, directory)
    if changed is None:
        return Files(directory, source)
    try:
        below, origin = locate(changed, fetch)
    except ModelError as error:
        raise ModelError(
            f"{model_id} is an adapter, and the model that it changes cannot be read: {error.problem}",
            f"Put {changed} back, or write where it is now into base_model_name_or_path of {ADAPTER}.",
        ) from error
    if below is None:
        return None
    if adapted_model(changed, below):
        raise ModelError(
            f"{model_id} changes {changed}, an adapter itself.", "Merge that adapter into its model first."
        )
    _require_tried(changed, below, origin)
    return Files(below, origin, adapter=Files(directory, source))


def stamp(directory: Path) -> Stamp:
    """Return the files of a model with their sizes and the times of their last change, ns."""
    files = sorted(path for pattern in FILES for path in directory.glob(pattern))
    return tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)


def _require_tried(model_id: str, directory: Path, source: str) -> None:
    """Raise :class:`ModelError` for files that no process should read (:mod:`explainlab.models.stored.trial`).

    Our own files are not tried, others once until they change. An error is remembered for a minute: a page asks often.
    """
    if source == "embedded" or made_folder() in directory.parents:
        return
    key = model_id, stamp(directory)
    until, error = _tried.get(key, (0.0, None))
    if until < time.monotonic():
        error, parts = None, ["configuration"]
        try:
            for part in guarded(try_files, {"model_id": model_id, "directory": str(directory)}):
                parts.append(part)
        except Exceeded as exceeded:
            error = ModelError(f"The {parts[-1]} of {model_id} {exceeded}.", "Save it again with save_pretrained.")
        except ModelError as raised:
            error = raised
        while len(_tried) >= _MOST_TRIED:
            _tried.pop(next(iter(_tried)), None)
        _tried[key] = (time.monotonic() + _REMEMBERED_SECONDS if error else inf), error
    if error is not None:
        raise ModelError(error.problem, error.remedy)


def _nearest(model_id: str) -> str:
    known = embedded_models()
    short = {name.removeprefix(EMBEDDED): name for name in known}
    near = difflib.get_close_matches(model_id.removeprefix(EMBEDDED), short, n=2, cutoff=0.3)
    names = " or ".join(short[n] for n in near) if near else ", ".join(known)
    return f"Did you mean {names}? A directory or a hub id (owner/name) is taken too."
