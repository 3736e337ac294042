"""Predictions for versions of a text, in the memory of a context: no version of a text is run twice."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from hashlib import blake2b

import numpy as np

from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, RunContext
from explainlab.request import digest
from explainlab.text.encoding import Encoding

Predictions = dict[bytes, np.ndarray]
"""Logits float64 [classes] of versions of a text, by :func:`name_of` their tokens."""

_NAME_BYTES = 12


def tokens_of(encoding: Encoding) -> np.ndarray:
    """int32 [2, N]: ids and segments of a text without padding."""
    return np.stack([encoding.ids, encoding.types])[:, encoding.attention].astype(np.int32)


def name_of(tokens: np.ndarray) -> bytes:
    """What stands for ``tokens`` int32 [2, N] in a note: their digest, 12 bytes."""
    return blake2b(tokens.tobytes(), digest_size=_NAME_BYTES).digest()


def note_key(classifier: Classifier, tokens: bytes, padded: bool = False) -> str:
    """The key of the note on the versions of a text with these ``tokens``: 64 hexadecimal digits.

    ``padded``: padding tokens stand for what was removed, and keep their places.
    """
    return digest(["predictions", classifier.digest, str(classifier.dtype), tokens.hex(), padded])


def recall(context: RunContext, keys: Collection[str]) -> dict[str, Predictions]:
    """What the context remembers of the texts with these notes; nothing of a text without a note."""
    notes = context.recall_all(keys)
    return {key: _read(notes[key]) if key in notes else {} for key in keys}


def keep(context: RunContext, predictions: Mapping[str, Predictions]) -> None:
    """Remember ``predictions`` by the keys of their texts' notes, which they replace."""
    context.keep_all({key: _written(own) for key, own in predictions.items() if own}, renew=True)


def _read(note: Body) -> Predictions:
    names, logits = b64decode(note["names"]), np.frombuffer(b64decode(note["logits"]), dtype="<f8")
    starts = range(0, len(names), _NAME_BYTES)
    rows = logits.reshape(len(starts), -1).astype(np.float64)
    return {names[start : start + _NAME_BYTES]: row for start, row in zip(starts, rows, strict=True)}


def _written(predictions: Predictions) -> Body:
    logits = np.stack(list(predictions.values())).astype("<f8")
    return {"names": b64encode(b"".join(predictions)).decode(), "logits": b64encode(logits.tobytes()).decode()}
