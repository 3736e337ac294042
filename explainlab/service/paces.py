"""What earlier jobs took on this machine, kept among the store's notes so that it survives a restart."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict

from explainlab.errors import ResourceError
from explainlab.request import CompleteRequest, digest
from explainlab.service.estimate import Pace
from explainlab.service.store.store import Store

_STORED = "pace/1"  # part of the key: rises when the meaning of a unit of work changes
_NOBODY = ""  # the instance itself has them
_ALIKE = 0.2
"""A pace within this share of the known one is not written down."""


class Paces:
    """The paces of jobs by model, device, question and parameters; jobs of single texts and of data sets apart.

    A new pace counts as much as all before it. Where the store fails, nothing is known.
    """

    def __init__(self, store: Store, device: str) -> None:
        self._store = store
        self._device = device

    def of(self, request: CompleteRequest) -> Pace | None:
        """The pace of jobs like ``request``, or None."""
        with suppress(ResourceError):
            body = self._store.note(self._key(request))
            return Pace(**body) if body else None
        return None

    def learn(self, request: CompleteRequest, pace: Pace) -> None:
        """A job for ``request`` had this ``pace``."""
        known = self.of(request)
        if known is not None:
            if _alike(known.seconds, pace.seconds) and _alike(known.spent, pace.spent):
                return
            pace = Pace((known.seconds + pace.seconds) / 2, (known.spent + pace.spent) / 2)
        with suppress(ResourceError):
            key = self._key(request)
            self._store.keep_notes({key: asdict(pace)}, renew=True)
            self._store.held.hold(_NOBODY, _STORED, [key])

    def _key(self, request: CompleteRequest) -> str:
        parameters = {name: value for name, value in request.parameters.items() if name != "rows"}
        kind = "text" if request.data is None else "data"
        return digest([_STORED, self._device, request.model, request.dtype, request.question, parameters, kind])


def _alike(known: float, new: float) -> bool:
    return abs(new - known) <= _ALIKE * known
