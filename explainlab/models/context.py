"""The context of a run: its progress, its end, its memory and its shards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from explainlab.reader import ANYBODY, Reader

if TYPE_CHECKING:
    from explainlab.models.classifier import Prediction
    from explainlab.request import CompleteRequest

Body = dict[str, Any]
"""A value of a cache: plain JSON."""

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


class Cache(Protocol):
    """A memory of plain JSON bodies by keys, which :func:`explainlab.request.digest` makes of all that decides them."""

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """Return the bodies under those of the ``keys`` that have one."""

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """Remember bodies by their keys; earlier ones stay, or give way to them (``renew``)."""


class MemoryCache:
    """A :class:`Cache` that lasts as long as this object; it looks up in ``under`` the keys that it lacks."""

    def __init__(self, under: Cache | None = None) -> None:
        self.bodies: dict[str, Body] = {}
        self._under = under

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """See :class:`Cache`."""
        missing = [key for key in keys if key not in self.bodies]
        below = self._under.get_many(missing) if self._under and missing else {}
        return below | {key: self.bodies[key] for key in keys if key in self.bodies}

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """See :class:`Cache`."""
        self.bodies |= bodies if renew else {key: body for key, body in bodies.items() if key not in self.bodies}


class NoCache:
    """A :class:`Cache` that forgets."""

    def get_many(self, keys: Collection[str]) -> dict[str, Body]:
        """Return no body."""
        return {}

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        """Remember nothing."""


def ignore(*_: object, **__: object) -> None:
    """Do nothing: a receiver of progress that reports to nobody."""


class Expect(Protocol):
    """A receiver of the work that comes."""

    def __call__(self, work: float, exact: bool = True) -> None:
        """Expect about this much ``work`` from here on, or at most, if it is not ``exact``."""


@dataclass(frozen=True)
class Receivers:
    """The receivers of a run's progress; each ignores it by default.

    * ``report(done, total, phase)``: ``done`` of ``total`` passes, or other things, of a phase are finished (see
      :func:`how_far`); comes after every batch.
    * ``expect(work, exact=True)``: about this much work comes from here on, or at most, if it is not ``exact``.
    * ``part(work)``: a part of the expected work begins; the part before has ended.
    * ``spend(work)``: work is finished: tokens in passes with gradients; those in others count :data:`FORWARD` of one.
    * ``skip(work)``: this much of the expected work is already known.
    * ``read(texts)``: the model has read texts, perturbed ones too; comes after every batch.
    * ``predicted(prediction)``: ``prediction()`` returns that for a text of the run; comes once a text, before all that
      explains it.
    * ``show(result)``: ``result()`` returns the result over the texts of a data set that are finished then.
    """

    report: Callable[[int, int, str], None] = ignore
    expect: Expect = ignore
    part: Callable[[float], None] = ignore
    spend: Callable[[float], None] = ignore
    skip: Callable[[float], None] = ignore
    read: Callable[[int], None] = ignore
    predicted: Callable[[Callable[[], Prediction]], None] = ignore
    show: Callable[[Callable[[], Any]], None] = ignore

    def then(self, other: Receivers) -> Receivers:
        """Return receivers that pass everything to these, and then to ``other``."""

        def both(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
            def receive(*values: object, **named: object) -> None:
                first(*values, **named)
                second(*values, **named)

            return second if first is ignore else first if second is ignore else receive

        return Receivers(*(both(getattr(self, own.name), getattr(other, own.name)) for own in fields(Receivers)))


def take_all(of: str, parts: Sequence[Any]) -> Iterator[Any]:
    """Yield all ``parts``: see :class:`Shards`."""
    return iter(parts)


@dataclass(frozen=True)
class Shards:
    """The share of a run among ``workers``; ``helpers`` are the devices of others that have begun to do parts of it.

    ``take(of, parts)`` yields the ``parts``, plain JSON, that this run does itself, each when its turn comes: by
    default all of them. Others may do the rest meanwhile: they run the same request. After the last, all are done: the
    outcomes of the others are in the caches, unless that failed. ``of`` is equal in all these runs, and of no other
    parts.
    """

    workers: int = 1
    helpers: Collection[str] = ()
    take: Callable[[str, Sequence[Any]], Iterator[Any]] = take_all


def no_key(_: CompleteRequest) -> str | None:
    """Return None: no stored result answers the request."""
    return None


@dataclass(frozen=True, eq=False)
class RunContext:
    """The context of one run: its progress, its end, its memory and its shards.

    By default a run reports to nobody, never stops and remembers in memory. :func:`dataclasses.replace` makes another
    context like it.

    ``reader``: whose uploads the run reads, and how much of a file. ``check_cancelled``: called before every batch;
    raises :class:`explainlab.errors.Cancelled` if the run should stop. ``cache``: notes that the run may need again;
    ``results``: results, as their JSON records under the keys of their requests. ``key_of``: the key of a request in
    ``results`` (None: it has none; an analysis gives the keys, see :func:`explainlab.analyses.registry.with_keys`).
    """

    reader: Reader = ANYBODY
    progress: Receivers = Receivers()
    check_cancelled: Callable[[], None] = ignore
    cache: Cache = field(default_factory=MemoryCache)
    results: Cache = field(default_factory=MemoryCache)
    shards: Shards = Shards()
    key_of: Callable[[CompleteRequest], str | None] = no_key

    def recall(self, key: str) -> Body | None:
        """Return the note under ``key``, or None."""
        return self.cache.get_many([key]).get(key)

    def keep(self, key: str, body: Body) -> None:
        """Remember a note under ``key``, unless there is one already."""
        self.cache.put_many({key: body})

    def answers(self, requests: Sequence[CompleteRequest]) -> dict[int, Body]:
        """Return the records of the results that answer ``requests`` and are known, by their places."""
        keys = {place: key for place, request in enumerate(requests) if (key := self.key_of(request)) is not None}
        known = self.results.get_many(list(keys.values()))
        return {place: known[key] for place, key in keys.items() if key in known}


def sharded(reader: Reader = ANYBODY) -> RunContext:
    """Return a context that forgets its notes when a part begins, so that memory does not grow with the parts."""
    memory = MemoryCache()
    progress = Receivers(part=lambda _: memory.bodies.clear())
    return RunContext(reader, progress, cache=memory, results=memory)


class Counted:
    """A counter of finished things of a ``phase``, ``done`` of ``total``, whose ``context`` reports these alone."""

    def __init__(self, context: RunContext, done: int, total: int, phase: str) -> None:
        self._report = context.progress.report
        self._done, self._total, self._phase = done, total, phase
        self.context = replace(context, progress=replace(context.progress, report=lambda *_: self.finish(0)))

    def finish(self, things: int) -> None:
        """Count this many more things as finished."""
        self._done += things
        self._report(self._done, self._total, self._phase)
