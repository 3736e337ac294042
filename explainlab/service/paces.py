"""What earlier jobs took on this machine, kept among the store's notes so that it survives a restart."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass

from explainlab.errors import ResourceError
from explainlab.request import CompleteRequest, digest
from explainlab.service.estimate import Estimate, Pace
from explainlab.service.store.store import Store

_STORED = "pace/4"  # part of the key: rises when the meaning of its numbers changes
_NOBODY = ""  # the instance itself has them
_TEXT, _DATA = "text", "data"
_REMEMBERED = 8
"""A pace is the mean of about so many jobs."""
_FIXED, _TRUSTED = 0.2, 1.0
"""The share of a job's seconds that is taken to be fixed before jobs of different sizes tell (0.1 to 0.4 of evaluations
of ten texts were, on three models), and what it weighs beside the squares of their relative differences in size."""
_MOST_FIXED = 0.9


@dataclass(frozen=True)
class _Means:
    """Over ``runs`` jobs: the means of their ``work``, their ``seconds``, of what they ``spent``, of the work's
    ``square``, and of its ``product`` with the seconds."""

    runs: int
    work: float
    seconds: float
    spent: float
    square: float
    product: float

    @classmethod
    def of(cls, pace: Pace) -> _Means:
        """Of one job with this ``pace``."""
        work, seconds = pace.work, pace.whole(pace.work)
        return cls(1, work, seconds, pace.spent * work, work * work, work * seconds)

    def and_one(self, job: _Means) -> _Means:
        """With one more ``job``."""
        runs, new = self.runs + 1, 1 / min(self.runs + 1, _REMEMBERED)
        _, *before = astuple(self)
        _, *now = astuple(job)
        return _Means(runs, *((1 - new) * one + new * other for one, other in zip(before, now, strict=True)))

    @property
    def pace(self) -> Pace:
        """A regression of the seconds on the work, where a share of 0.2 is fixed unless the jobs say otherwise."""
        spread = self.square / self.work**2 - 1
        together = self.product / (self.work * self.seconds) - 1
        runs = min(self.runs, _REMEMBERED)
        share = (runs * (spread - together) + _FIXED * _TRUSTED) / (runs * spread + _TRUSTED)
        fixed = min(max(share, 0.0), _MOST_FIXED) * self.seconds
        return Pace((self.seconds - fixed) / self.work, self.spent / self.work, self.runs, self.work, fixed)


class Paces:
    """The paces of jobs by model, device, question and parameters; jobs of single texts and of data sets apart.

    They are means: adaptive methods need several times more for some texts. From the eighth job on a new one counts as
    an eighth. How many seconds do not grow with the work is known as soon as jobs of different sizes have ended: small
    batches read a model's weights as often as full ones. Where the store fails, nothing is known.
    """

    def __init__(self, store: Store, device: str) -> None:
        self._store = store
        self._device = device

    def of(self, request: CompleteRequest) -> Pace | None:
        """The pace of jobs like ``request``, or None."""
        return self._known(self._key(request, _kind(request)))

    def nearest(self, request: CompleteRequest) -> Pace | None:
        """As :meth:`of`, else that of the same question about a data set where ``request`` is about a text, or about
        a text where it is about a data set."""
        return self.of(request) or self._known(self._key(request, _TEXT if _kind(request) == _DATA else _DATA))

    def speed(self, request: CompleteRequest) -> Pace | None:
        """The pace of jobs about other questions to the same model, for a unit of work that is spent, or None."""
        return self._known(self._speed_key(request))

    def learn(self, request: CompleteRequest, pace: Pace, speed: Pace | None = None) -> None:
        """A job for ``request`` had this ``pace``, and this ``speed`` if it was long enough to tell."""
        self._learn(self._key(request, _kind(request)), pace)
        if speed is not None:
            self._learn(self._speed_key(request), speed)

    def learn_from(self, request: CompleteRequest, estimate: Estimate) -> None:
        """As :meth:`learn`, of a job that has just ended, if it did any work."""
        ended = time.monotonic()
        pace = estimate.taken(ended)
        if pace is not None:
            self.learn(request, pace, estimate.speed(ended))

    def _learn(self, key: str, pace: Pace) -> None:
        known, new = self._means(key), _Means.of(pace)
        with suppress(ResourceError):
            self._store.keep_notes({key: asdict(known.and_one(new) if known else new)}, renew=True)
            self._store.held.hold(_NOBODY, _STORED, [key])

    def _known(self, key: str) -> Pace | None:
        means = self._means(key)
        return means.pace if means else None

    def _means(self, key: str) -> _Means | None:
        with suppress(ResourceError):
            body = self._store.note(key)
            return _Means(**body) if body else None
        return None

    def _key(self, request: CompleteRequest, kind: str) -> str:
        known = {name: value for name, value in request.parameters.items() if name not in ("rows", "sample")}
        return digest([_STORED, self._device, request.model, request.dtype, request.question, known, kind])

    def _speed_key(self, request: CompleteRequest) -> str:
        return digest([_STORED, self._device, request.model, request.dtype])


def _kind(request: CompleteRequest) -> str:
    return _TEXT if request.data is None else _DATA
