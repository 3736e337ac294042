"""Who reads data sets: whose uploads there are, and how much is read of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from explainlab.limits import DEFAULT_LIMITS, Limits


def unwatched(share: float) -> None:
    """Let a reading go on: see :class:`Reader`."""


@dataclass(frozen=True)
class Reader:
    """What decides how a data set's name is read.

    ``uploads`` is the folder of the files behind ``upload:`` ids (None: there are none), ``made`` that of the models
    that are made (None: none are made here); ``limits`` bound what a file and a text may hold. ``watch`` is called now
    and then with the share of a source that has been read, from 0 to 1, and may raise to end the reading.
    """

    uploads: Path | None = None
    made: Path | None = None
    limits: Limits = DEFAULT_LIMITS
    watch: Callable[[float], None] = field(default=unwatched, compare=False, repr=False)


ANYBODY = Reader()
"""A reader without uploads, within the default limits."""
