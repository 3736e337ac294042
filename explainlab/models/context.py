"""What a method is handed beside the model: where to report progress, and whether to stop."""

from __future__ import annotations


class RunContext:
    """Progress and cancellation of one run; this base reports to nobody and never stops."""

    def report(self, done: int, total: int, phase: str) -> None:
        """``done`` of ``total`` model passes of this ``phase`` are finished. Called after every batch."""

    def check_cancelled(self) -> None:
        """Raise :class:`explainlab.errors.Cancelled` if the run should stop. Called before every batch."""
