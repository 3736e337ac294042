"""Erasure on two models of each seed: the grid's model of whole texts, and one that learned from masked texts too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch

from explainlab.analyses.base import method_passes
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.measures import Measure, scores_of
from explainlab.analyses.roar.models import Models
from explainlab.analyses.roar.nodes import SeedRun, Setting
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.texts import TOGETHER, Masks
from explainlab.analyses.training.analysis import alone
from explainlab.attribution.method import USUAL_LAYERS, USUAL_TEXT
from explainlab.attribution.registry import parse_spec
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import MetricSpec, evaluation_passes, get_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import FORWARD, Body
from explainlab.models.reading import logits_of
from explainlab.request import digest
from explainlab.training import TrainingSettings, score, training_digest

Kind = Literal["plain", "masked"]
KINDS: tuple[Kind, ...] = ("plain", "masked")
_STORED = "three answers/1"  # part of the keys: rises when the stored form changes
_PERFORMANCE = "performance"
_WEIGHTS = "masked"


class Erased(NamedTuple):
    """The ``values`` float64 [T, M] of a metric for all test texts and measures, and the model's ``performance``."""

    values: np.ndarray
    performance: float


class Erasing:
    """The values of the ``erasure`` metric for the measures ``compared`` on the models of a grid's ``setting``.

    Measures score as in the grid: the logit of the gold class, by |score| or by score. Everything but content of the
    first text is ranked last. The metric reads the probability of the gold class. Finished values are kept, by seed,
    model and measure, and so are the weights of the masked models, as long as those of the grid's.
    """

    def __init__(
        self, setting: Setting, parameters: RoarParameters, compared: Sequence[str], erasure: MetricSpec
    ) -> None:
        self._setting, self._context, self._metric = setting, setting.context, parameters.metric
        self._test, self._gold = setting.data.splits["test"], setting.data.gold["test"]
        random = Measure(parse_spec(RANDOM), parameters.signs == "absolute")
        self._measures = {name: setting.measures.get(name, random) for name in compared}
        self._erasure = erasure
        self._nothing = {name: Masks.none(split.lengths) for name, split in setting.data.splits.items()}
        train = sum(setting.data.splits["train"].tokens)
        self._train_work = float(train * setting.data.settings.epochs)
        self._identities = {(kind, seed): self._identity(kind, seed) for kind in KINDS for seed in self._seeds}

    @property
    def work(self) -> float:
        """The work of the unknown values, as :class:`~explainlab.models.context.Receivers` count it."""
        return sum(self._work(kind, seed, self._missing(kind, seed)) for kind in KINDS for seed in self._seeds)

    def all(self) -> dict[Kind, list[Erased]]:
        """Return the answer of every seed on both models, computed where it is not known.

        Raises as :func:`explainlab.training.train`, :func:`explainlab.metrics.evaluate.evaluate` and the measures do.
        """
        found: dict[Kind, list[Erased]] = {kind: [] for kind in KINDS}
        for seed in self._seeds:
            for kind in KINDS:
                found[kind].append(self._erased(kind, seed))
        return found

    @property
    def _seeds(self) -> list[int]:
        return self._setting.grid.seeds

    def _erased(self, kind: Kind, seed: int) -> Erased:
        missing = self._missing(kind, seed)
        if missing:
            self._context.progress.part(self._work(kind, seed, missing))
            self._compute(kind, seed, missing)
        known = self._context.cache.get_many([self._key(kind, seed, name) for name in (*self._measures, _PERFORMANCE)])
        columns = [known[self._key(kind, seed, name)]["values"] for name in self._measures]
        performance = known[self._key(kind, seed, _PERFORMANCE)]["value"]
        return Erased(np.array(columns, dtype=np.float64).T, performance)

    def _compute(self, kind: Kind, seed: int, missing: Sequence[str]) -> None:
        """Compute what is ``missing`` of a model, and keep it."""
        phase = f"seed {seed}, {kind} model"
        batcher, count = Batcher(self._classifier(kind, seed, phase), self._context), len(self._test)
        whole = [self._test.read(row).encoding for row in range(count)]
        with batcher.span(0, 1, 1 + len(missing)):
            logits = logits_of(batcher, whole, f"{phase}: test", 0, count)
        for number, name in enumerate(missing, 1):
            with batcher.span(number, number + 1, 1 + len(missing)):
                note = self._performance(logits) if name == _PERFORMANCE else self._values(batcher, logits, seed, name)
            self._context.keep(self._key(kind, seed, name), note)
            self._context.progress.report(number + 1, 1 + len(missing), f"{phase}: {name}")

    def _performance(self, logits: np.ndarray) -> Body:
        return {"value": score(self._metric, torch.from_numpy(logits.argmax(axis=1)), self._gold)}

    def _values(self, batcher: Batcher, logits: np.ndarray, seed: int, name: str) -> Body:
        measure, gold, values = self._measures[name], self._gold.tolist(), list[float]()
        for start in range(0, len(self._test), TOGETHER):
            rows = range(start, min(start + TOGETHER, len(self._test)))
            scores = scores_of(batcher, self._test, rows, gold, self._nothing["test"], measure, seed)
            cases = [self._case(row, own, logits[row]) for row, own in zip(rows, scores, strict=True)]
            values += [text[0][0].value for text in evaluate(cases, [self._erasure], batcher)]
        return {"values": values}

    def _case(self, row: int, scores: np.ndarray, logits: np.ndarray) -> Case:
        """Build the case of a text with the ``scores`` float64 [n] of its maskable tokens; all else is ranked last."""
        read = self._test.read(row)
        whole = np.full(len(read.units.features), scores.min(initial=0.0) - 1.0)
        whole[read.units.membership[read.candidates]] = scores
        return Case(read.encoding, read.units, logits, int(self._gold[row]), whole[None, :])

    # Models ----------------------------------------------------------------------------------------------------------

    def _classifier(self, kind: Kind, seed: int, phase: str) -> Classifier:
        setting = self._setting
        if kind == "plain":
            return SeedRun(setting, seed).whole()
        data, folder = setting.data, setting.folder / self._identities[kind, seed]
        own = self._settings(kind, seed)
        models = Models(setting.base, own, data.splits, data.token, folder, setting.context, setting.device)
        with alone(folder, self._context):
            if not models.there(_WEIGHTS):
                models.train(_WEIGHTS, self._nothing, self._train_work, phase)
            return models.classifier(_WEIGHTS)

    def _settings(self, kind: Kind, seed: int) -> TrainingSettings:
        return self._setting.data.settings.model_copy(update={"seed": seed, "masking": kind == "masked"})

    # Stored values ---------------------------------------------------------------------------------------------------

    def _identity(self, kind: Kind, seed: int) -> str:
        """Return the digest of everything that decides the model."""
        setting = self._setting
        train, validation = (setting.data.splits[name].examples for name in ("train", "validation"))
        trained = training_digest(train, setting.base, self._settings(kind, seed), setting.device, validation)
        return digest([_STORED, trained, setting.device])

    def _key(self, kind: Kind, seed: int, name: str) -> str:
        """Return the key of the performance, or of the values of a measure."""
        asked: list[object] = [self._metric]
        if name != _PERFORMANCE:
            version = get_metric(self._erasure.metric).version
            asked = [self._setting.facts.get(name, RANDOM), self._erasure.name, version]
        return digest([self._identities[kind, seed], self._test.examples.digest, name, *asked])

    def _missing(self, kind: Kind, seed: int) -> list[str]:
        keys = {name: self._key(kind, seed, name) for name in (*self._measures, _PERFORMANCE)}
        known = self._context.cache.get_many(list(keys.values()))
        return [name for name, key in keys.items() if key not in known]

    def _work(self, kind: Kind, seed: int, missing: Sequence[str]) -> float:
        if not missing:
            return 0.0
        folder = self._setting.folder / self._identities[kind, seed] / _WEIGHTS
        training = 0.0 if kind == "plain" or folder.is_dir() else self._train_work
        passes = FORWARD
        for name in missing:
            if name != _PERFORMANCE:
                passes += method_passes(self._measures[name].request, USUAL_TEXT, USUAL_LAYERS).work
                passes += evaluation_passes([self._erasure], USUAL_TEXT.features).work
        return training + passes * sum(self._test.tokens)
