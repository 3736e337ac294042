"""Who reads data sets: whose uploads there are, and how much is read of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from explainlab.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True)
class Reader:
    """What decides how a data set's name is read.

    ``uploads`` is the folder of the files behind ``upload:`` ids (None: there are none); ``limits`` bound the rows of a
    file and the characters of a text.
    """

    uploads: Path | None = None
    limits: Limits = DEFAULT_LIMITS


ANYBODY = Reader()
"""A reader without uploads, within the default limits."""
