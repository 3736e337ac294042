"""Train a small classifier from scratch, tokenizer included: the recipe behind the embedded models.

There are two recipes (:data:`RECIPES`): an encoder whose head reads ``[CLS]``, and a decoder whose head is trained at
*every* position, so that its predictions within a text are meaningful too. During training, random tokens are replaced
by the mask token, so that the masked inputs of attribution methods are in distribution.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from explainlab.errors import DataError, RequestError
from explainlab.models.devices import choose_device
from explainlab.models.loading import load_model
from explainlab.training.batches import masked, padded, position_weights, shuffled_batches
from explainlab.training.passes import Report, head_logits, measured_accuracy, teacher_logits
from explainlab.training.settings import TrainingSettings
from explainlab.training.tokenizers import train_byte_bpe, train_wordpiece


@dataclass(frozen=True)
class Recipe:
    """How to train a type of model: how its tokenizer is learned and its model built.

    ``causal``: the head (``model.score``) reads every position, and the last position predicts; ``defaults``: settings
    that differ from those of :class:`TrainingSettings`.
    """

    build_tokenizer: Callable[[Sequence[str], int, int], PreTrainedTokenizerFast]
    build_model: Callable[[TrainingSettings, PreTrainedTokenizerFast, dict[str, Any]], PreTrainedModel]
    causal: bool
    defaults: dict[str, Any]


@dataclass(frozen=True)
class Trained:
    """The result of training.

    ``accuracy`` of the saved weights on the held-out texts (None without these); ``prefix_accuracy``, for decoders,
    after 0.25, 0.5, 0.75 and 1 of each text's tokens; ``steps`` of the optimizer; ``seconds`` of wall time;
    ``parameters``, the number of weights.
    """

    accuracy: float | None
    prefix_accuracy: dict[float, float]
    steps: int
    seconds: float
    parameters: int


def _bert(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """A BERT with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.width,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=4 * settings.width,
            max_position_embeddings=settings.max_tokens,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=0.0,
            classifier_dropout=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            **classes,
        )
    )


