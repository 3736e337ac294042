"""The random numbers of a training, apart from everybody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class OwnRandom:
    """A random state of torch, of the CPU and of the GPU where the training runs on one.

    What draws within :meth:`drawing` (weights, dropout) goes on where the last such block ended; nothing outside
    changes it, and it changes nothing outside. ``states``: uint8 tensors by kind of device.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._gpu = device if device.type == "cuda" else None
        with self._apart():
            torch.manual_seed(seed)
            self.states = self._current()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """A block that draws from this state."""
        with self._apart():
            torch.set_rng_state(self.states["cpu"])
            if self._gpu:
                torch.cuda.set_rng_state(self.states["cuda"], self._gpu)
            yield
            self.states = self._current()

    @contextmanager
    def _apart(self) -> Iterator[None]:
        with torch.random.fork_rng(devices=[self._gpu] if self._gpu else []):
            yield

    def _current(self) -> dict[str, Tensor]:
        states = {"cpu": torch.get_rng_state()}
        if self._gpu:
            states["cuda"] = torch.cuda.get_rng_state(self._gpu)
        return states
