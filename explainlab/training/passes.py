"""Forward passes for training: logits at the positions that the head reads, a teacher's logits, and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.training.batches import padded

PREFIX_SHARES = (0.25, 0.5, 0.75, 1.0)
Report = Callable[[int, int, str], None]


def head_logits(model: nn.Module, causal: bool, inputs: Tensor, attention: Tensor) -> Tensor:
    """Class logits [batch, positions, classes]: at every position for a decoder, at a single one for an encoder."""
    device = next(model.parameters()).device
    batch = {"input_ids": inputs.to(device), "attention_mask": attention.to(device)}
    logits: Tensor
    if causal:
        backbone, head = cast(nn.Module, model.base_model), cast(nn.Module, model.score)
        logits = head(backbone(**batch, use_cache=False).last_hidden_state)
    else:
        logits = model(**batch).logits[:, None]
    return logits


def teacher_logits(
    teacher: Classifier, texts: Sequence[str], names: Sequence[str], batch_size: int, report: Report
) -> Tensor:
    """The teacher's logits [n, classes] for the whole texts, columns in the order of ``names``.

    Raises RequestError if the teacher's classes differ from ``names`` (in any order).
    """
    if set(teacher.labels) != set(names):
        raise RequestError(
            f"The teacher's classes are {', '.join(teacher.labels)}, the data's {', '.join(names)}.",
            "Name the data's classes as the teacher does, with label_names.",
        )
    columns = [teacher.labels.index(name) for name in names]
    logits = torch.empty(len(texts), len(names))
    for rows, batch, lengths in _read(teacher, texts, batch_size, "teacher", report):
        logits[rows] = _at_share(teacher, batch, lengths, 1.0)[:, columns]
    return logits


def measured_accuracy(
    classifier: Classifier, texts: Sequence[str], targets: Tensor, batch_size: int, report: Report
) -> dict[float, float]:
    """Accuracy after a share of each text's tokens: 0.25, 0.5, 0.75 and 1 for decoders, only 1 for encoders.

    ``targets`` are class indices, int64 [n].
    """
    hits = dict.fromkeys(PREFIX_SHARES if classifier.architecture.causal else (1.0,), 0)
    for rows, logits, lengths in _read(classifier, texts, batch_size, "evaluation", report):
        for share in hits:
            hits[share] += int((_at_share(classifier, logits, lengths, share).argmax(-1) == targets[rows]).sum())
    return {share: count / len(texts) for share, count in hits.items()}


def _at_share(classifier: Classifier, logits: Tensor, lengths: Tensor, share: float) -> Tensor:
    """Logits [batch, classes] after a ``share`` of each text's tokens (rounded up)."""
    if not classifier.architecture.causal:
        return logits[:, 0]
    return logits[torch.arange(len(logits)), (lengths * share).ceil().long() - 1]


@torch.no_grad()
def _read(
    classifier: Classifier, texts: Sequence[str], batch_size: int, phase: str, report: Report
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Batches sorted by length: row numbers, logits [batch, positions, classes] and lengths in tokens [batch]."""
    ids = classifier.tokenizer(list(texts), truncation=True, max_length=classifier.max_tokens).input_ids
    order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        inputs, attention = padded([ids[row] for row in rows], classifier.pad_id)
        logits = head_logits(classifier.model, classifier.architecture.causal, inputs, attention)
        yield rows, logits.cpu(), attention.sum(dim=1)
        report(start + len(rows), len(order), phase)
