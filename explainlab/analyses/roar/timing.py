"""The time of a grid, from one timed epoch of training and each measure's time for a few texts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.measures import scores_of
from explainlab.analyses.roar.models import Models
from explainlab.analyses.roar.nodes import Setting
from explainlab.analyses.roar.texts import SPLITS, Masks, SplitName
from explainlab.analyses.wording import duration
from explainlab.errors import RequestError
from explainlab.models.batching import Batcher
from explainlab.models.reading import logits_of
from explainlab.request import digest

TEXTS = 64
"""The number of texts in the timing of a measure."""
_STORED = "roar timing/2"  # part of the keys: rises when the timing changes
_COPIES = 8
"""The disk space of a training in multiples of its weights: weights and the optimizer's state, of two epochs."""


@dataclass(frozen=True)
class Timing:
    """Seconds on this machine: ``start`` of a training before its first step, each ``epoch`` of it with validation, the
    ``test``, and by measure the importance of all texts. ``weights`` are the bytes of a model.
    """

    start: float
    epoch: float
    test: float
    importance: Mapping[str, float]
    weights: int

    def model(self, epochs: int) -> float:
        """Return the seconds of a model that is trained for ``epochs`` epochs."""
        return self.start + epochs * self.epoch + self.test

    def disk(self, seeds: int, kept: int) -> int:
        """Return the most bytes on disk: a model for each seed, one more, a training's copies, and ``kept`` models."""
        return (seeds + 1 + _COPIES + kept) * self.weights


def timing(setting: Setting) -> Timing:
    """Return the times of the ``setting``'s models, remembered or measured.

    One epoch is trained and thrown away. Raises as :func:`explainlab.training.train` and as measures do.
    """
    missing = [name for name in setting.measures if _recalled(setting, name) is None]
    known = _recalled(setting)
    if known is None or missing:
        with TemporaryDirectory(dir=_parent(setting), prefix=".timing-") as folder:
            _measure(setting, Path(folder), missing)
        known = _recalled(setting)
    importance = {name: _recalled(setting, name) or {} for name in setting.measures}
    times: dict[str, Any] = known or {}
    return Timing(**times, importance={name: own["seconds"] for name, own in importance.items()})


def known_timing(setting: Setting) -> Timing | None:
    """Return :func:`timing` if all of it is remembered; else None."""
    if _recalled(setting) is None or any(_recalled(setting, name) is None for name in setting.measures):
        return None
    return timing(setting)


def grid_seconds(grid: Grid, timed: Timing, epochs: int) -> tuple[float, dict[str, float]]:
    """Return the seconds of training all models of ``grid`` for ``epochs`` epochs each, and of every measure."""
    asked = [name for seed in grid.seeds for _, name in grid.sources(seed)]
    return grid.distinct * timed.model(epochs), {name: asked.count(name) * timed.importance[name] for name in asked}


def require_affordable(setting: Setting) -> None:
    """Raise :class:`RequestError` for a grid that takes longer than the limits allow; without one nothing is timed."""
    limits = setting.context.reader.limits
    if not limits.max_training_seconds:
        return
    training, measures = grid_seconds(setting.grid, timing(setting), setting.data.settings.epochs)
    seconds = training + sum(measures.values())
    if seconds > limits.max_training_seconds:
        raise RequestError(
            f"This study would take about {duration(seconds)}.",
            f"Choose fewer seeds, ratios or measures. {limits.words('max_training_seconds')}",
        )


def _parent(setting: Setting) -> Path:
    setting.folder.mkdir(parents=True, exist_ok=True)
    return setting.folder


def _key(setting: Setting, name: str = "") -> str:
    """Return the key of the training times, or of a measure's time; neither depends on seeds or ratios."""
    data = setting.data
    texts = [data.splits[split].examples.digest for split in SPLITS]
    trained = data.settings.model_dump(mode="json", exclude={"epochs", "seed", "patience"})
    facts = setting.facts[name] if name else ""
    return digest([_STORED, setting.base, texts, trained, setting.device, facts])


def _recalled(setting: Setting, name: str = "") -> dict[str, float] | None:
    return setting.context.recall(_key(setting, name))


def _measure(setting: Setting, folder: Path, missing: list[str]) -> None:
    data, context = setting.data, setting.context
    once = data.settings.model_copy(update={"epochs": 1, "patience": 0})
    models = Models(setting.base, once, data.splits, data.token, folder, context, setting.device)
    nothing = {split: Masks.none(data.splits[split].lengths) for split in SPLITS}
    fitted = models.train("once", nothing, 0.0, "one epoch, to know how long all take")
    test, begun = data.splits["test"], time.perf_counter()
    batcher, rows = Batcher(models.classifier("once"), context), range(min(TEXTS, len(test)))
    loaded = time.perf_counter()
    logits_of(batcher, test.masked(rows, nothing["test"]), "some texts of the test", 0, len(rows))
    share = sum(test.tokens) / sum(test.tokens[row] for row in rows)
    body = {
        "start": fitted.start,
        "epoch": fitted.seconds - fitted.start,
        "test": loaded - begun + (time.perf_counter() - loaded - batcher.paused) * share,
        "weights": models.size("once"),
    }
    context.keep(_key(setting), body)
    for name in missing:
        context.keep(_key(setting, name), {"seconds": _importance(setting, batcher, nothing, name)})


def _importance(setting: Setting, batcher: Batcher, nothing: Mapping[SplitName, Masks], name: str) -> float:
    """Return a measure's seconds for all texts, from those for evenly spread texts of the training data."""
    data, split = setting.data, setting.data.splits["train"]
    rows = range(0, len(split), max(1, len(split) // TEXTS))[:TEXTS]
    gold, measure = data.gold["train"].tolist(), setting.measures[name]
    scores_of(batcher, split, rows[:1], gold, nothing["train"], measure, 0)  # pays for the work done once a model
    paused, since = batcher.paused, time.perf_counter()
    scores_of(batcher, split, rows, gold, nothing["train"], measure, 0)
    seconds = time.perf_counter() - since - (batcher.paused - paused)
    everything = sum(sum(own.tokens) for own in data.splits.values())
    return seconds * everything / sum(split.tokens[row] for row in rows)
