"""The baseline from a data set: the text with the most uniform prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import log
from typing import Any

import numpy as np
import torch

from explainlab.data import EXAMPLES, Dataset, Row, examples_for, read_dataset, rows_digest
from explainlab.errors import DataError, RequestError, TextError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.reading import logits_of
from explainlab.reader import Reader
from explainlab.request import digest
from explainlab.text.encoding import Encoding

PHASE = "choosing the baseline"
_CHOICE = "max_entropy/1"  # part of the stored choice's key: a new rule needs a new number
_WINDOW = 1024  # rows that are encoded and sorted by length together
_DIGITS = 7  # digits to which float32 passes agree, so that ties do not depend on the batches
_SHOWN = 80  # characters of the chosen text in a note


@dataclass(frozen=True)
class MaxEntropy:
    """The text of a data set with the most uniform prediction.

    ``row``: its number in the data set. ``entropy``: H(p) of its prediction in nats. ``ids``: its content tokens, a
    pair's texts concatenated. ``passes``: forward passes made now to choose it (0: remembered).
    """

    text: str
    text_pair: str | None
    row: int
    entropy: float
    ids: tuple[int, ...]
    passes: int = field(default=0, compare=False)

    def fitted(self, length: int, filler: int) -> np.ndarray:
        """Return int64 [length]: its tokens, cut at the end or followed by ``filler``."""
        return np.array((*self.ids[:length], *[filler] * (length - len(self.ids))), dtype=np.int64)

    def note(self, source: str, classes: int) -> str:
        """Name the chosen text of ``source``, and its distance from a uniform prediction, in one line."""
        text = self.text if self.text_pair is None else f"{self.text} | {self.text_pair}"
        return (
            f"Baseline: row {self.row} of {source}, entropy {self.entropy:.3f} of at most {log(classes):.3f}: "
            f"{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'!r}"
        )


def choose(batcher: Batcher, source: str) -> MaxEntropy:
    """Return the text of the data set ``source`` (path or embedded id) with the most uniform prediction.

    Chosen once per model (digest and number format) and data set (content). Rows that cannot be read are left out.
    Raises the errors of :func:`max_entropy` and :func:`explainlab.data.read_dataset`.
    """
    classifier, context = batcher.classifier, batcher.context
    named = {
        "model": classifier.digest,
        "dtype": str(classifier.dtype),
        "data": rows_digest(source, context.reader),
    }
    key = digest({"choice": _CHOICE, **named})
    remembered = context.recall(key)
    if remembered is not None:
        return MaxEntropy(**{**remembered, "ids": tuple(remembered["ids"])})
    chosen = max_entropy(batcher, read_dataset(source, skip_bad=True, reader=context.reader))
    context.keep(key, {**asdict(chosen), "passes": 0})
    return chosen


def data_source(data: str, classifier: Classifier) -> str:
    """Return ``data``, or the embedded examples with the model's class names; raises :class:`RequestError`."""
    examples = examples_for(classifier.labels)
    if data:
        return data
    if examples:
        return examples.id
    raise RequestError(
        f"No embedded examples have the classes of {classifier.id}, so max_entropy has no text to choose.",
        "Name a data file in baseline_data, or choose another baseline.",
    )


def data_digest(parameters: dict[str, Any], reader: Reader) -> str:
    """Return the digest of the data that a method with these ``parameters`` reads as ``reader``; empty without data.

    It is also empty if the data cannot be read: the run then fails with the reason.
    """
    if parameters.get("baseline") != "max_entropy":
        return ""
    data = parameters.get("baseline_data")
    try:
        return digest([rows_digest(source, reader) for source in ([data] if data else EXAMPLES)])
    except DataError:
        return ""


def max_entropy(batcher: Batcher, dataset: Dataset) -> MaxEntropy:
    """Return argmax H(p(x)) over the texts x of ``dataset``; of equal texts the first. One forward pass per text.

    Source: Makino et al. (after Tan 2023), read literally. Texts that the model cannot read (without a token) are left
    out. Raises :class:`DataError` if none is left, :class:`RequestError` for more rows than the classifier's
    ``limits.max_evaluations``, :class:`ResourceError` for a text that does not fit into the memory.
    """
    classifier, rows = batcher.classifier, dataset.rows
    limit = classifier.limits.max_evaluations
    if len(rows) > limit:
        raise RequestError(
            f"{dataset.name} has {len(rows):,} rows; max_entropy chooses among {limit:,} at most.",
            f"Name a smaller data file. {classifier.limits.words('max_evaluations')}",
        )
    best, passes = None, 0
    for start in range(0, len(rows), _WINDOW):
        window = rows[start : start + _WINDOW]
        readable = list(_readable(classifier, window))
        if not readable:
            continue
        done = start + len(window) - len(readable)
        window_entropies = entropies(batcher, [encoding for _, encoding in readable], done, len(rows))
        passes += len(window_entropies)
        first = int(window_entropies.argmax())
        if best is None or window_entropies[first] > best[0]:
            best = float(window_entropies[first]), *readable[first]
    if best is None:
        raise DataError(f"The model can read no text of {dataset.name}.", "Name another data file in baseline_data.")
    entropy, row, encoding = best
    ids = tuple(encoding.ids[encoding.content].tolist())
    return MaxEntropy(row.text, row.text_pair, row.number, entropy, ids, passes)


def entropies(batcher: Batcher, encodings: Sequence[Encoding], done: int, total: int) -> np.ndarray:
    """Return float64 [n]: H(p) in nats, rounded to 7 digits, of the predictions for ``encodings``.

    Batches hold texts of like length, the longest first. Progress counts from ``done`` to ``total``.
    """
    logs = torch.from_numpy(logits_of(batcher, encodings, PHASE, done, total)).log_softmax(dim=-1)
    return -(logs.exp() * logs).sum(dim=-1).numpy().round(_DIGITS)


def _readable(classifier: Classifier, rows: Sequence[Row]) -> Iterator[tuple[Row, Encoding]]:
    for row in rows:
        try:
            yield row, classifier.encode(row.text, row.text_pair)
        except TextError:
            continue
