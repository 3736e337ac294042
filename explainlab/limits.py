"""Limits on what a request may cost; callers pass them to the engine when they load a model or read a file."""

from __future__ import annotations

from dataclasses import dataclass

MAX_COLUMNS = 1_000
"""Most columns of a data file."""
MAX_CELL_CHARACTERS = 1_000_000
"""Longest cell of a data file, in characters; a text has its own, lower limit."""
MAX_RATIO, ALWAYS_UNPACKED = 100, 32 * 2**20
"""How many times its bytes a data file may hold when it is unpacked; and the bytes that any may hold."""
MAX_RECORD_BYTES = 4 * 2**20
"""Longest row of a data file, in bytes."""
MAX_VOCABULARY_MB, MAX_CONFIGURATION_MB = 64, 16
"""The largest vocabulary of a model, and the largest of its other files beside weights."""
MAX_LAYERS, MAX_CLASSES, MAX_POSITIONS = 1_000, 100_000, 2**24
"""What the configuration of a model may ask for."""
MAX_GUARDED_MB, MAX_GUARDED_SECONDS = 500, 10
"""The most memory of a process that reads a file, and the longest time that it says nothing."""
MAX_TEMPLATES = 100
"""The most templates of a user."""
MAX_TEMPLATE_KB = 100
"""The largest template, in KB."""


class Limited:
    """Has limits as attributes."""

    @property
    def changed_by(self) -> str:
        """Who can change the settings that they come from; empty: the caller gives them."""
        return ""

    def words(self, name: str) -> str:
        """The limit ``name`` and how it is changed, as a sentence."""
        limit = f"The limit is {getattr(self, name):,}"
        if not self.changed_by:
            return f"{limit}; give other limits with {name}."
        return f"{limit}; {self.changed_by} can change it (EXPLAINLAB_{name.upper()})."


@dataclass(frozen=True)
class Limits(Limited):
    """Upper limits on what the engine accepts. The defaults suit a single user on their own machine.

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
