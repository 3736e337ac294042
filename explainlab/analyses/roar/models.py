"""The models of one seed of a grid: trained, loaded, and deleted when no other place needs them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from explainlab.analyses.data_analysis import Clock
from explainlab.analyses.roar.texts import Masks, Split, SplitName
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.loading import load_model
from explainlab.training import Masked, TrainingSettings, clear, train
from explainlab.training.checkpoint import cannot_write

_WEIGHTS, _CHECKPOINTS = "model", "checkpoints"


class Fitted(NamedTuple):
    """The cost and the result of a training.

    ``seconds`` include those before an interruption; ``start`` are those until the first step had ended.
    """

    seconds: float
    start: float
    epochs: int
    best_epoch: int


class Models:
    """The models of the ``base`` with these ``settings``, in ``folder``, each under its own key."""

    def __init__(
        self,
        base: str,
        settings: TrainingSettings,
        splits: Mapping[SplitName, Split],
        token: int,
        folder: Path,
        context: RunContext,
        device: str,
    ) -> None:
        self._base, self._settings, self._splits, self._token = base, settings, splits, token
        self._folder, self._context, self._device = folder, context, device
        self._loaded: dict[str, Classifier] = {}

    def train(self, key: str, masks: Mapping[SplitName, Masks], work: float, phase: str) -> Fitted:
        """Train the model under ``key`` on texts with these ``masks``; it goes on where it was stopped.

        ``work`` is the expected work of the whole training. Raises as :func:`explainlab.training.train`.
        """
        learned, held = self._splits["train"], self._splits["validation"]
        hidden = Masked(self._token, learned.positions(masks["train"]), held.positions(masks["validation"]))
        clock, first, steps = Clock(self._context), list[float](), 0

        def report(done: int, total: int, step: str) -> None:
            nonlocal steps
            self._context.progress.report(done, 0 if step == "tokenizer" else total, f"{phase}: {step}")
            if step == "training" and done > steps:
                self._context.progress.spend(work / total)
                first[:] = first or [clock.seconds]
                steps = done
            clock.context.check_cancelled()

        self.drop(key)
        trained = train(
            learned.examples,
            self._base,
            self._folder / key / _WEIGHTS,
            self._settings,
            validation=held.examples,
            masked=hidden if any(mask.bits.any() for mask in masks.values()) else None,
            checkpoints=self._folder / key / _CHECKPOINTS,
            device=self._device,
            report=report,
        )
        return Fitted(trained.seconds, first[0] if first else 0.0, len(trained.epochs), trained.best_epoch)

    def end(self, key: str) -> None:
        """Delete the checkpoints of the training under ``key``: all results that the grid needs of it are kept."""
        clear(self._folder / key / _CHECKPOINTS)

    def there(self, key: str) -> bool:
        """Return whether the weights under ``key`` are on the disk."""
        return (self._folder / key / _WEIGHTS).is_dir()

    def classifier(self, key: str) -> Classifier:
        """Return the model under ``key``; the last one loaded stays in memory."""
        if key not in self._loaded:
            self._loaded = {key: load_model(str(self._folder / key / _WEIGHTS), self._device)}
        return self._loaded[key]

    def copy(self, key: str, directory: Path) -> None:
        """Put the model under ``key`` at ``directory``, whole or not at all.

        Raises :class:`ResourceError` where it cannot be written.
        """
        try:
            with TemporaryDirectory(dir=directory.parent, prefix=".copying-") as folder:
                shutil.copytree(self._folder / key / _WEIGHTS, Path(folder) / directory.name).replace(directory)
        except OSError as error:
            raise cannot_write(directory.parent, error) from error

    def size(self, key: str) -> int:
        """Return the bytes of the weights under ``key``."""
        return sum(path.stat().st_size for path in (self._folder / key / _WEIGHTS).rglob("*.safetensors"))

    def drop(self, key: str) -> None:
        """Delete the weights under ``key``, but not the checkpoints of a stopped training."""
        self._loaded.pop(key, None)
        shutil.rmtree(self._folder / key / _WEIGHTS, ignore_errors=True)

    def forget(self, key: str) -> None:
        """Delete all that is under ``key``."""
        self._loaded.pop(key, None)
        shutil.rmtree(self._folder / key, ignore_errors=True)
