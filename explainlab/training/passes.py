"""Batches for training, padded and masked at random, and forward passes over them: logits and predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Literal, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from explainlab.errors import RequestError
from explainlab.models.anatomy import SCORE
from explainlab.models.batching import part_size
from explainlab.models.classifier import Classifier
from explainlab.models.model import Model
from explainlab.text.encoding import panics_told
from explainlab.text.prompt import ids_within
from explainlab.training.examples import Examples
from explainlab.training.settings import TrainingSettings
from explainlab.training.start import Start


@dataclass(frozen=True)
class Masked:
    """Tokens that ``token`` replaces, as positions in each of the ``examples`` and in each text of ``validation``.

    Without positions nothing is masked.
    """

    token: int = 0
    examples: Sequence[Sequence[int]] = ()
    validation: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class Tokens:
    """Token ids of n texts, and for pairs the segment of every token (else None); ``pad_id`` fills up a batch.

    ``own``: True for the texts' own tokens if there is a prompt (else None: all but special tokens).
    """

    ids: list[list[int]]
    types: list[list[int]] | None
    pad_id: int
    own: list[list[bool]] | None = None

    def masked(self, positions: Sequence[Sequence[int]], token: int) -> Tokens:
        """Return the same tokens with ``token`` at the ``positions`` of every text."""
        ids = [list(row) for row in self.ids]
        for row, places in zip(ids, positions, strict=bool(positions)):
            for place in places:
                row[place] = token
        return replace(self, ids=ids)

    def batch(self, rows: Sequence[int]) -> dict[str, Tensor]:
        """Return the inputs of these rows by their names in transformers, int64 [batch, longest]."""
        inputs, attention = padded([self.ids[row] for row in rows], self.pad_id)
        batch = {"input_ids": inputs, "attention_mask": attention}
        if self.types:
            batch["token_type_ids"], _ = padded([self.types[row] for row in rows], 0)
        return batch

    def content(self, rows: Sequence[int], special: Tensor) -> Tensor:
        """Return bool [batch, longest]: the texts' own tokens, without the ids ``special``."""
        ids, attention = padded([self.ids[row] for row in rows], self.pad_id)
        content = ~torch.isin(ids, special) & attention.bool()
        if self.own:
            own, _ = padded([[int(owned) for owned in self.own[row]] for row in rows], 0)
            content &= own.bool()
        return content

    def masked_at_random(self, special: Tensor, token: int, seed: int) -> Tokens:
        """Return the same tokens with ``token`` in place of a share of each text's own tokens, drawn between none and
        all.
        """
        generator = torch.Generator().manual_seed(seed)
        places = []
        for row in range(len(self.ids)):
            drawn = torch.rand(1 + len(self.ids[row]), generator=generator)
            places.append(((drawn[1:] < drawn[0]) & self.content([row], special)[0]).nonzero().flatten().tolist())
        return self.masked(places, token)


def tokenized(model: Classifier | Start, examples: Examples) -> Tokens:
    """Tokenise all ``examples`` as ``model`` does; longer ones are cut to its most tokens.

    Raises :class:`TextError` for a text without room beside the prompt.
    """
    if model.prompt:
        parts = zip(examples.texts, examples.pairs or repeat(None), strict=False)
        read = [ids_within(model.tokenizer, model.prompt, *part, model.max_tokens) for part in parts]
        return Tokens([ids for ids, _ in read], None, model.pad_id, [own for _, own in read])
    texts = (list(examples.texts), list(examples.pairs)) if examples.pairs else (list(examples.texts),)
    with panics_told():
        encoded = model.tokenizer(*texts, truncation=True, max_length=model.max_tokens)
    return Tokens(encoded["input_ids"], encoded.get("token_type_ids") if examples.pairs else None, model.pad_id)


def shuffled_batches(ids: list[list[int]], size: int, generator: torch.Generator) -> Iterator[list[int]]:
    """Return batches of row numbers for one epoch: in random order, with texts of similar length together to save
    padding.
    """
    order = torch.randperm(len(ids), generator=generator).tolist()
    pool = 50 * size
    pools = (sorted(order[i : i + pool], key=lambda row: len(ids[row])) for i in range(0, len(order), pool))
    batches = [rows[i : i + size] for rows in pools for i in range(0, len(rows), size)]
    for i in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[i]


def padded(ids: list[list[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return right-padded ids and attention mask, both int64 of shape [batch, longest]."""
    lengths = torch.tensor([len(row) for row in ids])
    inputs = pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=pad)
    return inputs, (torch.arange(inputs.shape[1]) < lengths[:, None]).long()


def masked(
    inputs: Tensor, content: Tensor, mask: int, settings: TrainingSettings, generator: torch.Generator
) -> Tensor:
    """Return ``inputs`` [batch, n] with random ``content`` tokens replaced by ``mask``.

    The share of masked tokens is drawn for each text: between 0 and ``mask_share``, or with probability ``heavy_mask``
    between 0 and 1. With ``masking`` it is between 0 and 1 for a random half of the texts, and 0 for the others; of an
    odd number the one in the middle falls to either by chance. ``content`` is bool [batch, n].
    """

    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float32)

    share = draw(len(inputs), 1)
    if settings.masking:
        order = torch.randperm(len(inputs), generator=generator)[:, None]
        share = torch.where(order < (len(inputs) / 2 + draw(1)).floor(), 0.0, share)
        return inputs.masked_fill((draw(*inputs.shape) < share) & content, mask)
    heavy = draw(len(inputs), 1) < settings.heavy_mask
    share = torch.where(heavy, share, share * settings.mask_share)
    return inputs.masked_fill((draw(*inputs.shape) < share) & content, mask)


def position_weights(attention: Tensor, prefix_weight: float) -> Tensor:
    """Return weights [batch, n] that sum to 1 for each text: ``prefix_weight`` over all positions, the rest on the
    last.
    """
    lengths = attention.sum(dim=1, keepdim=True)
    last = torch.arange(attention.shape[1]) == lengths - 1
    return prefix_weight * attention / lengths + (1 - prefix_weight) * last


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