def _gpt2(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """A GPT-2 with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
    return GPT2ForSequenceClassification(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=settings.width,
            n_layer=settings.layers,
            n_head=settings.heads,
            n_positions=settings.max_tokens,
            resid_pdrop=settings.dropout,
            embd_pdrop=settings.dropout,
            attn_pdrop=0.0,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **classes,
        )
    )


RECIPES = {
    "bert": Recipe(train_wordpiece, _bert, causal=False, defaults={}),
    "gpt2": Recipe(
        train_byte_bpe,
        _gpt2,
        causal=True,
        defaults={"epochs": 3, "batch_size": 32, "learning_rate": 8e-4, "width": 192, "heads": 6, "max_tokens": 256},
    ),
}


def settings_for(architecture: str, /, **given: object) -> TrainingSettings:
    """The settings ``given``; for the others the architecture's defaults, then the general ones.

    Raises RequestError for an unknown architecture, an unknown setting or a value out of range.
    """
    return TrainingSettings.checked({**_recipe(architecture).defaults, **given})


def train(
    texts: Sequence[str],
    labels: Sequence[str],
    architecture: str,
    out: str | Path,
    settings: TrainingSettings | None = None,
    *,
    held_out: tuple[Sequence[str], Sequence[str]] | None = None,
    device: str | None = None,
    report: Report = lambda done, total, phase: None,
) -> Trained:
    """Train a classifier on ``texts`` and save it, in float16, as the new directory ``out``.

    A label is a class name or its index in ``settings.label_names``. The accuracy on ``held_out`` (texts, labels) is
    measured after saving. ``report(done, total, phase)`` is called after every batch; an exception from it ends the
    training, and no files remain. The same texts, settings and machine give the same weights.

    Raises RequestError for an unknown architecture, an ``out`` that is not empty or a teacher with other classes;
    ModelError for a teacher that cannot be loaded; DataError for missing or empty texts, unknown labels or fewer than
    two classes.
    """
    started = time.perf_counter()
    recipe = _recipe(architecture)
    settings = settings or settings_for(architecture)
    out = Path(out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise RequestError(f"The output directory {out} exists and is not empty.", "Name a new directory.")
    names = settings.label_names or tuple(sorted({str(label) for label in labels}))
    targets = _class_indices(texts, labels, names)
    if len(set(targets.tolist())) < 2:
        raise DataError("The data has fewer than two different labels.", "Check the label column.")
    held = (held_out[0], _class_indices(*held_out, names)) if held_out else None
    teacher = load_model(settings.teacher, device) if settings.teacher else None
    teacher_scores = teacher_logits(teacher, texts, names, settings.batch_size, report) if teacher else None
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        report(0, 1, "tokenizer")
        tokenizer = recipe.build_tokenizer(texts, settings.vocabulary, settings.max_tokens)
        classes = {"id2label": dict(enumerate(names)), "label2id": {name: i for i, name in enumerate(names)}}
        model = recipe.build_model(settings, tokenizer, classes)
        nn.Module.to(model, choose_device(device))
        steps = _fit(model, tokenizer, recipe.causal, texts, targets, teacher_scores, settings, report)
    with _new_directory(out) as directory:
        model.half().save_pretrained(directory)
        tokenizer.save_pretrained(directory)
        accuracy: dict[float, float] = {}
        if held:
            classifier = load_model(str(directory), device)
            accuracy = measured_accuracy(classifier, *held, settings.batch_size, report)
    return Trained(
        accuracy=accuracy.get(1.0),
        prefix_accuracy=accuracy if recipe.causal else {},
        steps=steps,
        seconds=time.perf_counter() - started,
        parameters=model.num_parameters(),
    )


@contextmanager
def _new_directory(out: Path) -> Iterator[Path]:
    """A temporary directory that replaces ``out`` when the block ends, and is deleted if the block raises."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=".training-") as folder:
        directory = Path(folder) / out.name
        directory.mkdir()
        yield directory
        directory.replace(out)


def _recipe(name: str) -> Recipe:
    """The recipe called ``name``; raises RequestError if there is none."""
    if name not in RECIPES:
        raise RequestError(f"Unknown architecture {name!r}.", f"Known: {', '.join(RECIPES)}.")
    return RECIPES[name]


def _class_indices(texts: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> Tensor:
    """Class indices, int64 [n], of ``labels``, each a class name or its index in ``names``."""
    if not texts or len(texts) != len(labels):
        raise DataError(f"{len(texts)} texts with {len(labels)} labels.", "Give every text one label.")
    known = {str(i): i for i in range(len(names))} | {name: i for i, name in enumerate(names)}
    for row, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        if not text.strip():
            raise DataError(f"The text of row {row} is empty.", "Remove it.")
        if str(label) not in known:
            raise DataError(f"Row {row} has the unknown label {label!r}.", f"Known: {', '.join(names)}.")
    return torch.tensor([known[str(label)] for label in labels])


def _fit(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    causal: bool,
    texts: Sequence[str],
    targets: Tensor,
    teacher: Tensor | None,
    settings: TrainingSettings,
    report: Report,
) -> int:
    """Train ``model`` in place; returns the number of steps. ``teacher``: its logits [n, classes], or None."""
    ids = tokenizer(list(texts), truncation=True).input_ids
    specials = torch.tensor(tokenizer.all_special_ids)
    generator = torch.Generator().manual_seed(settings.seed)
    total = settings.epochs * math.ceil(len(texts) / settings.batch_size)
    optimizer, schedule = _optimizer(model, settings, total)
    model.train()
    batches = (b for _ in range(settings.epochs) for b in shuffled_batches(ids, settings.batch_size, generator))
    for step, rows in enumerate(batches, start=1):
        inputs, attention = padded([ids[row] for row in rows], tokenizer.pad_token_id)
        inputs = masked(inputs, ~torch.isin(inputs, specials), tokenizer.mask_token_id, settings, generator)
        weights = position_weights(attention, settings.prefix_weight) if causal else torch.ones(len(rows), 1)
        logits = head_logits(model, causal, inputs, attention)
        loss = _loss(logits, targets[rows], None if teacher is None else teacher[rows], settings)
        ((weights.to(loss.device) * loss).sum() / len(rows)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        report(step, total, "training")
    return total


def _optimizer(model: PreTrainedModel, settings: TrainingSettings, total: int) -> tuple[AdamW, LambdaLR]:
    """AdamW (no decay on biases and norms); the rate warms up linearly, then falls as a cosine to zero at ``total``."""
    warmup = max(1, round(settings.warmup * total))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = AdamW(groups, lr=settings.learning_rate, fused=True)
    return optimizer, LambdaLR(optimizer, factor)


def _loss(logits: Tensor, targets: Tensor, teacher: Tensor | None, settings: TrainingSettings) -> Tensor:
    """Loss [batch, positions]: cross entropy with the label, mixed with the divergence from the teacher's softened
    probabilities (times temperature squared, which keeps the gradients' scale).

    ``logits`` [batch, positions, classes]; ``targets`` int64 [batch]; ``teacher``: logits [batch, classes], or None.
    """
    every = targets.to(logits.device)[:, None].expand(logits.shape[:2])
    hard = functional.cross_entropy(logits.transpose(1, 2), every, reduction="none")
    if teacher is None:
        return hard
    soft_targets = functional.log_softmax(teacher.to(logits.device)[:, None] / settings.temperature, dim=-1)
    predicted = functional.log_softmax(logits / settings.temperature, dim=-1)
    soft = functional.kl_div(predicted, soft_targets.expand_as(predicted), reduction="none", log_target=True).sum(-1)
    return (1 - settings.distillation) * hard + settings.distillation * settings.temperature**2 * soft
