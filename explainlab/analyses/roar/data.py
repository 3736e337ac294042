"""What a grid is made from: texts in three parts, tokenised as its models do, and the settings of their training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.texts import Split, SplitName, Tokenizing, without_short
from explainlab.attribution.registry import get_method
from explainlab.data import source_digest
from explainlab.errors import DataError, UnsupportedError
from explainlab.models.classifier import filler_id
from explainlab.models.devices import choose_device
from explainlab.models.model_types import model_type_of
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.training import (
    ARCHITECTURES,
    Examples,
    OwnRandom,
    Start,
    TrainingSettings,
    class_names,
    note_pairs,
    read_examples,
    settings_for,
    starting_point,
)


@dataclass(frozen=True)
class GridData:
    """The parts of the data with the ``gold`` classes of each, int64 [T]; ``labels`` name the classes.

    ``token`` masks. ``settings`` are those of training but for the seed.
    """

    splits: Mapping[SplitName, Split]
    gold: Mapping[SplitName, Tensor]
    labels: tuple[str, ...]
    token: int
    settings: TrainingSettings


def settings_of(base: str, parameters: RoarParameters) -> TrainingSettings:
    """How the models of a grid are trained: never with random masks, unless the settings say so.

    Raises as :func:`explainlab.training.settings_for`.
    """
    recipe = parameters.recipe or (ARCHITECTURES[base].recipe if base in ARCHITECTURES else "roar")
    plain = {"mask_share": 0.0, "heavy_mask": 0.0}
    return settings_for(base, **{**plain, **parameters.settings, "recipe": recipe, "metric": parameters.metric})


def grid_data(request: CompleteRequest, parameters: RoarParameters, reader: Reader) -> GridData:
    """The data of ``request``, read and checked before anything trains.

    Raises :class:`DataError` for files or texts that cannot be used, :class:`UnsupportedError` for a measure that the
    models do not support, and as :func:`settings_of`.
    """
    base, settings = request.model, settings_of(request.model, parameters)
    parts = _parts(request, parameters, reader)
    if len(set(parts["train"].labels)) < 2:
        raise DataError("The training data has fewer than two different labels.", "Check the label column.")
    names = class_names(base, parts["train"], settings)
    gold = {name: examples.classes(names, parts["train"]) for name, examples in parts.items()}
    with OwnRandom(request.seed, choose_device("cpu")).drawing():
        start = starting_point(base, parts["train"], names, settings)
    note_pairs(start.network.config, bool(parts["train"].pairs))
    _require_measures(start, parameters)
    token = filler_id(start.tokenizer, base, "mask")
    tokenizing = Tokenizing(start.tokenizer, start.max_tokens, token, reader.limits)
    splits = {name: Split(name, examples, tokenizing) for name, examples in parts.items()}
    return GridData(splits, gold, names, token, settings)


def files_of(parameters: RoarParameters, reader: Reader) -> list[str]:
    """The digests of the files beside the training data."""
    named = [parameters.test, *([] if _share(parameters) else [parameters.validation])]
    return [source_digest(name, reader) for name in named]


def _share(parameters: RoarParameters) -> float | None:
    """The share of the training data to validate on; None for a file."""
    return TrainingSettings.checked({"validation": parameters.validation}).validation_share


def _parts(request: CompleteRequest, parameters: RoarParameters, reader: Reader) -> dict[SplitName, Examples]:
    def read(source: str) -> Examples:
        examples = read_examples(source, columns=request.columns, classes=request.classes, reader=reader)
        long = without_short(examples, parameters.shortest)
        if not len(long):
            raise DataError(f"No text of {source} has {parameters.shortest} words.", "Choose a smaller shortest.")
        return long

    train, share = read(request.data or ""), _share(parameters)
    if share is None:
        return {"train": train, "validation": read(parameters.validation), "test": read(parameters.test)}
    if len(train) < 2:
        raise DataError("The training data has fewer than two texts.", "Choose a larger file.")
    learned, held = train.parted(share, request.seed)
    return {"train": learned, "validation": held, "test": read(parameters.test)}


def _require_measures(start: Start, parameters: RoarParameters) -> None:
    architecture = model_type_of(start.network.config).architecture
    for measure in parameters.requests:
        if reason := get_method(measure.method).unsupported(architecture, measure.parameters):
            raise UnsupportedError(reason, "Choose another measure or another base.")
