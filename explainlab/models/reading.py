"""Many texts at once: tokenised together and run in batches of similar length, without data for explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from explainlab.errors import TextError
from explainlab.limits import Limits
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs, Tokens, Unpadded
from explainlab.text.encoding import length_before, markers, panics_told, require_readable, unknown_count

Text = tuple[str, str | None]
"""A text and the second text of its pair, if any."""


@dataclass(frozen=True, eq=False)
class Reading(Unpadded):
    """A text of N tokens as a model reads it; ``cut`` more did not fit.

    ``unknown`` of its ``content`` tokens, those of the text itself, are unknown to the tokenizer; ``prompt`` tokens
    belong to the prompt.
    """

    cut: int
    content: int
    unknown: int
    prompt: int = 0


def read_all(classifier: Classifier, texts: Sequence[Text]) -> list[Reading | TextError]:
    """Tokenise every text as :meth:`Classifier.encode` does; return its ids, or the error that this raises."""
    if classifier.prompt:
        return [_alone(classifier, text) for text in texts]
    errors = [_refusal(text, classifier.limits) for text in texts]
    readings: dict[int, Reading | TextError] = {i: error for i, error in enumerate(errors) if error}
    for paired in (False, True):
        group = [i for i, text in enumerate(texts) if not errors[i] and (text[1] is not None) == paired]
        readings |= zip(group, _tokenised(classifier, [texts[i] for i in group]), strict=True)
    return [readings[i] for i in range(len(texts))]


def logits_of(batcher: Batcher, texts: Sequence[Tokens], phase: str, done: int, total: int) -> np.ndarray:
    """Return logits float64 [n, classes] of one forward pass per text, in batches of similar length, the longest first.

    Progress counts from ``done`` to ``total``. Raises :class:`explainlab.errors.ResourceError` for a text that does not
    fit into the memory, :class:`explainlab.errors.ModelError` for scores that are not finite.
    """
    classifier = batcher.classifier
    logits = np.empty((len(texts), len(classifier.labels)))

    def run(rows: np.ndarray, inputs: Inputs) -> None:
        with torch.no_grad():
            logits[rows] = classifier.finite(classifier.logits(inputs))

    _longest_first(batcher, texts, run, phase, done, total)
    return logits


def next_tokens_of(
    batcher: Batcher, texts: Sequence[Tokens], phase: str, done: int, total: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`logits_of` and the label shares float64 [n]; NaN if the model is no language model.

    See :meth:`Classifier.next_token`: it computes the logits of the whole vocabulary.
    """
    classifier, shares = batcher.classifier, np.full(len(texts), np.nan)
    if not classifier.architecture.is_generative:
        return logits_of(batcher, texts, phase, done, total), shares
    logits = np.empty((len(texts), len(classifier.labels)))

    def run(rows: np.ndarray, inputs: Inputs) -> None:
        own, share = classifier.next_token(inputs)
        logits[rows], shares[rows] = classifier.finite(own), share.cpu().numpy()

    _longest_first(batcher, texts, run, phase, done, total)
    return logits, shares


def _longest_first(
    batcher: Batcher,
    texts: Sequence[Tokens],
    run: Callable[[np.ndarray, Inputs], None],
    phase: str,
    done: int,
    total: int,
) -> None:
    """Call ``run`` with every batch of ``texts``: their places, int64 [B], and the batch.

    The texts of a batch have the same number of end tokens: see :meth:`Classifier.end_count`.
    """
    classifier, lengths = batcher.classifier, np.array([len(text) for text in texts])
    ends = np.array([classifier.end_count(np.asarray(text.ids)) for text in texts])
    for count in np.unique(ends):
        places = np.flatnonzero(ends == count)
        order = places[np.argsort(-lengths[places], kind="stable")]

        def batch(part: slice, order: np.ndarray = order) -> None:
            run(order[part], classifier.inputs([texts[i] for i in order[part]]))

        for _ in batcher.over(lengths[order], batch, gradients=False, phase=phase, done=done, total=total):
            pass
        done += len(order)


def _alone(classifier: Classifier, text: Text) -> Reading | TextError:
    try:
        encoding = classifier.encode(*text)
    except TextError as error:
        return error
    ids, special = encoding.ids.tolist(), encoding.special.tolist()
    unknown, prompt = (
        unknown_count(classifier.tokenizer.unk_token_id, ids, special),
        sum(p is not None for p in encoding.prompt),
    )
    return Reading(ids, encoding.types.tolist(), encoding.cut, special.count(False), unknown, prompt)


def _refusal(text: Text, limits: Limits) -> TextError | None:
    try:
        require_readable(*text, limits)
    except TextError as error:
        return error
    return None


def _tokenised(classifier: Classifier, texts: Sequence[Text]) -> list[Reading | TextError]:
    """Tokenise readable texts, all with a second text or all without."""
    if not texts:
        return []
    limit = classifier.max_tokens
    readings, lengths = _read(classifier, texts)
    long = [i for i, length in enumerate(lengths) if length > limit]
    if long:
        kept = _read(classifier, [texts[i] for i in long], truncation=True, max_length=limit)
        for i, reading, length in zip(long, *kept, strict=True):
            readings[i] = replace(reading, cut=lengths[i] - length)
    return [
        reading if reading.content else _alone(classifier, text) for text, reading in zip(texts, readings, strict=True)
    ]


def _read(classifier: Classifier, texts: Sequence[Text], **options: Any) -> tuple[list[Reading], list[int]]:
    """Return the texts up to the token that the head reads last, and the number of tokens of each whole text."""
    first, second = (list(column) for column in zip(*texts, strict=True))
    with classifier.tokenizer_lock, panics_told():
        tokens = classifier.tokenizer(
            first, None if second[0] is None else second, return_special_tokens_mask=True, verbose=False, **options
        )
    unknown, special = classifier.tokenizer.unk_token_id, markers(classifier.tokenizer)
    ids = tokens["input_ids"]
    types = tokens.get("token_type_ids") or [[0] * len(row) for row in ids]
    readings = []
    for row, kinds, added in zip(ids, types, tokens["special_tokens_mask"], strict=True):
        stop = length_before(classifier.model.padding_read, row)
        read = row[:stop]
        readings.append(
            Reading(
                read,
                kinds[:stop],
                cut=0,
                content=sum(token not in special for token in read),
                unknown=unknown_count(unknown, read, added[:stop]),
            )
        )
    return readings, list(map(len, ids))
