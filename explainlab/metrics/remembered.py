"""Cached predictions for versions of a text, in the memory of a context: no version runs twice."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Self

import numpy as np

from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, RunContext
from explainlab.request import digest
from explainlab.text.encoding import Encoding

KEPT_SECONDS = 5
"""Seconds between two writes of new predictions to the cache: a killed server loses no more."""
_NAME_BYTES = 12


def tokens_of(encoding: Encoding) -> np.ndarray:
    """Return int32 [2, N]: ids and segments of a text without padding."""
    return np.stack([encoding.ids, encoding.types])[:, encoding.attention].astype(np.int32)


def name_of(tokens: np.ndarray) -> bytes:
    """Return the name of ``tokens`` int32 [2, N] in a note: their digest, 12 bytes."""
    return blake2b(tokens.tobytes(), digest_size=_NAME_BYTES).digest()


def note_key(classifier: Classifier, tokens: bytes, padded: bool = False) -> str:
    """Return the key of the note on the versions of a text with these ``tokens``: 64 hexadecimal digits.

    ``padded``: padding tokens replace removed ones and keep their places.
    """
    return digest(["predictions", classifier.digest, str(classifier.dtype), tokens.hex(), padded])


class Memory:
    """The predictions that a context caches for numbered versions of texts.

    ``versions``: the numbers of a text's versions, by the key of its note; ``names``: the names of all versions, by
    number. New predictions are written every few seconds, and at the end of the block, also after an error.
    """

    def __init__(self, context: RunContext, versions: Mapping[str, Collection[int]], names: Sequence[bytes]) -> None:
        self._context = context
        self._versions = versions
        self._names = names
        self._notes = recall(context, versions)
        self._fresh: dict[int, np.ndarray] = {}
        self._kept = time.monotonic()

    def recall(self) -> dict[int, np.ndarray]:
        """Return the known logits float64 [classes], by number."""
        return {
            number: own
            for key, numbers in self._versions.items()
            for number in numbers
            if (own := self._notes[key].get(self._names[number])) is not None
        }

    def add(self, numbers: Sequence[int], logits: np.ndarray) -> None:
        """Remember the rows ``numbers`` of ``logits`` float64 [D, classes]."""
        self._fresh |= {number: logits[number] for number in numbers}
        if time.monotonic() - self._kept > KEPT_SECONDS:
            self._keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._keep()

    def _keep(self) -> None:
        changed = {}
        for key, numbers in self._versions.items():
            note = self._notes[key]
            fresh = {self._names[n]: self._fresh[n] for n in numbers if n in self._fresh and self._names[n] not in note}
            if fresh:
                changed[key] = self._notes[key] = note | fresh
        self._context.keep_all({key: _written(own) for key, own in changed.items()}, renew=True)
        self._fresh, self._kept = {}, time.monotonic()


def recall(context: RunContext, keys: Collection[str]) -> dict[str, dict[bytes, np.ndarray]]:
    """Return the cached logits float64 [classes] of the texts with these notes, by the :func:`name_of` their tokens."""
    notes = context.recall_all(keys)
    return {key: _read(notes[key]) if key in notes else {} for key in keys}


def _read(note: Body) -> dict[bytes, np.ndarray]:
    names, logits = b64decode(note["names"]), np.frombuffer(b64decode(note["logits"]), dtype="<f8")
    starts = range(0, len(names), _NAME_BYTES)
    rows = logits.reshape(len(starts), -1).astype(np.float64)
    return {names[start : start + _NAME_BYTES]: row for start, row in zip(starts, rows, strict=True)}


def _written(predictions: Mapping[bytes, np.ndarray]) -> Body:
    logits = np.stack(list(predictions.values())).astype("<f8")
    return {"names": b64encode(b"".join(predictions)).decode(), "logits": b64encode(logits.tobytes()).decode()}
