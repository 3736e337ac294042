"""A worker: it answers requests on one device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from explainlab.errors import ResourceError
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest
from explainlab.result import Result
from explainlab.training import Trained
from explainlab.workers.condition import Condition
from explainlab.workers.pool import Loaded

MOST_TRIES = 3
"""Maximum attempts at a task whose process dies."""
_this_thread = threading.local()


class Elsewhere(Exception):
    """An error of a worker that cannot do a task now; another one may, or this one later.

    ``tries`` counts its processes that the task has ended.
    """

    def __init__(self, tries: int = 0) -> None:
        super().__init__()
        self.tries = tries


def retire_thread() -> None:
    """Let nothing else run on this thread, on which memory ran out."""
    _this_thread.retired = True


def is_retired() -> bool:
    """Tell if this thread has called :func:`retire_thread`."""
    return getattr(_this_thread, "retired", False)


def ended_too_often() -> ResourceError:
    """Return the error for a task that has used up its tries."""
    return ResourceError(
        f"The process that computes ended {MOST_TRIES} times in the middle of this.",
        "It may need more memory than there is: try a smaller model, a shorter text or fewer steps.",
    )


class Worker(Protocol):
    """A worker: it answers several requests at once if each waits for its turn in its context. It holds models only.

    A ``spare`` one takes single texts while all others are away or busy with one long batch. ``changed`` is called when
    it comes or goes.
    """

    spare: bool
    changed: Callable[[], None]

    @property
    def device(self) -> str:
        """The device on which it computes."""

    @property
    def loaded(self) -> tuple[Loaded, ...]:
        """The models in its memory."""

    @property
    def out_of_memory(self) -> bool:
        """True if a model could not read a word even alone in memory, and none has succeeded since."""

    @property
    def free_bytes(self) -> int | None:
        """Free memory of its device; None where it is not known."""

    @property
    def device_bytes(self) -> int | None:
        """Memory of its device in all; None where it is not known."""

    @property
    def away(self) -> str:
        """The reason why it takes no tasks now; empty where it does."""

    @property
    def condition(self) -> Condition:
        """Its condition by its last report."""

    def answer(self, requests: Sequence[CompleteRequest], context: RunContext) -> list[Result]:
        """Return the results of ``requests``, which differ in their targets alone; raises their errors.

        Raises :class:`explainlab.errors.MemoryShortage` where memory does not suffice, also for one request alone, and
        :class:`Elsewhere` where it is ``away``.
        """

    def train(self, fields: Mapping[str, Any], context: RunContext) -> list[Trained]:
        """Return the classifiers that :func:`explainlab.training.train_files` makes of ``fields``, plain JSON.

        Its files are those of the worker's machine. Raises what the training raises.
        """

    def close(self) -> None:
        """Let go of everything; the worker takes no tasks afterwards."""
