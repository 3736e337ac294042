"""Readers of data sets, with the uploads that they may read and the limits of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from explainlab.limits import DEFAULT_LIMITS, Limits


def unwatched(share: float) -> None:
    """Let a reading go on: see :class:`Reader`."""


@dataclass(frozen=True)
class Reader:
    """A reader of data sets.

    ``uploads`` is the folder of the files behind ``upload:`` ids (None: no uploads), and ``made`` the folder of trained
    models (None: none are trained here). ``limits`` bound files and texts. A reading calls ``watch`` from time to time
    with its share of the source, from 0 to 1; ``watch`` may raise to end the reading.
    """

    uploads: Path | None = None
    made: Path | None = None
    limits: Limits = DEFAULT_LIMITS
    watch: Callable[[float], None] = field(default=unwatched, compare=False, repr=False)


ANYBODY = Reader()
"""A reader without uploads, within the default limits."""
