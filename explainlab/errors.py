"""Errors that a user can fix.

Every error has a problem (``error.problem``) and a remedy (``error.remedy``). The command line prints both on one line
and exits with 2; a page shows both in its error box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic import ValidationError


class ExplainLabError(Exception):
    """An error that a user can fix: ``remedy`` is a sentence that says how; ``str(error)`` is problem and remedy."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}".strip()

    def _render_traceback_(self) -> list[str]:
        """Return the line that IPython prints in place of a traceback."""
        return [f"{type(self).__name__}: {' '.join(str(self).split())}"]


class ModelError(ExplainLabError):
    """A model that does not exist, cannot be loaded or run, or is not trusted."""


class TextError(ExplainLabError):
    """A text that cannot be explained: empty, too long, without content tokens."""


class RequestError(ExplainLabError):
    """A method, parameter, target or option that does not exist or is out of range."""


class UnsupportedError(ExplainLabError):
    """A method or metric that the model does not support; the message names the missing capability."""


class DataError(ExplainLabError):
    """A data file that cannot be read: missing, wrong columns, wrong encoding, unknown labels."""


class ResourceError(ExplainLabError):
    """A full disk, a full queue, or a limit that a request exceeds."""


class MemoryShortage(ResourceError):
    """A lack of memory for a single input, or for a model."""

    def __init__(
        self,
        problem: str = "Memory ran out, and again after all models were removed from it and this one was loaded anew.",
        remedy: str = "Try a smaller model or a shorter text; if nothing works, free memory or add some.",
    ) -> None:
        super().__init__(problem, remedy)


class Cancelled(ExplainLabError):
    """A job that its owner cancelled."""

    def __init__(self) -> None:
        super().__init__("The job was cancelled.")


class Refused(NamedTuple):
    """A value that a record does not accept: the dotted ``name`` of its field (empty: the whole record), and why.

    ``kind`` is pydantic's word for the ``reason``.
    """

    name: str
    value: Any
    reason: str
    kind: str


def first_refused(error: ValidationError) -> Refused:
    """Return the first value that a record refused."""
    first = error.errors()[0]
    return Refused(".".join(map(str, first["loc"])), first["input"], first["msg"], first["type"])
