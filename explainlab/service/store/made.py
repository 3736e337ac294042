"""Users' made models: their owners, names and number, and how they are taken away and deleted."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.training.analysis import Training
from explainlab.analyses.training.result import MadeModel
from explainlab.analyses.training.verdict import validated
from explainlab.errors import ModelError, RequestError, ResourceError
from explainlab.files import write_file
from explainlab.models.loading import describe, model_name
from explainlab.models.stored.directory import FILES
from explainlab.models.stored.places import CARD, MADE, WEIGHTS, embedded_models, made_directory, made_folder, made_id
from explainlab.request import CompleteRequest, Request
from explainlab.result import Result
from explainlab.service.users import User
from explainlab.settings import settings

_OWNERS = "owners"  # in the folder of a model: a file for each owner, with the name that the owner gives it
_NAME = re.compile(r"[\w.-]{1,60}")
_DELETE = "Delete one: on the page Models, or by python -m explainlab models --delete."


@dataclass(frozen=True)
class OwnModel:
    """A made model of a user: its ``id``, the ``name`` that they gave it (or empty), and its card.

    ``bytes`` is its size on the disk, ``made`` when it was done (UTC).
    """

    id: str
    name: str
    card: MadeModel
    bytes: int
    made: datetime

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about it beside those of every model."""
        accuracy = validated(self.card).accuracy
        return {
            "source": "made",
            "name": self.name,
            "base": self.card.base,
            "data": self.card.data,
            "recipe": self.card.recipe,
            "seed": self.card.seed,
            "accuracy": accuracy and accuracy.model_dump(),
            "mb": round(self.bytes / 2**20, 1),
            "made": self.made.isoformat(timespec="seconds"),
        }


def is_training(request: Request) -> bool:
    """Return whether ``request`` asks for models to be made."""
    return request.question == Training.id


def own_models(user_id: str) -> list[OwnModel]:
    """Return the made models of the user with this id, the newest first."""
    models = []
    for folder in _folders(user_id):
        with suppress(FileNotFoundError):  # it was deleted just now
            models.append(_own_model(folder, user_id))
    return sorted(models, key=lambda model: model.made, reverse=True)


def listed_models(user_id: str) -> list[dict[str, Any]]:
    """Return the embedded models and the user's made ones, as plain records; with more facts about the latter."""
    own = {model.id: model for model in own_models(user_id)}
    cards = [card for model_id in [*embedded_models(), *own] if (card := describe(model_id))]
    return [
        {"id": card.id, "architecture": card.architecture.family, "labels": list(card.labels), "source": card.source}
        | (own[card.id].facts if card.id in own else {})
        for card in cards
    ]


def own_names(user_id: str) -> dict[str, str]:
    """Return the user's names of their made models, by ids; an unnamed one has its id."""
    names = {}
    for folder in _folders(user_id):
        with suppress(FileNotFoundError):
            names[made_id(folder.name)] = _owner(folder, user_id).read_text("utf-8") or made_id(folder.name)
    return names


def shown_model(model_id: str, user_id: str) -> str:
    """Return the user's name of a model: the one that they gave it if they made it, else its usual one."""
    return own_names(user_id).get(model_id, model_id) if model_id.startswith(MADE) else model_name(model_id)


def claim_models(result: Result, user_id: str) -> None:
    """Give the user the models that ``result`` made, if it is of a training."""
    for digest in _made_by(result):
        folder = made_folder() / digest
        if (folder / CARD).is_file() and not _owner(folder, user_id).exists():
            write_file(_owner(folder, user_id), b"")


def artifacts_exist(result: Result) -> bool:
    """Return whether all that ``result`` made is still there; True for a result that makes nothing."""
    return all((made_folder() / digest / CARD).is_file() for digest in _made_by(result))


def resolve_model_alias(model_id: str, user_id: str) -> str:
    """Return the id of the model that the user calls ``made:NAME``; any other id as it is."""
    if model_id.startswith(MADE):
        name = model_id.removeprefix(MADE)
        return next((own_id for own_id, own in own_names(user_id).items() if own == name), model_id)
    return model_id


def require_own(model_id: str, user_id: str) -> None:
    """Raise :class:`ModelError` unless this made model is the user's; another's looks like one that does not exist."""
    folder = made_directory(model_id)
    if not _owner(folder, user_id).exists():
        raise ModelError(f"There is no model '{model_id}'.", "It may have been deleted: make it again.")


