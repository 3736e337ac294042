"""Making a classifier: a training file, an architecture or a base model, a recipe."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from socket import gethostname
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import BeforeValidator, Field

from explainlab import declared
from explainlab.analyses.base import AnalysisResult, Report, Requirements, Sampled, TrainingCost, TrainsModels
from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.training.result import Made, MadeModel, TrainedEpoch, TrainingData
from explainlab.analyses.training.verdict import masked_words, overview, sentence, validated
from explainlab.analyses.wording import left_out
from explainlab.errors import RequestError, ResourceError
from explainlab.files import write_file
from explainlab.models import loading
from explainlab.models.context import PassCount, RunContext
from explainlab.models.stored.places import CARD, WEIGHTS, made_id
from explainlab.reader import Reader
from explainlab.request import CompleteRequest, digest
from explainlab.result import Cost
from explainlab.training import (
    ARCHITECTURES,
    Examples,
    TrainingSettings,
    clear,
    read_examples,
    settings_for,
    stored_accuracy,
    train,
    training_digest,
)
from explainlab.training.checkpoint import cannot_write

LOCK = "lock"
_WAIT_SECONDS = 0.1


@contextmanager
def alone(folder: Path, context: RunContext) -> Iterator[None]:
    """Hold ``folder``, made if missing, so that no other job of this server or of another one works in it.

    Waiting can be cancelled by ``context``. Raises :class:`explainlab.errors.ResourceError` where nothing can be
    written.
    """
    lock = FileLock(folder / LOCK)
    while not lock.is_locked:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except OSError as error:
            if not isinstance(error, Timeout):
                raise cannot_write(folder, error) from error
            context.progress.report(0, 0, "waiting for another job that makes the same model")
            context.check_cancelled()
            time.sleep(_WAIT_SECONDS)
    try:
        yield
    finally:
        lock.release()


def is_held(folder: Path) -> bool:
    """Return whether a job works in ``folder``, of this server or of another one on this machine."""
    if not folder.is_dir():
        return False
    try:
        with FileLock(folder / LOCK).acquire(blocking=False):
            return False
    except Timeout:
        return True


_CHECKPOINTS = "checkpoints"
CHARACTERS = 4.5
"""About how many characters a token has."""
_PHASES = {
    "tokenizer": "preparing the model",
    "training": "steps of training",
    "validation": "texts of validation",
    "evaluation": "texts of the test",
}
ELSEWHERE = ("recipe", "size", "validation", "evaluate", "teacher", "embeddings", "seed", "seeds")
"""Settings that parameters or the request have, or that name other files and models."""


def training_settings(value: object) -> object:
    """Read ``epochs=3,batch_size=8`` or a mapping into checked values; raises RequestError as training does."""
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        if not all(equals and name.strip() for name, equals, _ in pairs):
            raise ValueError("Write name=value, with commas between")
        value = {name.strip(): text.strip() for name, _, text in pairs}
    if not isinstance(value, Mapping) or any(name in ELSEWHERE for name in value):
        raise ValueError(f"Write name=value, with commas between, without {', '.join(ELSEWHERE)}")
    whole = TrainingSettings.validated(value).model_dump(mode="json")
    return {name: whole[name] for name in value}


class Training(TrainsModels[TrainingData]):
    """A classifier made from a labelled file, from random weights or from a base model.

    The model of the request is the base: ``bert``, ``gpt2``, ``t5_encoder``, ``bilstm_attention`` or the id of a model.
    Every training is kept under the digest of everything that decides it: it never runs twice, and one that was stopped
    goes on from its last epoch.
    """

    class Parameters(declared.Parameters):
        recipe: Literal["", "embedded", "thesis", "roar", "progressive", "bilstm", "masked"] = Field(
            "", description="Named settings; empty: embedded (a BiLSTM: bilstm), with a base model thesis."
        )
        size: Literal["", "tiny", "mini", "small", "base"] = Field(
            "", description="Named layers, width and heads of a model with random weights."
        )
        validation_share: float = Field(
            0.1, ge=0, le=0.5, description="Share of the rows to measure each epoch on; 0: none, the last one is kept."
        )
        validation_data: str = Field("", description="Data set to measure each epoch on, in place of a share.")
        test_data: str = Field("", description="Data set to measure the accuracy on when done.")
        seeds: int = Field(1, ge=1, le=10, description="Models to make, with seeds from the request's on.")
        settings: Annotated[dict[str, Any], BeforeValidator(training_settings)] = Field(
            {}, description="Other settings of training: epochs=3,batch_size=8."
        )

    id = "training"
    label = "Training"
    source = "Ritter 2022 (the thesis), chapter 3; Madsen et al. 2022 (paper 003), appendix"
    definition = "the weights of the epoch with the best accuracy on validation data"
    version = 4

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(
            gradients=1,
            files=[name for name in (parameters.validation_data, parameters.test_data) if name],
            estimate=partial(_estimate, parameters),
        )

    def train(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[TrainingData]:
        """See :meth:`TrainsModels.train`."""
        if request.data is None:
            raise RequestError("A model is made from a data set, not from a single text.", "Choose a data set.")
        if context.reader.made is None:
            raise RequestError("There is no folder for made models here.", "Use explainlab.train instead.")
        maker = _Maker(request, self.parameters(request), context, context.reader.made, device)
        body = TrainingData(models=maker.all())
        passes, rows = maker.passes, len(maker.examples)
        return AnalysisResult(
            request=request,
            body=body,
            sample=Sampled(drawn="all", rows=rows, total=rows, seed=request.seed),
            cost=Cost(passes, passes, maker.seconds),
            warnings=tuple(maker.warnings),
            versions=self.versions_on(device, request.model),
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _estimate(parameters: Training.Parameters, request: CompleteRequest, reader: Reader) -> TrainingCost | None:
    """Return the cost of all epochs; raises as training does for settings and a file."""
    if request.data is None:
        return None
    settings = _settings(request, parameters)
    examples = read_examples(request.data, columns=request.columns, classes=request.classes, reader=reader)
    passes = PassCount.gradients(len(examples) * settings.epochs * parameters.seeds)
    return TrainingCost(passes, len(examples), _work(examples, settings) * parameters.seeds)


def _headline(result: AnalysisResult[TrainingData]) -> str:
    """Say how well the model reads; of several their mean, then each."""
    models = result.body.models
    each = [f"{sentence(made, made.model.id)} {masked_words(made.model)}".strip() for made in models]
    return " ".join(each if len(models) == 1 else [overview(models), *each])


def _lines(result: AnalysisResult[TrainingData]) -> list[str]:
    """Return the facts of each model, then a line an epoch."""
    return [line for made in result.body.models for line in _lines_of(made.model)]


class _Maker:
    """The models of one request; ``passes`` are those of all trainings, ``seconds`` those of trainings made here."""

    def __init__(
        self, request: CompleteRequest, parameters: Training.Parameters, context: RunContext, folder: Path, device: str
    ) -> None:
        self._request, self._parameters, self._context = request, parameters, context
        self._folder, self._device = folder, device
        self._settings = _settings(request, parameters)
        self.warnings: list[str] = []
        self.examples = self._read(request.data or "", "training")
        self._validation = self._read(parameters.validation_data, "validation") if parameters.validation_data else None
        self._test = self._read(parameters.test_data, "test") if parameters.test_data else None
        self.seeds, self.passes, self.seconds = parameters.seeds, 0, 0.0
        self._work = _work(self.examples, self._settings)
        missing = sum(not self._is_there(identity) for _, identity in self._trainings)
        context.progress.expect(self._work * missing, exact=False)

    def all(self) -> list[Made]:
        """Return a model for each seed: the one that is there, or a new one, made here or by a worker that helps.

        Such a worker is of this machine: others have another folder of models.
        """
        missing = [place for place, (_, identity) in enumerate(self._trainings) if not self._is_there(identity)]
        parts, own = [(place, gethostname()) for place in missing], set()
        for place, machine in self._context.shards.take(digest([identity for _, identity in self._trainings]), parts):
            if machine != gethostname():
                raise ResourceError("Models are made on the machine that keeps them.", "Nothing needs to be done.")
            own.add(place)
            self._context.progress.part(self._work)
            self._make(*self._trainings[place])
        helped = [place for place in missing if place not in own and self._is_there(self._trainings[place][1])]
        models = [self._made(settings, identity) for settings, identity in self._trainings]
        self.passes += sum(models[place].model.rows * len(models[place].model.epochs) for place in helped)
        return models

    def _is_there(self, identity: str) -> bool:
        return (self._folder / identity / CARD).is_file()

    def _make(self, settings: TrainingSettings, identity: str) -> None:
        folder = self._folder / identity
        with alone(folder, self._context):
            if not self._is_there(identity):
                self._train(folder, identity, settings)
            (folder / LOCK).unlink(missing_ok=True)  # a job that waits for this very file then finds the model

    def _made(self, settings: TrainingSettings, identity: str) -> Made:
        self._make(settings, identity)
        card = MadeModel.model_validate_json((self._folder / identity / CARD).read_bytes())
        return self._measured(card, self._folder / identity / WEIGHTS)

    @cached_property
    def _trainings(self) -> list[tuple[TrainingSettings, str]]:
        """The settings of each seed, with the digest of everything that decides its model."""
        seeds = range(self._request.seed, self._request.seed + self.seeds)
        settings = [self._settings.model_copy(update={"seed": seed}) for seed in seeds]
        base, held = self._request.model, self._validation
        return [(own, training_digest(self.examples, base, own, self._device, held)) for own in settings]

    def _train(self, folder: Path, identity: str, settings: TrainingSettings) -> None:
        shutil.rmtree(folder / WEIGHTS, ignore_errors=True)  # of a training that diverged
        trained = train(
            self.examples,
            self._request.model,
            folder / WEIGHTS,
            settings,
            validation=self._validation,
            checkpoints=folder / _CHECKPOINTS,
            device=self._device,
            limits=self._context.reader.limits,
            report=self._report(settings.seed),
        )
        share = settings.validation_share
        held = len(self._validation or ()) or (max(1, round(share * len(self.examples))) if share else 0)
        learned = len(self.examples) - (held if share else 0)
        card = MadeModel(
            id=made_id(identity),
            digest=identity,
            files=loading.model_digest(str(folder / WEIGHTS)),
            base=self._request.model,
            data=self._request.data or "",
            labels=list(_labels(folder / WEIGHTS)),
            recipe=settings.recipe,
            seed=settings.seed,
            settings=settings.model_dump(mode="json"),
            rows=learned,
            validation_rows=held,
            epochs=[TrainedEpoch.model_validate(epoch, from_attributes=True) for epoch in trained.epochs],
            best_epoch=trained.best_epoch,
            steps=trained.steps,
            weights=trained.parameters,
            columns=self._request.columns,
            classes=self._request.classes,
            validation_data=self._parameters.validation_data,
            merged_into=_merged_into(self._request.model),
        )
        write_file(folder / CARD, json.dumps(card.model_dump(mode="json")).encode())
        clear(folder / _CHECKPOINTS)
        self.passes += learned * len(trained.epochs)
        self.seconds += trained.seconds

    def _measured(self, card: MadeModel, weights: Path) -> Made:
        if self._test is None:
            return validated(card)
        n, mean = len(self._test), stored_accuracy(str(weights), self._test, self._device, self._report(card.seed))
        return Made(model=card, accuracy=accuracy_of(round(mean * n), n), measured_on="test", measured_rows=n)

    def _report(self, seed: int) -> Callable[[int, int, str], None]:
        """Return a callback for the progress of the training with this ``seed``; others run between two batches."""
        which, steps = f", seed {seed}" if self.seeds > 1 else "", 0

        def report(done: int, total: int, phase: str) -> None:
            nonlocal steps
            self._context.progress.report(
                done, 0 if phase == "tokenizer" else total, f"{_PHASES.get(phase, phase)}{which}"
            )
            if phase == "training" and done > steps:
                self._context.progress.spend(self._work / total)
                steps = done
            self._context.check_cancelled()

        return report

    def _read(self, source: str, part: str) -> Examples:
        request, reader = self._request, self._context.reader
        examples = read_examples(source, columns=request.columns, classes=request.classes, reader=reader)
        if examples.left_out:
            self.warnings.append(left_out(f"the {part} data", examples.left_out, request.classes))
        self.warnings.extend(examples.notes)
        return examples


def _settings(request: CompleteRequest, parameters: Training.Parameters) -> TrainingSettings:
    """Return the settings of the first seed."""
    share = "" if parameters.validation_data or not parameters.validation_share else parameters.validation_share
    chosen = {"recipe": parameters.recipe, "size": parameters.size, "validation": str(share)}
    given = {name: value for name, value in chosen.items() if value}
    return settings_for(request.model, **{**parameters.settings, **given})


def _work(examples: Examples, settings: TrainingSettings) -> float:
    """Return the expected work of a training, by the characters of its texts."""
    texts = sum(map(len, examples.texts)) + sum(map(len, examples.pairs))
    return texts / CHARACTERS * settings.epochs


def _labels(weights: Path) -> tuple[str, ...]:
    card = loading.describe(str(weights))
    assert card is not None
    return card.labels


def _merged_into(base: str) -> str:
    """Return the model that ``base`` changes, if it is an adapter."""
    return "" if base in ARCHITECTURES else loading.changed_model(base) or ""


def _lines_of(card: MadeModel) -> list[str]:
    begun = f"{card.base}, merged into {card.merged_into}" if card.merged_into else card.base
    facts = [f"{card.id}: {begun}, {card.weights:,} weights, recipe {card.recipe}, seed {card.seed}"]
    for epoch in card.epochs:
        accuracy = "" if epoch.validation is None else f", validation {epoch.validation:.4f}"
        accuracy += "" if epoch.masked is None else f", masked {epoch.masked:.4f}"
        best = " (kept)" if epoch.epoch == card.best_epoch else ""
        facts.append(f"  epoch {epoch.epoch}: loss {epoch.loss:.4f}{accuracy}{best}")
    return facts
