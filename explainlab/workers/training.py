"""Training where a worker is, with its arguments and its outcome as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explainlab.models.context import RunContext
from explainlab.training import Epoch, Trained, train_files


def train_here(fields: Mapping[str, Any], context: RunContext, device: str) -> list[Trained]:
    """Train on ``device``: ``fields`` are arguments of :func:`explainlab.training.train_files`; raises as that."""

    def report(done: int, total: int, phase: str) -> None:
        context.progress.report(done, total, phase)
        context.check_cancelled()

    return train_files(**fields, reader=context.reader, device=device, report=report)


def trained_of(record: Mapping[str, Any]) -> Trained:
    """Return the model of a ``record`` that ``asdict`` has made, and JSON has carried since."""
    accuracy = {float(share): value for share, value in record["prefix_accuracy"].items()}
    epochs = [Epoch(**epoch) for epoch in record["epochs"]]
    return Trained(**{**record, "prefix_accuracy": accuracy, "epochs": epochs})
