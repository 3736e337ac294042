"""Users: they own runs and take turns in the queue."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from explainlab.settings import settings

MOST_KEY = 255
"""Characters of the longest id that is its own key."""


@dataclass(frozen=True)
class User:
    """``id`` is the key of all belongings, ``name`` what pages show, ``full_id`` the id from the provider of the
    sign-in.

    Make users by :meth:`known_as`: the store has no room for ids of any length.
    """

    id: str
    name: str
    full_id: str = ""

    @classmethod
    def known_as(cls, full_id: str, name: str) -> User:
        """Return the user with this id of any length; one that is too long for a key has its SHA-256 as ``id``."""
        return cls(key_of(full_id), name, full_id)


LOCAL = User("local", "You")
"""The user of an instance without sign-in."""


def key_of(full_id: str) -> str:
    """Return the key of the user's belongings: the id itself if it is short and printable, else a hash."""
    if len(full_id) <= MOST_KEY and full_id.isprintable():
        return full_id
    return f"sha256:{hashlib.sha256(full_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def is_administrator(user: User) -> bool:
    """Return whether ``user`` may cancel and move everybody's jobs."""
    return bool({user.id, user.full_id} & settings().administrator_ids)
