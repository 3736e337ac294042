"""Forward passes for training: logits at the positions that the head reads, a teacher's logits, and predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

from explainlab.errors import RequestError
from explainlab.models.anatomy import SCORE
from explainlab.models.batching import part_size
from explainlab.models.classifier import Classifier
from explainlab.models.model import Model
from explainlab.training.batches import Tokens, tokenized
from explainlab.training.examples import Examples

Metric: TypeAlias = Literal["accuracy", "macro_f1", "micro_f1"]
PREFIX_SHARES = (0.25, 0.5, 0.75, 1.0)
Report = Callable[[int, int, str], None]


def parts(model: Model, batch: Mapping[str, Tensor], gradients: bool) -> Iterator[tuple[slice, dict[str, Tensor]]]:
    """Yield the parts of a ``batch`` that memory and seconds allow: the places of their texts, and their inputs.

    A part is padded to its own longest text.
    """
    lengths = batch["attention_mask"].sum(dim=1)
    size = part_size(model, int(lengths.max()), len(lengths), gradients)
    for first in range(0, len(lengths), size):
        rows = slice(first, first + size)
        longest = int(lengths[rows].max())
        yield rows, {name: tensor[rows, :longest] for name, tensor in batch.items()}


def head_logits(network: nn.Module, causal: bool, batch: dict[str, Tensor]) -> Tensor:
    """Return class logits [batch, positions, classes]: every position of a decoder, a single one of an encoder."""
    device = next(network.parameters()).device
    batch = {name: tensor.to(device) for name, tensor in batch.items()}
    logits: Tensor
    if causal:
        backbone, head = cast(nn.Module, network.base_model), cast(nn.Module, getattr(network, SCORE))
        logits = head(backbone(**batch, use_cache=False).last_hidden_state)
    else:
        logits = network(**batch).logits[:, None]
    return logits


def teacher_logits(
    teacher: Classifier, examples: Examples, names: Sequence[str], batch_size: int, report: Report
) -> Tensor:
    """Return the teacher's logits [n, classes] for the whole texts, columns in the order of ``names``.

    Raises RequestError if the teacher's classes differ from ``names`` (in any order).
    """
    if set(teacher.labels) != set(names):
        raise RequestError(
            f"The teacher's classes are {', '.join(teacher.labels)}, the data's {', '.join(names)}.",
            "Name the data's classes as the teacher does, with label_names.",
        )
    columns = [teacher.labels.index(name) for name in names]
    logits = torch.empty(len(examples), len(names), dtype=torch.float32)
    causal = teacher.architecture.causal
    reading = _read(teacher.model, causal, tokenized(teacher, examples), batch_size, "teacher", report)
    for rows, batch, lengths in reading:
        logits[rows] = _at_share(causal, batch, lengths, 1.0)[:, columns]
    return logits


def measured_accuracy(
    classifier: Classifier, examples: Examples, targets: Tensor, batch_size: int, report: Report
) -> dict[float, float]:
    """Measure accuracy after a share of each text's tokens: 0.25, 0.5, 0.75 and 1 for decoders, only 1 for encoders.

    ``targets`` are class indices, int64 [n].
    """
    causal = classifier.architecture.causal
    shares, tokens = PREFIX_SHARES if causal else (1.0,), tokenized(classifier, examples)
    found = predictions(classifier.model, causal, tokens, batch_size, "evaluation", report, shares)
    return {share: score("accuracy", predicted, targets) for share, predicted in found.items()}


def predictions(
    model: Model,
    causal: bool,
    tokens: Tokens,
    batch_size: int,
    phase: str,
    report: Report,
    shares: Sequence[float] = (1.0,),
) -> dict[float, Tensor]:
    """Return the predicted classes, int64 [n], after each of ``shares`` of every text's tokens."""
    found = {share: torch.empty(len(tokens.ids), dtype=torch.int64) for share in shares}
    for rows, logits, lengths in _read(model, causal, tokens, batch_size, phase, report):
        for share, predicted in found.items():
            predicted[rows] = _at_share(causal, logits, lengths, share).argmax(-1)
    return found


def score(metric: Metric, predicted: Tensor, targets: Tensor) -> float:
    """Return the ``metric`` of ``predicted`` classes, int64 [n], against the ``targets``, int64 [n].

    A macro F1 is the mean over the classes that occur in either; a micro F1 of one label a text is its accuracy.
    """
    if metric != "macro_f1":
        return int((predicted == targets).sum()) / len(targets)
    from sklearn.metrics import f1_score  # takes a second to import

    return float(f1_score(targets, predicted, average="macro"))


def _at_share(causal: bool, logits: Tensor, lengths: Tensor, share: float) -> Tensor:
    """Return logits [batch, classes] after a ``share`` of each text's tokens (rounded up)."""
    if not causal:
        return logits[:, 0]
    return logits[torch.arange(len(logits)), (lengths * share).ceil().long() - 1]


def _read(
    model: Model, causal: bool, tokens: Tokens, batch_size: int, phase: str, report: Report
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield batches sorted by length: row numbers, logits [batch, positions, classes] and lengths in tokens [batch]."""
    order = sorted(range(len(tokens.ids)), key=lambda row: len(tokens.ids[row]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        for part, batch in parts(model, tokens.batch(rows), gradients=False):
            with torch.no_grad():
                logits = head_logits(model.network, causal, batch).float().cpu()
            yield rows[part], logits, batch["attention_mask"].sum(dim=1)
            report(start + part.start + len(logits), len(order), phase)


class Timed:
    """A ``report`` whose time does not count: other jobs may have their turn inside it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since it was made, without the time inside the report."""
        return time.perf_counter() - self._started

    def __call__(self, done: int, total: int, phase: str) -> None:
        """Call the report."""
        start = time.perf_counter()
        self._report(done, total, phase)
        self._started += time.perf_counter() - start
