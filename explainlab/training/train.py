"""Training of classifiers that are saved: from random weights, tokenizer included, or from a base model.

A decoder's head is trained at *every* position where the recipe says so, so that its predictions within a text are
meaningful too, and random tokens are replaced by the mask token, so that the masked inputs of attribution methods are
in distribution: the recipe behind the embedded models. Others are those that papers fine-tune with. ``masking``, which
goes with any of them, is the fine-tuning of Madsen et al. 2023 (arXiv 2310.07819), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from explainlab.data import as_named
from explainlab.errors import DataError, RequestError
from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.devices import choose_device, training_seconds
from explainlab.models.loading import load_model, model_digest
from explainlab.models.modes import own_modes, rounding
from explainlab.reader import ANYBODY, Reader
from explainlab.request import digest
from explainlab.text.encoding import markers
from explainlab.training.architectures import ARCHITECTURES, vectors_digest
from explainlab.training.checkpoint import Checkpoints, Epoch, cannot_write, clear
from explainlab.training.examples import Examples, read_examples
from explainlab.training.fit import Diverged, OwnRandom, Training
from explainlab.training.passes import (
    Masked,
    Report,
    Timed,
    Tokens,
    measured_accuracy,
    predictions,
    score,
    teacher_logits,
    tokenized,
)
from explainlab.training.settings import TrainingSettings
from explainlab.training.start import Start, class_names, note_masks, note_pairs, settings_for, starting_point

_MEASURED = 32
"""Texts in a batch that only measures accuracy."""


@dataclass(frozen=True)
class Trained:
    """The result of training.

    ``accuracy`` of the saved weights on the held-out texts (None without these); ``prefix_accuracy``, for decoders,
    after 0.25, 0.5, 0.75 and 1 of each text's tokens; ``steps`` of the optimizer; ``seconds`` of work, also before it
    was stopped, without those inside ``report``; ``parameters``, the number of weights; ``epochs`` with their loss and
    validation; ``best_epoch``, whose weights are saved. Where a model of whole words begins with vectors: how many
    ``words`` it knows, marks included, and how many of them ``words_with_vectors``.
    """

    accuracy: float | None
    prefix_accuracy: dict[float, float]
    steps: int
    seconds: float
    parameters: int
    epochs: list[Epoch]
    best_epoch: int
    words: int | None = None
    words_with_vectors: int | None = None


@dataclass(frozen=True)
class _Saving:
    """The place and the format of a saved network."""

    out: Path
    start: Start
    float16: bool

    @contextmanager
    def directory(self) -> Iterator[Path]:
        """Yield the saved model in a temporary directory, which becomes ``out`` if the block ends without an error."""
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self.out.parent, prefix=".training-") as folder:
                directory = Path(folder) / self.out.name
                network = self.start.network.half() if self.float16 else self.start.network
                (self.start.adapter or network).save_pretrained(directory)
                self.start.tokenizer.model_max_length = self.start.max_tokens
                self.start.tokenizer.save_pretrained(directory)
                yield directory
                directory.replace(self.out)
        except (OSError, SafetensorError) as error:
            raise cannot_write(self.out.parent, error) from error


@own_modes()
def train(
    examples: Examples,
    base: str,
    out: str | Path,
    settings: TrainingSettings | None = None,
    *,
    validation: Examples | None = None,
    held_out: Examples | None = None,
    masked: Masked | None = None,
    checkpoints: Path | None = None,
    device: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    report: Report = lambda done, total, phase: None,
) -> Trained:
    """Train a classifier on ``examples`` and save it as the new directory ``out``.

    ``base`` is an architecture (:data:`ARCHITECTURES`), which begins with random weights, or the id of a model. A label
    is a class name or its index. Each epoch is measured on ``validation`` (or on the settings' share of the examples),
    and the best one is saved. The accuracy on ``held_out`` is measured after saving. ``masked`` selects the tokens of
    the examples, and of ``validation``, that are hidden; random weights begin as without it.

    ``report(done, total, phase)`` is called after every batch; an exception from it ends the training, and no files
    remain but the ``checkpoints``. This folder keeps the last epoch and the best one, and a training with the same
    arguments continues from there, to the same weights. They stay after the end, until the caller has stored the model
    and clears them (:func:`explainlab.training.checkpoint.clear`). Code in ``report`` does not affect the training,
    even if it draws random numbers. The same arguments and machine give the same weights.

    Raises RequestError for an ``out`` that is not empty, the checkpoints of another training, a teacher with other
    classes or more work than ``limits`` allow; ModelError for a base or a teacher that cannot be loaded; DataError for
    missing or empty texts, unknown labels, fewer than two classes or pairs mixed with single texts; ResourceError for
    weights that cannot be written; :class:`Diverged` for a loss that is not finite, after the best of the epochs
    before, if any, was saved.
    """
    report = Timed(report)
    settings, out = settings or settings_for(base), Path(out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise RequestError(f"The output directory {out} exists and is not empty.", "Name a new directory.")
    identity = training_digest(examples, base, settings, device, validation, masked)
    names = class_names(base, examples, settings)
    share = settings.validation_share
    if validation is None and share:
        examples.classes(names)
        examples, validation = examples.parted(share, settings.seed)
    targets = examples.classes(names)
    if len(set(targets.tolist())) < 2:
        raise DataError("The data has fewer than two different labels.", "Check the label column.")
    held = (held_out, held_out.classes(names, examples)) if held_out else None
    checked = (validation, validation.classes(names, examples)) if validation else None
    teacher = load_model(settings.teacher, device) if settings.teacher else None
    scores = teacher_logits(teacher, examples, names, settings.batch_size, report) if teacher else None
    place = choose_device(device)
    random = OwnRandom(settings.seed, place)
    report(0, 1, "tokenizer")
    with random.drawing():
        start = starting_point(base, examples, names, settings)
        note_pairs(start.network.config, bool(examples.pairs))
        note_masks(start.network.config, settings)
        torch.nn.Module.to(start.network, place)
    _require_masks(base, start, settings)
    hidden = masked or Masked()
    validate = _validator(start, *checked, hidden, settings, report) if checked else None
    tokens = tokenized(start, examples)
    tokens = tokens.masked(hidden.examples, hidden.token)
    _require_affordable(start, tokens, settings, limits)
    training = Training(start, tokens, targets, scores, settings, random, validate)
    kept = Checkpoints(checkpoints, identity) if checkpoints else None
    saving = _Saving(out, start, settings.keeps_float16)
    try:
        training.run(kept, report)
    except Diverged as error:
        if not training.best_epoch:
            raise
        training.restore()
        with saving.directory():
            pass
        raise Diverged(error.epoch, f" The model after epoch {training.best_epoch} was kept.") from None
    shares: dict[float, float] = {}
    with saving.directory() as directory:
        if held:
            shares = measured_accuracy(load_model(str(directory), device), *held, settings.batch_size, report)
    return Trained(
        accuracy=shares.get(1.0),
        prefix_accuracy=shares if start.causal else {},
        steps=training.steps,
        seconds=report.seconds + training.seconds,
        parameters=start.network.num_parameters(),
        epochs=training.epochs,
        best_epoch=training.best_epoch,
        words=start.network.config.vocab_size if settings.embeddings else None,
        words_with_vectors=getattr(start.network.config, "words_with_vectors", None),
    )


def stored_accuracy(model_id: str, examples: Examples, device: str | None, report: Report) -> float:
    """Return the share of ``examples`` whose class a stored model predicts; raises as :func:`train`."""
    classifier = load_model(model_id, device)
    return measured_accuracy(classifier, examples, examples.classes(classifier.labels), _MEASURED, report)[1.0]


def training_digest(
    examples: Examples,
    base: str,
    settings: TrainingSettings,
    device: str | None = None,
    validation: Examples | None = None,
    masked: Masked | None = None,
) -> str:
    """Return the digest of everything that decides the weights of a training on one machine.

    This is the data, the files of the base, the settings, and the format to which torch rounds products on the
    ``device``.
    """
    body = settings.model_dump(mode="json", exclude={"evaluate", "seeds", "validation", "embeddings"})
    if settings.embeddings:
        body["embeddings"] = vectors_digest(settings.embeddings)
    return digest(
        {
            "examples": examples.digest,
            "validation": validation.digest if validation else settings.validation_share,
            "base": _new_name(base) if base in ARCHITECTURES else model_digest(base),
            "teacher": model_digest(settings.teacher) if settings.teacher else None,
            "settings": body,
            "masked": asdict(masked) if masked else None,
            "rounding": rounding(choose_device(device)),
        }
    )


def _new_name(architecture: str) -> str:
    """Return the name of an architecture's random weights, which differs from the names of earlier versions."""
    version = ARCHITECTURES[architecture].version
    return architecture if version == 1 else f"{architecture} {version}"


def _validator(
    start: Start, examples: Examples, targets: Tensor, hidden: Masked, settings: TrainingSettings, report: Report
) -> Callable[[], tuple[float, float | None]]:
    """Return the function that measures the network in its current state on the examples, by the settings' metric.

    If half of the training's texts are masked, it measures both: the texts as they are, and masked by the settings'
    seed.
    """
    tokens = tokenized(start, examples)
    tokens = tokens.masked(hidden.validation, hidden.token)

    def measure(own: Tokens) -> float:
        found = predictions(start.model, start.causal, own, settings.batch_size, "validation", report)
        return score(settings.metric, found[1.0], targets)

    if not settings.masking or start.mask_id is None:
        return lambda: (measure(tokens), None)
    special = torch.tensor(sorted(markers(start.tokenizer)))
    hidden_too = tokens.masked_at_random(special, start.mask_id, settings.seed)
    return lambda: (measure(tokens), measure(hidden_too))


def _require_affordable(start: Start, tokens: Tokens, settings: TrainingSettings, limits: Limits) -> None:
    """Raise :class:`RequestError` for more epochs, rows and tokens than a job of the longest time can read."""
    work = settings.epochs * sum(len(ids) * start.model.work_per_token(len(ids)) for ids in tokens.ids)
    seconds = training_seconds(start.model.device, work)
    if 0 < limits.max_job_seconds < seconds:
        raise RequestError(
            f"This training would take about {seconds:,.0f} s.",
            f"Choose fewer epochs, rows or tokens, or a smaller model. {limits.words('max_job_seconds')}",
        )


def _require_masks(base: str, start: Start, settings: TrainingSettings) -> None:
    if start.mask_id is None and (settings.mask_share or settings.heavy_mask):
        raise RequestError(
            f"The tokenizer of {base} has no mask token.",
            "Set mask_share=0 and heavy_mask=0, or choose another recipe.",
        )


def train_files(
    data: Any,
    base: str,
    out: str,
    *,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
    checkpoints: str | None = None,
    device: str | None = None,
    report: Report = lambda done, total, phase: None,
    **settings: object,
) -> list[Trained]:
    """Train classifiers on the data set ``data``; each is a new directory (see :func:`out_directories`).

    ``data`` is a file's name or path, an id, a pandas DataFrame, or a list of records (see
    :func:`explainlab.data.as_named`). ``base`` is an architecture (bert, gpt2, t5_encoder, bilstm_attention), which
    begins with random weights, or a model that has some: a directory or a hub id. ``settings`` are those of
    :class:`explainlab.training.TrainingSettings`; ``validation`` and ``evaluate`` may name files, read as ``data`` is.
    With ``checkpoints``, a folder, a stopped training continues from its last epoch. The rest, and the errors, are as
    for :func:`explainlab.training.train`.
    """
    chosen = settings_for(base, **settings)
    share = chosen.validation_share

    def read(source: str) -> Examples:
        return read_examples(source, chosen.label_names, columns=columns, classes=classes, reader=reader)

    with as_named(data) as source:
        examples = read(source)
    validation = read(chosen.validation) if chosen.validation and share is None else None
    held_out = read(chosen.evaluate) if chosen.evaluate else None
    trained = []
    for number, directory in enumerate(out_directories(out, chosen.seeds)):
        one = chosen.model_copy(update={"seed": chosen.seed + number})
        folder = Path(checkpoints) / directory.name if checkpoints else None
        trained.append(
            train(
                examples,
                base,
                directory,
                one,
                validation=validation,
                held_out=held_out,
                checkpoints=folder,
                device=device,
                limits=reader.limits,
                report=report,
            )
        )
        if folder:
            clear(folder)
    return trained


def out_directories(out: str, seeds: int) -> list[Path]:
    """Return the directories of the models: ``out``, or for several seeds ``out-0``, ``out-1`` and so on."""
    return [Path(out)] if seeds == 1 else [Path(f"{out}-{number}") for number in range(seeds)]
