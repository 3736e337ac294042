"""Paces of earlier jobs on this machine, kept among the store's notes so that they survive a restart."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict

from explainlab.errors import ResourceError
from explainlab.request import CompleteRequest, digest
from explainlab.service.estimate import Estimate, Pace
from explainlab.service.store.store import Store

_STORED = "pace/4"  # part of the key: rises when the meaning of its numbers changes
_NOBODY = ""  # the instance itself has them
_TEXT, _DATA = "text", "data"
_REMEMBERED = 8
"""Window (in jobs) of the moving average of a pace."""


class Paces:
    """The paces of jobs by model, device, question and parameters; jobs of single texts and of data sets apart.

    They are means: adaptive methods need several times more for some texts. From the eighth job on a new one counts as
    an eighth. Where the store fails, nothing is known.
    """

    def __init__(self, store: Store, device: str) -> None:
        self._store = store
        self._device = device

    def of(self, request: CompleteRequest) -> Pace | None:
        """Return the pace of jobs like ``request``, or None."""
        return self._known(self._key(request, _kind(request)))

    def nearest(self, request: CompleteRequest) -> Pace | None:
        """Return the pace as :meth:`of`, else that of the same question about a text for a data set, or the reverse."""
        return self.of(request) or self._known(self._key(request, _TEXT if _kind(request) == _DATA else _DATA))

    def speed(self, request: CompleteRequest) -> Pace | None:
        """Return the pace of jobs about other questions to the same model, for a unit of spent work, or None."""
        return self._known(self._speed_key(request))

    def learn(self, request: CompleteRequest, pace: Pace, speed: Pace | None = None) -> None:
        """Record this ``pace`` of a job for ``request``, and its ``speed`` if it was long enough to tell."""
        self._learn(self._key(request, _kind(request)), pace)
        if speed is not None:
            self._learn(self._speed_key(request), speed)

    def learn_from(self, request: CompleteRequest, estimate: Estimate) -> None:
        """Learn, as :meth:`learn`, from a job that has just ended, if it did any work."""
        ended = time.monotonic()
        pace = estimate.taken(ended)
        if pace is not None:
            self.learn(request, pace, estimate.speed(ended))

    def _learn(self, key: str, pace: Pace) -> None:
        known = self._known(key)
        if known is not None:
            new = 1 / min(known.runs + 1, _REMEMBERED)
            seconds, spent, work = (
                (1 - new) * before + new * now
                for before, now in (
                    (known.seconds, pace.seconds),
                    (known.spent, pace.spent),
                    (known.work, pace.work),
                )
            )
            pace = Pace(seconds, spent, known.runs + 1, work)
        with suppress(ResourceError):
            self._store.keep_notes({key: asdict(pace)}, renew=True)
            self._store.held.hold(_NOBODY, _STORED, [key])

    def _known(self, key: str) -> Pace | None:
        with suppress(ResourceError):
            body = self._store.note(key)
            return Pace(**body) if body else None
        return None

    def _key(self, request: CompleteRequest, kind: str) -> str:
        known = {name: value for name, value in request.parameters.items() if name not in ("rows", "sample")}
        return digest([_STORED, self._device, request.model, request.dtype, request.question, known, kind])

    def _speed_key(self, request: CompleteRequest) -> str:
        return digest([_STORED, self._device, request.model, request.dtype])


def _kind(request: CompleteRequest) -> str:
    return _TEXT if request.data is None else _DATA
