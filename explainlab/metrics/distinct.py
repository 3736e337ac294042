"""The perturbed inputs of many metrics for many attributions: equal inputs run once, and a context caches them."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from hashlib import blake2b
from itertools import groupby, islice
from math import log2
from typing import Self

import numpy as np
import torch
from torch import Tensor

from explainlab.errors import TextError
from explainlab.metrics.presets import Filler, Removal
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import FORWARD, Body, RunContext
from explainlab.models.inputs import FEWEST_TEXTS, LEAST_PREFIX, Inputs, Prefix, Unpadded
from explainlab.request import digest
from explainlab.text.encoding import Encoding

TOGETHER = 2048
"""Inputs that run before their answers are cached: full batches on any device, and a cancel loses little."""


class DistinctInputs:
    """Token ids with their segments: every sequence once, with a number in the order of arrival.

    An input without a token is read as the mask token alone.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._numbers: dict[bytes, int] = {}
        self._rows: list[np.ndarray] = []
        self._known: dict[int, np.ndarray] = {}
        self._versions: dict[bytes, set[int]] = {}
        self._reread: dict[bytes, np.ndarray] = {}
        self._pads = False

    def add_original(self, encoding: Encoding, logits: np.ndarray) -> int:
        """Return the number of an original text; its ``logits`` float64 [classes] are known, so it does not run."""
        (number,) = self._numbered(encoding, [tokens_of(encoding)])
        self._known.setdefault(number, logits)
        return number

    def add(self, encoding: Encoding, stays: np.ndarray, removal: Removal | Filler, retokenised: bool) -> np.ndarray:
        """Return int64 [K]: the numbers of K versions of a text, each with the tokens ``stays`` bool [K, N].

        Padding is left out. With ``retokenised`` the rest of each text is decoded and tokenised again. If that is
        impossible (only masks are left, or one text of a pair), the ids stay.
        """
        stays = stays[:, encoding.attention]
        self._pads |= removal == "pad"
        rows = self._left(tokens_of(encoding), stays, removal)
        if retokenised:
            origin = np.where(encoding.special, -1, encoding.parts)[encoding.attention]
            parts = [origin if removal != "delete" else origin[left] for left in stays]
            pair = encoding.text_pair is not None
            rows = [self._read_again(row, part, pair) for row, part in zip(rows, parts, strict=True)]
        return np.array(self._numbered(encoding, rows), dtype=np.int64)

    def log_probabilities(self, batcher: Batcher) -> np.ndarray:
        """Return log-probabilities float64 [D, classes] of every input, from its :meth:`logits`."""
        return torch.from_numpy(self.logits(batcher)).log_softmax(dim=-1).numpy()

    def logits(self, batcher: Batcher) -> np.ndarray:
        """Return logits float64 [D, classes] of every input; run the unknown ones, longest first, in batches of
        ``batcher``.

        The batcher's context caches them by text. A cached answer counts as a pass too.
        """
        versions = {note_key(self._classifier, own, self._pads): numbers for own, numbers in self._versions.items()}
        memory = Memory(batcher.context, versions, list(map(token_digest, self._rows)))
        recalled = {number: own for number, own in memory.recall().items() if number not in self._known}
        batcher.recalled += len(recalled)
        batcher.context.progress.skip(FORWARD * sum(self._rows[number].shape[1] for number in recalled))
        logits = np.empty((len(self._rows), len(self._classifier.labels)))
        for number, own in (self._known | recalled).items():
            logits[number] = own
        pending = [n for n in range(len(self._rows)) if n not in self._known and n not in recalled]
        with memory:
            memory.add(list(self._known), logits)
            for numbers, own in self._answers(pending, batcher):
                logits[numbers] = own
                memory.add(numbers, logits)
        return logits

    def _answers(self, pending: Sequence[int], batcher: Batcher) -> Iterator[tuple[list[int], np.ndarray]]:
        """Yield the logits float64 [n, classes] of ``pending`` inputs, :data:`TOGETHER` at a time."""
        ends = {number: self._classifier.end_count(self._rows[number][0]) for number in pending}
        order = sorted(pending, key=lambda number: (ends[number], -self._rows[number].shape[1]))
        done = 0
        for _, group in groupby(order, key=lambda number: (ends[number], self._size(number))):
            while numbers := list(islice(group, TOGETHER)):
                yield numbers, self._run(numbers, batcher, done, len(order))
                done += len(numbers)

    def text(self, number: int) -> str:
        """Return an input as the model reads it, special tokens included."""
        return self._decoded(self._rows[number][0])

    def _numbered(self, encoding: Encoding, rows: Sequence[np.ndarray]) -> list[int]:
        """Return the numbers of ``rows``, which are versions of a text."""
        numbers = [self._number(row) for row in rows]
        self._versions.setdefault(tokens_of(encoding).tobytes(), set()).update(numbers)
        return numbers

    def _number(self, row: np.ndarray) -> int:
        """Return the number of ``row``, int32 [2, N]: ids and segments. Equal rows have one number."""
        if not row.shape[1]:
            row = np.array([[self._filler], [0]], dtype=row.dtype)
        key = row.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._rows)
            self._rows.append(np.frombuffer(key, row.dtype).reshape(row.shape))
        return number

    def _left(self, text: np.ndarray, stays: np.ndarray, removal: Removal | Filler) -> list[np.ndarray]:
        """Return the rest of ``text`` int32 [2, N] after removal, for each of K ``stays`` bool [K, N]."""
        if removal != "delete":
            rows = np.repeat(text[None], len(stays), axis=0)
            rows[:, 0][~stays] = self._filler if removal == "mask" else self._classifier.filler_id(removal)
            return list(rows)
        order = np.argsort(~stays, axis=1, kind="stable")
        rows = text[:, order].swapaxes(0, 1)
        return [row[:, :length] for row, length in zip(rows, stays.sum(axis=1).tolist(), strict=True)]

    def _read_again(self, row: np.ndarray, parts: np.ndarray, pair: bool) -> np.ndarray:
        """Tokenise the text of ``row`` again, to int32 [2, M]; ``parts`` [N] are 0 and 1, and -1 on special tokens."""
        key = row.tobytes() + parts.tobytes()
        if key not in self._reread:
            texts = [self._decoded(row[0, parts == part]) for part in range(1 + pair)]
            if self._classifier.prompt:  # the blank before the text belongs to the prompt
                texts = [text.strip() for text in texts]
            try:
                self._reread[key] = tokens_of(self._classifier.encode(texts[0], texts[1] if pair else None))
            except TextError:
                self._reread[key] = row
        return self._reread[key]

    def _decoded(self, ids: np.ndarray) -> str:
        return self._classifier.decode(ids.tolist())

    def _run(self, numbers: list[int], batcher: Batcher, done: int, total: int) -> np.ndarray:
        rows = [self._rows[number] for number in numbers]
        lengths = np.array([row.shape[1] for row in rows])
        prefix = cache(lambda: self._common(rows))  # read within a batch, which handles a lack of memory

        def run(part: slice) -> Tensor:
            with torch.no_grad():
                return self._logits(self._classifier.inputs([Unpadded(*row) for row in rows[part]]), prefix())

        batches = batcher.over(lengths, run, gradients=False, phase="perturbed texts", done=done, total=total)
        return self._classifier.finite(torch.cat(list(batches)))

    def _common(self, rows: Sequence[np.ndarray]) -> Prefix | None:
        """Return the common beginning of all ``rows`` if reading it once pays: a prompt, or a text with another end."""
        if not self._classifier.architecture.causal or len(rows) < FEWEST_TEXTS:
            return None
        shortest = min(row.shape[1] for row in rows) - 1
        differs = np.any([row[0, :shortest] != rows[0][0, :shortest] for row in rows], axis=0)
        length = int(differs.argmax()) if differs.any() else shortest
        ids = torch.tensor(rows[0][0, :length].tolist(), device=self._classifier.device)
        return self._classifier.prefix(ids) if length >= LEAST_PREFIX else None

    def _logits(self, inputs: Inputs, prefix: Prefix | None) -> Tensor:
        """Return logits float32 [B, classes]; padding in place of a feature moves no position (RoBERTa's ids would)."""
        hidden = inputs.attention & (inputs.ids == self._classifier.pad_id)
        if not (self._pads and hidden.any()):
            return self._classifier.logits(inputs, None, prefix)
        placed = replace(inputs, ids=inputs.ids.masked_fill(hidden, self._filler))
        return self._classifier.logits(placed, self._classifier.embed(inputs.ids), prefix)

    def _size(self, number: int) -> int:
        """Return the size class of an input in half octaves of length: batches of one class have little padding."""
        return int(2 * log2(self._rows[number].shape[1]))

    @cached_property
    def _filler(self) -> int:
        return self._classifier.filler_id("mask")


