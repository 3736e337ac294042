"""Limits of the cost of a request; callers pass them to the engine when they load a model or read a file."""

from __future__ import annotations

from dataclasses import dataclass

MAX_COLUMNS = 1_000
"""Most columns of a data file."""
MAX_CELL_CHARACTERS = 1_000_000
"""Longest cell of a data file, in characters; a text has its own, lower limit."""
MAX_RATIO, ALWAYS_UNPACKED = 100, 32 * 2**20
"""The largest ratio of unpacked to packed bytes of a data file, and the unpacked bytes that any file may have."""
MAX_RECORD_BYTES = 4 * 2**20
"""Longest row of a data file, in bytes."""
MAX_VOCABULARY_MB, MAX_CONFIGURATION_MB = 64, 16
"""The largest vocabulary of a model, and the largest of its other files beside weights."""
MAX_LAYERS, MAX_CLASSES, MAX_POSITIONS = 1_000, 100_000, 2**24
"""The most layers, classes and positions in the configuration of a model."""
MAX_GUARDED_MB, MAX_GUARDED_SECONDS = 500, 10
"""The most memory of a process that reads a file, and its longest time without a message."""
MAX_TEMPLATES = 100
"""The most templates of a user."""
MAX_TEMPLATE_KB = 100
"""The largest template, in KB."""


class Limited:
    """A base of classes with limits as attributes."""

    @property
    def changed_by(self) -> str:
        """The person who can change the limits by settings; empty: the caller gives the limits."""
        return ""

    def words(self, name: str) -> str:
        """Tell the limit ``name`` and the way to change it, in a sentence."""
        limit = f"The limit is {getattr(self, name):,}"
        if not self.changed_by:
            return f"{limit}; give other limits with {name}."
        return f"{limit}; {self.changed_by} can change it (EXPLAINLAB_{name.upper()})."


@dataclass(frozen=True)
class Limits(Limited):
    """Upper limits of the engine. The defaults suit a single user on their own machine.

    ``max_characters`` of a text; ``max_evaluations``, model passes of a method on one text; ``max_candidates``,
    attributions of a text from which RPI chooses; ``max_rows`` of a data file, ``max_unpacked_mb`` that it holds when
    unpacked, in MB, and ``max_read_seconds`` that reading it takes; ``max_training_seconds`` of a ROAR study, by its
    estimate (0: any time); ``max_job_seconds`` of a training, by the work of its epochs, rows and tokens (0: any time);
    ``batch_tokens`` in a batch of model passes (0: depends on the device and its free memory).
    """

    max_characters: int = 20_000
    max_evaluations: int = 200_000
    max_candidates: int = 10_000
    max_rows: int = 1_000_000
    max_unpacked_mb: int = 500
    max_read_seconds: int = 60
    max_training_seconds: int = 0
    max_job_seconds: int = 0
    batch_tokens: int = 0
    changed_by: str = ""


DEFAULT_LIMITS = Limits()
