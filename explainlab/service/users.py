"""Who asks: the user to whom runs belong and whose turn it is in the queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """``id`` is what belongings are kept under; ``name`` is what pages show."""

    id: str
    name: str


LOCAL = User("local", "You")
"""Whoever uses an instance without sign-in."""
