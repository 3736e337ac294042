"""Many texts at once: tokenised together, run in batches of similar length, without data for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from explainlab.errors import TextError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Tokens
from explainlab.text.encoding import require_readable

Text = tuple[str, str | None]
"""A text and the second text of its pair, if any."""


@dataclass(frozen=True, eq=False)
class Reading:
    """A text of N tokens as a model reads it: ``ids`` and ``types`` [N]; ``cut`` more tokens did not fit."""

    ids: Sequence[int]
    types: Sequence[int]
    cut: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attention(self) -> np.ndarray:
        """bool [N]: nothing is padding."""
        return np.ones(len(self), dtype=bool)


def read_all(classifier: Classifier, texts: Sequence[Text]) -> list[Reading | TextError]:
    """The ids of every text as by :meth:`Classifier.encode`, or the error that it raises."""
    if classifier.prompt:
        return [_alone(classifier, text) for text in texts]
    errors = [_refusal(text, classifier.limits.max_characters) for text in texts]
    readings: dict[int, Reading | TextError] = {i: error for i, error in enumerate(errors) if error}
    for paired in (False, True):
        group = [i for i, text in enumerate(texts) if not errors[i] and (text[1] is not None) == paired]
        readings |= zip(group, _tokenised(classifier, [texts[i] for i in group]), strict=True)
    return [readings[i] for i in range(len(texts))]


def logits_of(batcher: Batcher, texts: Sequence[Tokens], phase: str, done: int, total: int) -> np.ndarray:
    """float64 [n, classes]: one forward pass per text, in batches of similar length, longest first.

    Progress counts from ``done`` to ``total``. Raises :class:`explainlab.errors.ResourceError` for a text that does
    not fit into the memory, :class:`explainlab.errors.ModelError` for scores that are not finite.
    """
    classifier = batcher.classifier
    scores = np.empty((len(texts), len(classifier.labels)))
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(-lengths, kind="stable")

    def run(part: slice) -> None:
        with torch.no_grad():
            logits = classifier.logits(classifier.inputs([texts[i] for i in order[part]]))
        scores[order[part]] = classifier.finite(logits)

    for _ in batcher.over(lengths[order], run, gradients=False, phase=phase, done=done, total=total):
        pass
    return scores


def _alone(classifier: Classifier, text: Text) -> Reading | TextError:
    try:
        encoding = classifier.encode(*text)
    except TextError as error:
        return error
    return Reading(encoding.ids.tolist(), encoding.types.tolist(), encoding.cut)


def _refusal(text: Text, most_characters: int) -> TextError | None:
    try:
        require_readable(*text, most_characters)
    except TextError as error:
        return error
    return None


def _tokenised(classifier: Classifier, texts: Sequence[Text]) -> list[Reading | TextError]:
    """Readable texts, all with a second text or all without."""
    if not texts:
        return []
    limit, tokenizer = classifier.max_tokens, classifier.tokenizer
    markers = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    readings = _read(classifier, texts)
    long = [i for i, reading in enumerate(readings) if len(reading) > limit]
    if long:
        kept = _read(classifier, [texts[i] for i in long], truncation=True, max_length=limit)
        for i, reading in zip(long, kept, strict=True):
            readings[i] = Reading(reading.ids, reading.types, len(readings[i]) - len(reading))
    return [
        _alone(classifier, text) if markers.issuperset(reading.ids) else reading
        for text, reading in zip(texts, readings, strict=True)
    ]


def _read(classifier: Classifier, texts: Sequence[Text], **options: Any) -> list[Reading]:
    first, second = (list(column) for column in zip(*texts, strict=True))
    with classifier.tokenizer_lock:
        tokens = classifier.tokenizer(first, None if second[0] is None else second, verbose=False, **options)
    ids = tokens["input_ids"]
    types = tokens.get("token_type_ids") or [[0] * len(row) for row in ids]
    return [Reading(*both, 0) for both in zip(ids, types, strict=True)]
