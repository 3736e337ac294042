"""The requests that this instance accepts, and how large they may be: checked where they come in."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from explainlab.analyses import registry
from explainlab.analyses.base import TrainsModels
from explainlab.attribution.registry import MEMBERS, parse_members, parse_spec
from explainlab.data.sources import PREFIX as EMBEDDED
from explainlab.data.uploads import PREFIX as UPLOADED
from explainlab.errors import DataError, ModelError, RequestError, TextError
from explainlab.models.loading import changed_model
from explainlab.models.prompting import PREFIX as COMPLETION
from explainlab.models.stored.places import MADE, resolved_id
from explainlab.request import CompleteRequest, Request
from explainlab.service.store.made import is_training, require_own, require_room, require_training
from explainlab.service.templates import require_template
from explainlab.service.uploads import reader_of
from explainlab.settings import settings
from explainlab.training import ARCHITECTURES

_FILES = ("baseline_data", "attributions", "validation_data", "test_data")
_FILES_ALONE = (*_FILES, "validation", "test")
"""Words that methods with their options may hold for other reasons; ``validation`` may also be a share."""


def require_allowed(request: CompleteRequest) -> None:
    """Raise for a complete ``request`` about a model or a file that is not served here; nothing is opened.

    :class:`ModelError` with the models there are, :class:`DataError` where the instance is hosted and the request
    names a file of the server, :class:`RequestError` where it is to write into a folder there.
    """
    require_named(request)
    if settings().hosted and request.parameters.get("weights_folder"):
        raise RequestError("Folders of the server cannot be written here.", "Leave `weights_folder` empty.")
    for source in named_files(request):
        require_source(source)


def require_named(request: Request) -> None:
    """Raise for a ``request`` whose model is not served here, or which trains one where that is not allowed."""
    analysis = registry.get_analysis(request.question)
    if analysis.self_contained:
        return
    if isinstance(analysis, TrainsModels):
        require_training()
        if request.model in ARCHITECTURES:
            return
    require_model(request.model, request.reader)


def require_model(model_id: str, user_id: str) -> None:
    """Raise :class:`ModelError`, with what is allowed, unless a pattern of the settings matches ``model_id``.

    A language model with a template may be matched with the template or without, and a directory is matched by the
    path to which all links lead. The model that an adapter changes must be allowed as well. The template must be one
    that the user with the id ``user_id`` may read.
    """
    prompt, model = "", model_id
    if model_id.startswith(COMPLETION):
        template, _, model = model_id.removeprefix(COMPLETION).partition(":")
        require_template(template, user_id)
        prompt = f"{COMPLETION}{template}:"
    if model.startswith(MADE):
        return require_own(model, user_id)
    if not (_matched(prompt, model) and all(_matched(prompt, changed) for changed in _changed(model))):
        raise ModelError(
            f"The model {model_id!r} is not served here.",
            f"Choose one of {', '.join(settings().model_patterns)}; "
            "EXPLAINLAB_ALLOWED_MODELS is set by whoever runs this instance.",
        )


def _matched(prompt: str, model: str) -> bool:
    name = resolved_id(model)
    patterns = {form for pattern in settings().model_patterns for form in (pattern, _resolved(pattern))}
    return any(fnmatchcase(form, pattern) for form in (name, prompt + name) for pattern in patterns)


def _resolved(pattern: str) -> str:
    """Return a pattern of paths, absolute and without links and ``..`` in the part before its first wildcard."""
    prompt = pattern[: pattern.rfind(":") + 1] if pattern.startswith(COMPLETION) else ""
    path = os.path.expanduser(pattern.removeprefix(prompt))
    fixed = re.split(r"[*?[]", path, maxsplit=1)[0]
    start = fixed if fixed == path else fixed[: fixed.rfind("/") + 1]
    return f"{prompt}{glob.escape(os.path.join(os.path.realpath(start), ''))}{path.removeprefix(start)}".rstrip("/")


def _changed(model: str) -> list[str]:
    """Return the model that an adapter changes, if it is here."""
    with suppress(ModelError):  # loading it says why
        changed = changed_model(model)
        return [] if changed is None else [changed]
    return []


def require_source(source: str) -> None:
    """Raise :class:`DataError` if the data ``source`` is a file of the server and the instance is hosted."""
    if settings().hosted and not source.startswith((EMBEDDED, UPLOADED)):
        raise DataError(
            f"The file {source!r} cannot be read: paths on the server are not allowed here.",
            "Choose the embedded examples, or upload the file.",
        )


def require_bounded(request: CompleteRequest) -> None:
    """Raise for a complete ``request`` beyond the settings' limits, naming the limit and who can change it.

    :class:`TextError` for too long a text, :class:`RequestError` for too many rows or evaluations.
    """
    for text in (request.text, request.text_pair, *(request.paraphrases or ())):
        if text is not None and len(text) > settings().max_characters:
            raise TextError(f"The text has {len(text):,} characters.", settings().words("max_characters"))
    rows = request.parameters.get("rows", 0)
    if request.data is not None and rows > settings().max_rows:
        raise RequestError(f"{rows:,} rows are too many.", settings().words("max_rows"))
    if is_training(request):
        require_room(request)
    registry.require_bounded(request, settings().limits)


def require_answerable(request: CompleteRequest) -> None:
    """Raise as :func:`require_bounded`, and :class:`DataError` if the data set lacks a column that is needed.

    Only the beginning of its file is read.
    """
    require_bounded(request)
    registry.require_columns(request, reader_of(request))


def named_files(request: CompleteRequest) -> Iterator[str]:
    """Yield every data set or file that a complete ``request`` names, also in nested parameters."""
    if request.data is not None:
        yield request.data
    yield from _named_in(request.parameters)


def _named_in(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _named_in(part, key)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _named_in(part, name)
    elif isinstance(value, str) and value and name in _FILES_ALONE:
        yield from () if _is_number(value) else (value,)
    elif isinstance(value, str) and any(file in value for file in _FILES):  # methods with their options
        for method in parse_members(value) if name == MEMBERS else [parse_spec(value)]:
            yield from _named_in(method.parameters.model_dump(mode="json"))


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