def require_training() -> None:
    """Raise :class:`RequestError` where models may not be made."""
    if settings().hosted and not settings().allow_training:
        raise RequestError(
            "Models are not made here.", "Whoever runs this instance can allow it (EXPLAINLAB_ALLOW_TRAINING)."
        )


def require_room(request: CompleteRequest) -> None:
    """Raise :class:`ResourceError` if the user has as many models, or as many bytes of them, as the settings allow."""
    own, wanted = own_models(request.reader), int(request.parameters["seeds"])
    if len(own) + wanted > settings().max_made_models:
        raise ResourceError(f"You have {len(own)} made models.", f"{_DELETE} {settings().words('max_made_models')}")
    if sum(model.bytes for model in own) > settings().max_made_mb * 2**20:
        raise ResourceError("Your made models take too much room.", f"{_DELETE} {settings().words('max_made_mb')}")


def name_made(model_id: str, name: str, user: User) -> None:
    """Let ``user`` call an own model ``made:NAME``; an empty name takes it back.

    Raises :class:`RequestError` for a name that is taken or has other characters than letters, digits, ``.-_``, and as
    :func:`require_own`.
    """
    require_own(model_id, user.id)
    own = own_names(user.id)
    taken = {called for own_id, called in own.items() if own_id != model_id} | {i.removeprefix(MADE) for i in own}
    if name and (not _NAME.fullmatch(name) or name in taken):
        raise RequestError(f"A model cannot be called {name[:60]!r}.", "Use letters, digits, points and hyphens, once.")
    write_file(_owner(made_directory(model_id), user.id), name.encode("utf-8"))


def made_archive(model_id: str, user: User) -> bytes:
    """Return a zip of a made model of ``user``.

    It is a directory that transformers reads, with the card. Raises as above.
    An adapter's is without the model that it changes.
    """
    require_own(model_id, user.id)
    folder, whole = made_directory(model_id), io.BytesIO()
    files = sorted(path for pattern in FILES for path in (folder / WEIGHTS).glob(pattern))
    inside = shown_model(model_id, user.id).replace(":", "-")
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for path in [*files, folder / CARD]:
            archive.write(path, f"{inside}/{path.name}")
    return whole.getvalue()


def delete_made(model_id: str, user: User, waiting: Iterable[Request]) -> None:
    """Take a made model from ``user``; without owners its files are deleted.

    Raises :class:`RequestError` where one of the ``waiting`` requests or an adapter of the user needs it, and as
    :func:`require_own`.
    """
    require_own(model_id, user.id)
    folder = made_directory(model_id)
    for own in own_models(user.id):
        if own.card.base == model_id and own.card.settings.get("lora"):
            raise RequestError(f"{own.id} is an adapter of {model_id}.", "Delete that one first.")
    if any(model_id in json.dumps(request.model_dump(mode="json")) for request in waiting):
        raise RequestError(f"A job needs {model_id}.", "Wait until it has ended, or cancel it.")
    _owner(folder, user.id).unlink(missing_ok=True)
    if not list((folder / _OWNERS).iterdir()):
        (folder / CARD).unlink(missing_ok=True)  # from now on it is not there
        shutil.rmtree(folder, ignore_errors=True)


def delete_unowned(before: datetime) -> None:
    """Delete leftovers of interrupted trainings not resumed since ``before``."""
    for folder in made_folder().glob("*"):
        with suppress(OSError):
            written = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
            if not (folder / _OWNERS).is_dir() and written < before.timestamp():
                shutil.rmtree(folder)


def _own_model(folder: Path, user_id: str) -> OwnModel:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    card = MadeModel.model_validate_json((folder / CARD).read_bytes())
    made = datetime.fromtimestamp((folder / CARD).stat().st_mtime, UTC)
    return OwnModel(made_id(folder.name), _owner(folder, user_id).read_text(encoding="utf-8"), card, size, made)


def _folders(user_id: str) -> Iterator[Path]:
    for card in sorted(made_folder().glob(f"*/{CARD}")):
        if _owner(card.parent, user_id).exists():
            yield card.parent


def _owner(folder: Path, user_id: str) -> Path:
    return folder / _OWNERS / hashlib.sha256(user_id.encode()).hexdigest()


def _made_by(result: Result) -> list[str]:
    body: Any = result.body if isinstance(result, AnalysisResult) else None
    return [made.model.digest for made in body.models] if is_training(result.request) else []
