"""Checkpoints of a training: the whole state after an epoch, as safetensors with JSON in the header."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from explainlab.errors import RequestError, ResourceError

_NAME, _FILES = "epoch-{:04d}.safetensors", "epoch-*.safetensors"


@dataclass(frozen=True)
class Epoch:
    """A finished epoch: its number from 1, the mean loss of its texts, the score on validation data (or None).

    ``masked``: the score on the same data with masks, if training masks half of its texts. ``seconds``: its duration.
    """

    epoch: int
    loss: float
    validation: float | None
    masked: float | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def score(self) -> float | None:
        """The score that selects the best epoch: the mean of the two."""
        if self.validation is None or self.masked is None:
            return self.validation
        return (self.validation + self.masked) / 2


class Checkpoints:
    """A folder with the last epoch of a training, and its best one.

    ``identity`` is a digest of all that decides the training: a folder of another training is refused. Files are
    written whole or not at all.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self._folder = folder
        self._identity = identity

    def save(self, epochs: list[Epoch], best: int, tensors: dict[str, Tensor]) -> None:
        """Keep the ``tensors`` after the last of ``epochs``; delete epochs that are neither last nor best.

        Raises :class:`ResourceError` if they cannot be written, and then keeps the old files.
        """
        history = [asdict(epoch) for epoch in epochs]
        header = {"training": json.dumps({"identity": self._identity, "epochs": history, "best": best})}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / _NAME.format(len(epochs))
            part = path.with_suffix(".part")
            try:
                save_file({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, part, header)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        except (OSError, SafetensorError) as error:
            raise cannot_write(self._folder, error) from error
        kept = {_NAME.format(number) for number in (len(epochs), best)}
        for old in self._folder.glob(_FILES):
            if old.name not in kept:
                old.unlink()

    def last(self) -> tuple[list[Epoch], int, dict[str, Tensor]] | None:
        """Return the finished epochs, the number of the best, and the tensors after the last; None before the first.

        Raises :class:`RequestError` for the folder of another training, and for damaged files.
        """
        paths = sorted(self._folder.glob(_FILES))
        if not paths:
            return None
        try:
            with safe_open(paths[-1], "pt") as file:
                header = json.loads(file.metadata()["training"])
            epochs, best = [Epoch(**epoch) for epoch in header["epochs"]], int(header["best"])
            identity, tensors = header["identity"], self.tensors(len(epochs))
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise RequestError(f"The checkpoint {paths[-1]} cannot be read.", "Delete it, or its folder.") from error
        if identity != self._identity:
            raise RequestError(
                f"The folder {self._folder} has checkpoints of another training.", "Name a new folder, or empty it."
            )
        return epochs, best, tensors

    def tensors(self, epoch: int) -> dict[str, Tensor]:
        """Return the tensors that were kept after this ``epoch``, on the CPU."""
        with safe_open(self._folder / _NAME.format(epoch), "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)


def clear(folder: Path) -> None:
    """Delete the checkpoints in ``folder``, and the folder itself if it is empty then."""
    for path in folder.glob(_FILES):
        path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def cannot_write(path: Path, error: Exception) -> ResourceError:
    """Return the error for weights that cannot be written at ``path``."""
    reason = str(error).strip().rstrip(".")
    return ResourceError(f"The weights cannot be written in {path}: {reason}.", "Free some disk space, and try again.")
