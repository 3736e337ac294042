"""Model passes of methods over many texts at once: values, gradients and attention.

Every function takes subjects of one classifier and returns a result for each, in order. Passes run in batches of
similar length (:mod:`explainlab.attribution.batch`) and are counted with their subjects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor

from explainlab.attribution.batch import Batch, stream
from explainlab.metrics.distinct import note_key, recall_predictions, token_digest, tokens_of
from explainlab.models.replay import Layer, record

if TYPE_CHECKING:
    from explainlab.attribution.subject import Subject

T = TypeVar("T")
Points = Callable[[slice], Tensor]
"""Word embeddings [k, N, d] of the points of a slice, made when their batch is due."""


def logits_of(
    subjects: Sequence[Subject], points: Sequence[Points], counts: Sequence[int], phase: str
) -> list[np.ndarray]:
    """Return logits float64 [counts[i], classes] of every subject: one forward pass per point."""
    result = [np.empty((count, len(subjects[0].classifier.labels))) for count in counts]

    def run(batch: Batch) -> None:
        embeddings = batch.stacked([points[part.number](part.points) for part in batch.parts])
        with torch.no_grad():
            logits = batch.classifier.finite(batch.classifier.logits(batch.inputs, embeddings, batch.prefix()))
        batch.count(forward=1)
        for part in batch.parts:
            result[part.number][part.points] = logits[part.rows]

    _exhaust(stream(subjects, counts, run, gradients=False, phase=phase))
    return result


def read_originals(subjects: Sequence[Subject]) -> None:
    """Give every subject the logits of its text: one forward pass each, unless already known for the text.

    A repeated subject is read once. A pass that the context remembers is counted and not made.
    """
    unread = _unremembered([subject for subject in dict.fromkeys(subjects) if not subject.recalls()])
    points = [lambda _, subject=subject: subject.embeddings[None] for subject in unread]
    for subject, logits in zip(unread, logits_of(unread, points, [1] * len(unread), "prediction"), strict=True):
        subject.see(logits[0])


def _unremembered(subjects: Sequence[Subject]) -> list[Subject]:
    """Return the ``subjects`` whose text is not in the context's memory; give the others their logits."""
    if not subjects:
        return []
    texts = [tokens_of(subject.encoding) for subject in subjects]
    keys = [note_key(subjects[0].classifier, tokens.tobytes()) for tokens in texts]
    notes, missing = recall_predictions(subjects[0].context, keys), []
    for subject, tokens, key in zip(subjects, texts, keys, strict=True):
        logits = notes[key].get(token_digest(tokens))
        if logits is None:
            missing.append(subject)
        else:
            subject.see(logits)
            subject.forward += 1
    return missing


def read_label_shares(subjects: Sequence[Subject]) -> None:
    """Give every subject of a language model its label share and, by the same pass, the logits of its text.

    A text is read once; the pass is counted with each of its subjects.
    """
    prompted = [subject for subject in subjects if subject.classifier.architecture.is_generative]
    if not prompted:
        return
    readers = list({subject.text: subject for subject in prompted}.values())

    def run(batch: Batch) -> None:
        logits, shares = batch.classifier.next_token(batch.inputs)
        batch.count(forward=1)
        rows = zip(batch.parts, batch.classifier.finite(logits), shares.tolist(), strict=True)
        for part, own, share in rows:
            part.subject.see(own, share)

    with readers[0].batcher.span(0, 0, 1):  # the steps below report the progress
        _exhaust(stream(readers, [1] * len(readers), run, gradients=False, phase="prediction"))
    for subject in prompted:
        subject.recalls()


def fix_targets(subjects: Sequence[Subject]) -> None:
    """Read the texts whose predicted class is the target."""
    read_originals([subject for subject in subjects if subject.explains_prediction])


def values(subjects: Sequence[Subject], points: Sequence[Tensor]) -> list[np.ndarray]:
    """Return float64 [k]: the explained scalar of every subject at its ``points`` [k, N, d].

    A text not seen yet joins the batch. Points equal to the text are not run: they have its score.
    """
    others = [~(own == s.embeddings).flatten(1).all(dim=1) for s, own in zip(subjects, points, strict=True)]
    seen = [subject.recalls() for subject in subjects]
    pending = [
        own[other] if known else torch.cat([own[other], subject.embeddings[None]])
        for subject, own, other, known in zip(subjects, points, others, seen, strict=True)
    ]
    made = [lambda part, rows=rows: rows[part] for rows in pending]
    logits = logits_of(subjects, made, [len(rows) for rows in pending], "forward passes")
    scalars = []
    for subject, rows, other, known in zip(subjects, logits, others, seen, strict=True):
        if not known:
            subject.see(rows[-1])
        complete = np.repeat(subject.original[None], len(other), axis=0)
        complete[other.cpu().numpy()] = rows if known else rows[:-1]
        scalars.append(subject.scalar(complete))
    return scalars


