"""The context of a run: progress, cancellation and a memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explainlab.reader import ANYBODY, Reader

if TYPE_CHECKING:
    from explainlab.models.classifier import Prediction
    from explainlab.request import CompleteRequest

Body = dict[str, Any]
"""A value of a memory: plain JSON."""

FORWARD = 1 / 3
"""The work of a forward pass, as a share of a pass with gradients."""
SHARE = 10_000
"""The total of a phase that counts no things: only the share of its progress is shown."""


def how_far(done: int, total: int) -> str:
    """Return a phase's progress in words: ``done`` of ``total``, or a percentage where the total is :data:`SHARE`."""
    return f"{done / total:.0%}" if total == SHARE else f"{done:,} of {total:,}"


@dataclass(frozen=True)
class PassCount:
    """Model passes of single inputs: ``forward``, of which ``backward`` have gradients, so that each is one of both.

    Where passes run a part of the model, or read a part of the text, ``spare`` is the work that they save.
    """

    forward: float = 0.0
    backward: float = 0.0
    spare: float = 0.0

    @classmethod
    def gradients(cls, count: float, spare: float = 0.0) -> PassCount:
        """Return ``count`` passes forward and backward."""
        return cls(count, count, spare)

    @classmethod
    def recorded(cls, count: float) -> PassCount:
        """Return ``count`` passes forward that keep every layer: they take as long as those with gradients."""
        return cls(count, spare=(FORWARD - 1) * count)

    @property
    def work(self) -> float:
        """Their work in passes with gradients, all of the same length."""
        return FORWARD * (self.forward - self.backward) + self.backward - self.spare

    def __add__(self, other: PassCount) -> PassCount:
        return PassCount(self.forward + other.forward, self.backward + other.backward, self.spare + other.spare)

    def __mul__(self, times: float) -> PassCount:
        return PassCount(times * self.forward, times * self.backward, times * self.spare)


class RunContext:
    """Progress, cancellation and memory of one run; this base reports to nobody and never stops.

    The memory holds what a run may need again: notes, which are plain JSON bodies under keys made by
    :func:`explainlab.request.digest` of all that determines them, and results, as their JSON records under the keys of
    their requests. The base class remembers nothing beyond this object.
    ``reader``: whose uploads the run reads, and how much of a file. ``workers``: how many may do parts of the run;
    ``helpers``: the devices of those that have begun to.
    """

    reader: Reader = ANYBODY  # also for a subclass that leaves __init__ to itself
    workers: int = 1
    helpers: Collection[str] = ()

    def __init__(self, reader: Reader = ANYBODY) -> None:
        self.reader = reader

    def report(self, done: int, total: int, phase: str) -> None:
        """Report ``done`` of ``total`` finished of this ``phase``: model passes, or others (see :func:`how_far`).

        Called after every batch.
        """

    def predicted(self, prediction: Callable[[], Prediction]) -> None:
        """Announce the ``prediction`` for a text of the run. Called once a text, before all that explains it."""

    def expect(self, work: float, exact: bool = True) -> None:
        """Expect about this much ``work`` (see :meth:`spend`) from here on, or at most, if it is not ``exact``."""

    def part(self, work: float) -> None:
        """Begin a part of the expected ``work``; the part before has ended."""

    def spend(self, work: float) -> None:
        """Count finished ``work``: tokens in passes with gradients; those in others count :data:`FORWARD` of one."""

    def has_read(self, texts: int) -> None:
        """Count texts, perturbed ones too, that the model has read. Called after every batch."""

    def skip(self, work: float) -> None:
        """Mark this much of the expected ``work`` as already known."""

    def show(self, result: Callable[[], Any]) -> None:
        """Show the finished texts of a data set: ``result``, when called, makes the result of those finished then."""

    def check_cancelled(self) -> None:
        """Raise :class:`explainlab.errors.Cancelled` if the run should stop. Called before every batch."""

    def retire_thread(self) -> None:
        """Give up the thread of this run, on which memory ran out: nothing else should run there."""

    def iter_shards(self, of: str, parts: Sequence[Any]) -> Iterator[Any]:
        """Yield the ``parts``, plain JSON, that this run does itself, each when its turn comes: here all of them.

        Others may do the rest meanwhile: they run the same request. After the last, all are done: the outcomes of the
        others are in the memory, unless that failed. ``of`` is equal in all these runs, and of no other parts.
        """
        return iter(parts)

    def recall(self, key: str) -> Body | None:
        """Return the note under ``key``, or None."""
        return self.cache_get([key]).get(key)

    def keep(self, key: str, body: Body) -> None:
        """Remember a note under ``key``, unless there is one already."""
        self.cache_put({key: body})

    def cache_get(self, keys: Collection[str]) -> dict[str, Body]:
        """Return the notes under those of the ``keys`` that have one."""
        return {key: self._memory[key] for key in keys if key in self._memory}

    def cache_put(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """Remember notes by their keys; earlier ones stay, or give way to them (``renew``)."""
        self._memory |= bodies if renew else {key: body for key, body in bodies.items() if key not in self._memory}

    def recall_results(self, keys: Collection[str]) -> dict[str, Body]:
        """Return the results that are stored under those of the ``keys`` that have one."""
        return self.cache_get(keys)

    def keep_results(self, records: Mapping[str, Body]) -> None:
        """Store results by their keys; earlier ones stay."""
        self.cache_put(records)

    def recall_answers(self, requests: Sequence[CompleteRequest]) -> dict[int, Body]:
        """Return the records of the attributions that answer ``requests`` and are known, by their places.

        This base knows none: an analysis gives a context that does (:class:`explainlab.analyses.registry.Answers`).
        """
        return {}

    @cached_property
    def _memory(self) -> dict[str, Body]:
        return {}


class ShardLocalCache(RunContext):
    """A context that forgets the notes of a part when the next begins, so that memory does not grow with the parts."""

    def part(self, work: float) -> None:
        self._memory.clear()


class ContextWrapper(RunContext):
    """A context that passes everything to ``context``; a subclass changes some of it."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context.reader)
        self.workers, self.helpers = context.workers, context.helpers
        self._context = context

    def report(self, done: int, total: int, phase: str) -> None:
        self._context.report(done, total, phase)

    def predicted(self, prediction: Callable[[], Prediction]) -> None:
        self._context.predicted(prediction)

    def expect(self, work: float, exact: bool = True) -> None:
        self._context.expect(work, exact)

    def part(self, work: float) -> None:
        self._context.part(work)

    def spend(self, work: float) -> None:
        self._context.spend(work)

    def has_read(self, texts: int) -> None:
        self._context.has_read(texts)

    def skip(self, work: float) -> None:
        self._context.skip(work)

    def show(self, result: Callable[[], Any]) -> None:
        self._context.show(result)

    def check_cancelled(self) -> None:
        self._context.check_cancelled()

    def retire_thread(self) -> None:
        self._context.retire_thread()

    def iter_shards(self, of: str, parts: Sequence[Any]) -> Iterator[Any]:
        return self._context.iter_shards(of, parts)

    def cache_get(self, keys: Collection[str]) -> dict[str, Body]:
        return self._context.cache_get(keys)

    def cache_put(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        self._context.cache_put(bodies, renew)

    def recall_results(self, keys: Collection[str]) -> dict[str, Body]:
        return self._context.recall_results(keys)

    def keep_results(self, records: Mapping[str, Body]) -> None:
        self._context.keep_results(records)

    def recall_answers(self, requests: Sequence[CompleteRequest]) -> dict[int, Body]:
        return self._context.recall_answers(requests)