KEPT_SECONDS = 5
"""Seconds between two writes of new predictions to the cache: a killed server loses no more."""
_NAME_BYTES = 12


def tokens_of(encoding: Encoding) -> np.ndarray:
    """Return int32 [2, N]: ids and segments of a text without padding."""
    return np.stack([encoding.ids, encoding.types])[:, encoding.attention].astype(np.int32)


def token_digest(tokens: np.ndarray) -> bytes:
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
        self._notes = recall_predictions(context, versions)
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
        self._context.cache.put_many({key: _written(own) for key, own in changed.items()}, renew=True)
        self._fresh, self._kept = {}, time.monotonic()


def recall_predictions(context: RunContext, keys: Collection[str]) -> dict[str, dict[bytes, np.ndarray]]:
    """Return the cached logits float64 [classes] of the texts with these notes, by :func:`token_digest`."""
    notes = context.cache.get_many(keys)
    return {key: _read(notes[key]) if key in notes else {} for key in keys}


def _read(note: Body) -> dict[bytes, np.ndarray]:
    names, logits = b64decode(note["names"]), np.frombuffer(b64decode(note["logits"]), dtype="<f8")
    starts = range(0, len(names), _NAME_BYTES)
    rows = logits.reshape(len(starts), -1).astype(np.float64)
    return {names[start : start + _NAME_BYTES]: row for start, row in zip(starts, rows, strict=True)}


def _written(predictions: Mapping[bytes, np.ndarray]) -> Body:
    logits = np.stack(list(predictions.values())).astype("<f8")
    return {"names": b64encode(b"".join(predictions)).decode(), "logits": b64encode(logits.tobytes()).decode()}
