"""The result of the analysis ``training``: its fields are its JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.errors.result import Accuracy


class TrainedEpoch(Record):
    """An epoch: its number from 1, the mean loss of its texts, and the accuracy on validation data (or None).

    ``masked``: the accuracy on the same data with masks, where half of the training texts had them.
    """

    epoch: int
    loss: float
    validation: float | None
    masked: float | None = None


class MadeModel(Record):
    """The card of a model that was made here.

    ``id`` is its name wherever a model is named; ``digest`` that of everything that decides it, ``files`` that of its
    directory. ``base`` is an architecture, which began with random weights, or a model. ``settings`` are all of its
    training; ``rows`` were learned from and ``validation_rows`` validated on. The weights are those of ``best_epoch``.
    ``columns`` and ``classes`` say how ``data`` and ``validation_data`` (empty: a share of ``data``) were read.
    ``merged_into``: the model that the base changes, where that is an adapter, which was merged into it before.
    """

    id: str
    digest: str
    files: str
    base: str
    data: str
    labels: list[str]
    recipe: str
    seed: int
    settings: dict[str, Any]
    rows: int
    validation_rows: int
    epochs: list[TrainedEpoch]
    best_epoch: int
    steps: int
    weights: int
    columns: dict[str, str] = Field(default_factory=dict)
    classes: dict[str, str] = Field(default_factory=dict)
    validation_data: str = ""
    merged_into: str = ""


class Made(Record):
    """A made model, and its ``accuracy`` with Wilson's interval on ``measured_on`` (None: on nothing).

    It was measured on ``measured_rows`` texts (None: on nothing).
    """

    model: MadeModel
    accuracy: Accuracy | None
    measured_on: Literal["test", "validation"] | None
    measured_rows: int | None = None


class TrainingData(Record):
    """The models that were made, one for each seed."""

    models: list[Made]