def masked(subjects: Sequence[Subject], keep: Sequence[np.ndarray], baseline: str) -> list[np.ndarray]:
    """Return float64 [K]: the explained scalar of K versions of every text, with the features ``keep`` bool [K,
    n_content].

    Equal versions are run once, and the original text only if it has not been seen.
    """
    distinct, back = [], []
    for stays in keep:
        whole = np.ones((1, stays.shape[1]), dtype=bool)
        rows, places = np.unique(np.concatenate([stays, whole]), axis=0, return_inverse=True)
        distinct.append(rows)
        back.append(places[: len(stays)])
    seen = [subject.recalls() for subject in subjects]
    points = [subject.versions(rows, baseline) for subject, rows in zip(subjects, distinct, strict=True)]
    pending = [len(rows) - known for rows, known in zip(distinct, seen, strict=True)]  # the original text sorts last
    scalars = []
    logits = logits_of(subjects, points, pending, "masked texts")
    for subject, rows, places, known in zip(subjects, logits, back, seen, strict=True):
        if not known:
            subject.see(rows[-1])
        scalars.append(subject.scalar(np.concatenate([rows, subject.original[None]]) if known else rows)[places])
    return scalars


def text_gradients(
    subjects: Sequence[Subject],
    reduce: Callable[[Tensor, Tensor], Tensor],
    rules: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> list[np.ndarray]:
    """Return float64 [N, k] of every subject: ``reduce`` of the embeddings and gradients at the text itself.

    ``reduce`` gets both as [B, N, d] and returns float64 [B, N, k]. The same pass fixes the targets. The model runs
    inside ``rules``, which may change how gradients flow back.
    """
    reduced_gradients: list[np.ndarray] = [np.empty(0)] * len(subjects)

    def run(batch: Batch) -> None:
        embeddings = batch.texts().requires_grad_()
        with rules():
            logits = batch.classifier.logits(batch.inputs, embeddings)
        batch.see(logits)
        (gradient,) = torch.autograd.grad(batch.explained(logits).sum(), embeddings)
        batch.count(forward=1, backward=1)
        reduced = reduce(embeddings.detach(), gradient).cpu().numpy()
        for part in batch.parts:
            reduced_gradients[part.number] = part.own(reduced)[0]

    _exhaust(stream(subjects, [1] * len(subjects), run, gradients=True, phase="gradient"))
    return reduced_gradients


def attention_maps(subjects: Sequence[Subject], read: Callable[[Subject, np.ndarray], T]) -> list[T]:
    """Return ``read(subject, maps)`` of every subject; one pass each, which fixes the targets.

    Maps are float64 [layers, N, N]: attention probabilities on the text itself, the mean of each layer's heads.
    """

    def means(batch: Batch) -> list[Tensor]:
        maps, logits = batch.classifier.attention_maps(batch.inputs)
        batch.see(logits)
        batch.count(forward=1)
        return [layer.float().mean(dim=1) for layer in maps]

    return _attention(subjects, means, read)


def attention_gradients(
    subjects: Sequence[Subject],
    weigh: Callable[[Tensor, Tensor], Tensor],
    read: Callable[[Subject, np.ndarray], T],
) -> list[T]:
    """Return ``read(subject, weights)`` of every subject; one pass each way on the text, which fixes the targets.

    Weights are float64 [layers, N, N], bottom layer first: ``weigh`` turns a layer's attention probabilities and the
    explained scalar's gradient there, both [B, heads, N, N], into [B, N, N].
    """

    def weights(batch: Batch) -> list[Tensor]:
        maps, logits = batch.classifier.attention_maps(batch.inputs, batch.texts().requires_grad_())
        batch.see(logits)
        gradients = torch.autograd.grad(batch.explained(logits).sum(), maps)
        batch.count(forward=1, backward=1)
        return [weigh(layer.detach(), gradient) for layer, gradient in zip(maps, gradients, strict=True)]

    return _attention(subjects, weights, read)


def recordings(subjects: Sequence[Subject], read: Callable[[Subject, Sequence[Layer], int], T]) -> list[T]:
    """Return ``read(subject, layers, row)`` of every subject; one pass each on the text, which fixes the targets.

    The text is ``row`` of the recorded layers of its batch, the bottom one first; it may be padded there.
    """
    results: dict[int, T] = {}

    def run(batch: Batch) -> None:
        with torch.no_grad():
            layers, logits = record(batch.classifier, batch.inputs)
            batch.see(logits)
            batch.count(forward=1)
            for part in batch.parts:
                results[part.number] = read(part.subject, layers, part.rows.start)

    # gradients=True: every layer's states and probabilities stay in memory
    _exhaust(stream(subjects, [1] * len(subjects), run, gradients=True, phase="attention"))
    return [results[i] for i in range(len(subjects))]


def _attention(
    subjects: Sequence[Subject], weights: Callable[[Batch], list[Tensor]], read: Callable[[Subject, np.ndarray], T]
) -> list[T]:
    results: dict[int, T] = {}

    def run(batch: Batch) -> None:
        each = [layer.to(batch.classifier.device) for layer in weights(batch)]
        layers = torch.stack(each, dim=1).cpu().double().numpy()
        for part in batch.parts:
            length = len(part.subject.encoding)
            results[part.number] = read(part.subject, layers[part.rows.start, :, :length, :length])

    # gradients=True: every layer's probabilities stay in memory
    _exhaust(stream(subjects, [1] * len(subjects), run, gradients=True, phase="attention"))
    return [results[i] for i in range(len(subjects))]


def _exhaust(batches: Iterator[object]) -> None:
    for _ in batches:
        pass
