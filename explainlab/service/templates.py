"""Users' templates: private until shared with everyone here. A hidden one looks like one that does not exist."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from explainlab.declared import lookup
from explainlab.errors import ModelError, RequestError, ResourceError
from explainlab.limits import MAX_TEMPLATE_KB, MAX_TEMPLATES
from explainlab.models.prompting import (
    Template,
    save_template,
    template_folder,
    template_id,
    template_ids,
    template_parts,
)
from explainlab.service.users import LOCAL, User

_SHARED = "shared"  # a folder with the owner's name in a file for each template that is shared


def own_id(name: str, user: User) -> str:
    """Return the id of the template of this name that belongs to ``user``, there or not."""
    return template_id(name, _owner(user.id))


def readable_templates(user_id: str) -> dict[str, str]:
    """Return the ids of the templates that the user may read, with the names that pages show.

    First those of everybody, then the user's own, then those that others share.
    """
    own = {each: template_parts(each)[0] for each in (*template_ids(), *_own(user_id))}
    return {**own, **{each: name for each, name in _shared().items() if each not in own}}


def require_template(each: str, user_id: str) -> None:
    """Raise :class:`ModelError` for a template that does not exist or that this user may not read."""
    try:
        lookup("template", each, readable_templates(user_id))
    except RequestError as error:
        raise ModelError(error.problem, error.remedy) from None


def save_own(template: Template, user: User) -> str:
    """Save a template of ``user``, in place of one of the same name; returns its id.

    Raises as :func:`explainlab.models.prompting.save_template`, and :class:`RequestError` for one that is too
    large or one too many.
    """
    each = own_id(template.name, user)
    size, own = len(template.model_dump_json()), _own(user.id)
    if size > MAX_TEMPLATE_KB * 1024:
        raise RequestError(
            f"The template has {size / 1024:,.0f} KB; the limit is {MAX_TEMPLATE_KB} KB.", "Show fewer examples."
        )
    if each not in own and len(own) >= MAX_TEMPLATES:
        raise RequestError(f"You have {len(own)} templates, which is the limit.", "Delete one first.")
    save_template(template, _owner(user.id))
    return each


def delete_template(each: str, user: User) -> None:
    """Delete an own template; raises :class:`RequestError` for any other."""
    path = _own_path(each, user)
    for file in (_shared_path(path), path):
        file.unlink(missing_ok=True)


def share_template(each: str, shared: bool, user: User) -> None:
    """Share an own template with everyone here, or with no other user; raises :class:`RequestError` for any other."""
    path = _shared_path(_own_path(each, user))
    try:
        if shared:
            path.parent.mkdir(exist_ok=True)
            path.write_text(user.name, encoding="utf-8")
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ResourceError(f"This cannot be changed: {error.strerror}.", "Free disk space and try again.") from error


def is_shared(each: str) -> bool:
    """Return whether everyone here may use a template that belongs to a user."""
    name, owner = template_parts(each)
    return bool(owner) and _shared_path(template_folder(owner) / f"{name}.json").exists()


def is_own(each: str, user: User) -> bool:
    """Return whether ``user`` may change it."""
    return each in _own(user.id)


def _own(user_id: str) -> list[str]:
    """Return the templates that the user may change. Without sign-in everybody's are the only user's."""
    owner = _owner(user_id)
    return template_ids(owner) if owner else [each for each in template_ids() if _everybodys(each).exists()]


def _own_path(each: str, user: User) -> Path:
    if not is_own(each, user):
        raise RequestError(f"You have no template '{template_parts(each)[0]}'.", "Choose one of yours.")
    name, owner = template_parts(each)
    return template_folder(owner) / f"{name}.json"


def _everybodys(name: str) -> Path:
    return template_folder() / f"{name}.json"


def _owner(user_id: str) -> str:
    """Return the owner of a template, as in ids: 16 hexadecimal digits for a user who signed in, else empty."""
    return "" if user_id == LOCAL.id else hashlib.sha256(user_id.encode()).hexdigest()[:16]


def _shared() -> dict[str, str]:
    """Return the templates that users share, with their names and those of their owners."""
    shared = {}
    for path in sorted(template_folder().glob(f"*/{_SHARED}/*.json")):
        owner = path.parent.parent.name
        each = template_id(path.stem, owner)
        with suppress(OSError):
            if each in template_ids(owner):
                shared[each] = f"{path.stem} (shared by {path.read_text(encoding='utf-8')})"
    return shared


def _shared_path(path: Path) -> Path:
    return path.parent / _SHARED / path.name
