"""Training from files, of one model or several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from explainlab.data import as_named
from explainlab.reader import ANYBODY, Reader
from explainlab.training.checkpoint import clear
from explainlab.training.examples import Examples, read_examples
from explainlab.training.passes import Report
from explainlab.training.start import settings_for
from explainlab.training.train import Trained, train


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

    ``data`` is a file's name or path, an id, a pandas DataFrame, or a list of records
    (see :func:`explainlab.data.as_named`).
    ``base`` is an architecture (bert, gpt2, t5_encoder, bilstm_attention), which begins with random weights, or a model
    that has some: a directory or a hub id. ``settings`` are those of :class:`explainlab.training.TrainingSettings`;
    ``validation`` and ``evaluate`` may name files, read as ``data`` is. With ``checkpoints``, a folder, a training that
    was stopped goes on from its last epoch. The rest, and the errors, are as for :func:`explainlab.training.train`.
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
