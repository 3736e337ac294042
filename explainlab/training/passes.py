"""Passes of models around a training: logits where a head reads, a teacher's answers, a saved model's accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.training.batches import padded

PREFIX_SHARES = (0.25, 0.5, 0.75, 1.0)
Report = Callable[[int, int, str], None]


def head_logits(model: nn.Module, causal: bool, inputs: Tensor, attention: Tensor) -> Tensor:
    """Class logits [batch, positions, classes]: of every position for a decoder, of one for an encoder."""
    batch = {"input_ids": inputs.to(model.device), "attention_mask": attention.to(model.device)}
    if causal:
        return model.score(model.base_model(**batch, use_cache=False).last_hidden_state)
    return model(**batch).logits[:, None]


def teacher_logits(
    teacher: Classifier, texts: Sequence[str], names: Sequence[str], batch_size: int, report: Report
) -> Tensor:
    """The teacher's logits [n, classes] for every whole text, columns in the order of ``names``.

    Raises RequestError if the teacher's classes are not ``names``, in whatever order.
    """
    if set(teacher.labels) != set(names):
        raise RequestError(
            f"The teacher's classes are {', '.join(teacher.labels)}, the data's {', '.join(names)}.",
            "Name the data's classes as the teacher does, with label_names.",
        )
    columns = [teacher.labels.index(name) for name in names]
    logits = torch.empty(len(texts), len(names))
    for rows, answers, lengths in _read(teacher, texts, batch_size, "teacher", report):
        logits[rows] = _at_share(teacher, answers, lengths, 1.0)[:, columns]
    return logits


def measured_accuracy(
    classifier: Classifier, texts: Sequence[str], targets: Tensor, batch_size: int, report: Report
) -> dict[float, float]:
    """Accuracy by the share of each text's tokens that is read: 25, 50, 75 and 100% for decoders, else 100% alone."""
    hits = dict.fromkeys(PREFIX_SHARES if classifier.architecture.causal else (1.0,), 0)
    for rows, logits, lengths in _read(classifier, texts, batch_size, "evaluation", report):
        for share in hits:
            hits[share] += int((_at_share(classifier, logits, lengths, share).argmax(-1) == targets[rows]).sum())
    return {share: count / len(texts) for share, count in hits.items()}


def _at_share(classifier: Classifier, logits: Tensor, lengths: Tensor, share: float) -> Tensor:
    """Logits [batch, classes] after a ``share`` of each text's tokens, rounded up."""
    if not classifier.architecture.causal:
        return logits[:, 0]
    return logits[torch.arange(len(logits)), (lengths * share).ceil().long() - 1]


@torch.no_grad()
def _read(
    classifier: Classifier, texts: Sequence[str], batch_size: int, phase: str, report: Report
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Run over the texts, sorted by length: row numbers, logits [batch, positions, classes] and lengths [batch]."""
    ids = classifier.tokenizer(list(texts), truncation=True, max_length=classifier.max_tokens).input_ids
    order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        inputs, attention = padded([ids[row] for row in rows], classifier.pad_id)
        logits = head_logits(classifier.model.network, classifier.architecture.causal, inputs, attention)
        yield rows, logits.cpu(), attention.sum(dim=1)
        report(start + len(rows), len(order), phase)
