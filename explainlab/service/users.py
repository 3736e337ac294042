"""Users: they own runs and take turns in the queue."""

from __future__ import annotations

from dataclasses import dataclass

from explainlab.settings import settings


@dataclass(frozen=True)
class User:
    """``id`` is the key of all belongings; ``name`` is what pages show."""

    id: str
    name: str


LOCAL = User("local", "You")
"""The user of an instance without sign-in."""


def is_administrator(user: User) -> bool:
    """Whether ``user`` may cancel and move everybody's jobs."""
    return user.id in settings().administrator_ids
