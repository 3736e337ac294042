"""The inputs of a grid: texts in three parts, tokenised as its models do, and the settings of their training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from reprlib import repr as quote

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.texts import Split, SplitName, Tokenizing, without_short
from explainlab.analyses.wording import counted, left_out
from explainlab.attribution.registry import get_method
from explainlab.errors import DataError, RequestError, UnsupportedError
from explainlab.models.classifier import filler_id
from explainlab.models.context import RunContext
from explainlab.models.devices import choose_device
from explainlab.models.loading import changed_model
from explainlab.models.model import Architecture
from explainlab.models.model_types import model_type_of
from explainlab.models.stored.places import EMBEDDED
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
    noted_masks,
    read_examples,
    settings_for,
    starting_point,
)

_MERGED = "The base is an adapter: it was merged into the model that it changes before each training."


@dataclass(frozen=True)
class Untrained:
    """The facts of a grid's models before they are trained; ``masks``: their base has learned from masked texts."""

    base: str
    architecture: Architecture
    tokenizer: PreTrainedTokenizerBase
    masks: bool

    @classmethod
    def of(cls, base: str, start: Start) -> Untrained:
        """Return the facts of models that begin as ``start``."""
        config = start.network.config
        masks = noted_masks(config, base.startswith(EMBEDDED)) is not None
        return cls(base, model_type_of(config).architecture, start.tokenizer, masks)

    def filler_id(self, baseline: str) -> int:
        """See :func:`explainlab.models.classifier.filler_id`."""
        return filler_id(self.tokenizer, self.base, baseline)


@dataclass(frozen=True)
class GridData:
    """The parts of the data with the ``gold`` classes of each, int64 [T]; ``labels`` name the classes.

    ``token`` masks. ``settings`` are those of training but for the seed, ``models`` the facts known before it.
    ``warnings`` list omissions and cuts.
    """

    splits: Mapping[SplitName, Split]
    gold: Mapping[SplitName, Tensor]
    labels: tuple[str, ...]
    token: int
    settings: TrainingSettings
    models: Untrained
    warnings: tuple[str, ...] = ()


def settings_of(base: str, parameters: RoarParameters) -> TrainingSettings:
    """Return the training settings of a grid's models: no random masks, unless the settings say so.

    Raises as :func:`explainlab.training.settings_for`.
    """
    recipe = parameters.recipe or (ARCHITECTURES[base].recipe if base in ARCHITECTURES else "roar")
    plain = {"mask_share": 0.0, "heavy_mask": 0.0}
    return settings_for(base, **{**plain, **parameters.settings, "recipe": recipe, "metric": parameters.metric})


def grid_data(request: CompleteRequest, parameters: RoarParameters, context: RunContext) -> GridData:
    """Read and check the data of ``request`` before anything trains.

    Raises :class:`DataError` for files or texts that cannot be used, :class:`UnsupportedError` for a measure that the
    models do not support, and as :func:`settings_of`.
    """
    base, settings, reader = request.model, settings_of(request.model, parameters), context.reader
    files = _Files(request, parameters, reader)
    parts = files.parts()
    if len(set(parts["train"].labels)) < 2:
        raise DataError("The training data has fewer than two different labels.", "Check the label column.")
    names = class_names(base, parts["train"], settings)
    gold = {name: examples.classes(names, parts["train"]) for name, examples in parts.items()}
    with OwnRandom(request.seed, choose_device("cpu")).drawing():
        start = starting_point(base, parts["train"], names, settings)
    note_pairs(start.network.config, bool(parts["train"].pairs))
    models = Untrained.of(base, start)
    _require_measures(models, parameters)
    token = models.filler_id("mask")
    tokenizing = Tokenizing(start.tokenizer, start.max_tokens, token, reader.limits, start.prompt)
    splits = {name: Split(name, examples, tokenizing, context) for name, examples in parts.items()}
    cut = [
        f"{counted(split.cut, 'text')} of the {name} data: cut to the model's {start.max_tokens} tokens."
        for name, split in splits.items()
        if split.cut
    ]
    merged = [_MERGED] if base not in ARCHITECTURES and changed_model(base) else []
    return GridData(splits, gold, names, token, settings, models, (*merged, *files.warnings, *cut))


def files_of(parameters: RoarParameters) -> list[str]:
    """Return the data sets beside the training data."""
    named = {"test": parameters.test, "validation": parameters.validation}
    return [source for part, source in named.items() if _share(part, source) is None]


def _share(part: str, source: str) -> float | None:
    """Return the share of the training data that this part holds out; None where ``source`` is a data set."""
    try:
        return TrainingSettings.validated({"validation": source}).validation_share
    except RequestError as error:
        raise RequestError(f"{part}={quote(source)} is no share of the rows.", "Use 0.2, or a data set.") from error


class _Files:
    """A reader of the files of a ``request``; ``warnings`` list the rows that are left out."""

    def __init__(self, request: CompleteRequest, parameters: RoarParameters, reader: Reader) -> None:
        self._request, self._parameters, self._reader = request, parameters, reader
        self.warnings: list[str] = []

    def parts(self) -> dict[SplitName, Examples]:
        """Read the three parts of the data."""
        train = self._read("training", self._request.data or "")
        train, test = self._held(train, "test", self._parameters.test)
        train, validation = self._held(train, "validation", self._parameters.validation)
        return {"train": train, "validation": validation, "test": test}

    def _held(self, train: Examples, part: str, source: str) -> tuple[Examples, Examples]:
        """Return the rest of the training data, and this part: a data set, or a share of the training data."""
        share = _share(part, source)
        if share is None:
            return train, self._read(part, source)
        if len(train) < 2:
            raise DataError("The training data has fewer than two texts.", "Choose a larger file.")
        return train.parted(share, self._request.seed)

    def _read(self, part: str, source: str) -> Examples:
        request, least = self._request, self._parameters.shortest
        examples = read_examples(source, columns=request.columns, classes=request.classes, reader=self._reader)
        if examples.left_out:
            self.warnings.append(left_out(f"the {part} data", examples.left_out, request.classes))
        self.warnings.extend(examples.notes)
        long = without_short(examples, least)
        if not len(long):
            raise DataError(f"No text of {source} has {counted(least, 'word')}.", "Choose a smaller shortest.")
        if short := len(examples) - len(long):
            self.warnings.append(
                f"Left out of the {part} data as shorter than {least} words: {counted(short, 'text')}."
            )
        return long


def _require_measures(models: Untrained, parameters: RoarParameters) -> None:
    for measure in parameters.requests:
        if reason := get_method(measure.method).unsupported(models.architecture, measure.parameters):
            raise UnsupportedError(reason, "Choose another measure or another base.")
