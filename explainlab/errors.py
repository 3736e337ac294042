"""The one family of errors that a user can cause or mend.

Every error carries what is wrong (``str(error)``) and what to do about it (``error.remedy``); the command line prints
both on one line and exits 2, a page shows both in its error box.
"""

from __future__ import annotations


class ExplainLabError(Exception):
    """Something a user can mend. ``remedy`` says how, in one sentence; ``str(error)`` joins both on one line."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}".strip()


class ModelError(ExplainLabError):
    """A model that cannot be found, loaded, trusted or run."""


class TextError(ExplainLabError):
    """A text that cannot be explained: empty, too long, without content tokens."""


class RequestError(ExplainLabError):
    """A method, parameter, target or option that does not exist or is out of range."""


class UnsupportedError(ExplainLabError):
    """A method that this model cannot support; the message names the missing property."""


class DataError(ExplainLabError):
    """A data file that cannot be read: missing, wrong columns, wrong encoding, unknown labels."""


class ResourceError(ExplainLabError):
    """Out of memory for a single input, a full disk, a full queue."""


class Cancelled(ExplainLabError):
    """The job was cancelled by its owner."""

    def __init__(self) -> None:
        super().__init__("The job was cancelled.")
