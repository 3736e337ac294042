"""Random baselines from a Gaussian diffusion, as the paper draws them and as its authors' code does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from explainlab.attribution.subject import Subject
from explainlab.request import Output

PresetId = Literal["paper", "reference"]


@dataclass(frozen=True)
class Preset:
    """How Eq. 3 and 4 are read.

    ``timesteps``: t ~ U{1..T}, or the last, t = T; the noise has the standard deviation (1 - ᾱ)^``power``; it is
    ``masked`` where the model masks its attention, or is everywhere; nodes are j = ``first_node``..n;
    ``multiplier`` of the integral: a - b, or a. ``layers`` and ``output`` hold unless a request names its own. In a
    prompt only the rows of the text get noise; in the other rows ``still`` times the attention stands for it.
    """

    timesteps: Literal["uniform", "last"]
    power: float
    masked: bool
    first_node: int
    multiplier: Literal["difference", "attention"]
    layers: str
    output: Output
    still: float


PRESETS: dict[str, Preset] = {
    "paper": Preset("uniform", 0.5, True, 1, "difference", "last", "probability", 0.0),
    "reference": Preset("last", 1.0, False, 0, "attention", "-3", "logit", 1.0),
}


@lru_cache(maxsize=64)
def kept(timesteps: int) -> np.ndarray:
    """float64 [T + 1]: ᾱ_t for t = 0..T = ``timesteps``, the share of a variance that diffusion keeps; ᾱ_0 = 1.

    Every step adds a variance β, from 1e-4 to 0.02 in equal steps whatever T is (Barkan et al. 2024, section 3.2.1,
    with the schedule of their code).
    """
    found = np.cumprod(1 - np.linspace(1e-4, 0.02, timesteps + 1))
    found[0] = 1
    return found


@dataclass(frozen=True)
class Draw:
    """What decides a random baseline, with the seed: a ``layer`` from 1, the bottom one (0: the word embeddings), a
    ``number`` from 0 in this layer, and the ``timestep`` of the diffusion.
    """

    layer: int
    number: int
    timestep: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """The map of one random baseline: of the ``draw`` from 0 in ``layer`` (0: the word embeddings) at ``timestep``.

    ``scores`` float64 [n_features].
    """

    layer: int
    draw: int
    timestep: int
    scores: np.ndarray


class Maps(ABC):
    """All maps of one text from random baselines in ``layers``; ``timesteps`` is T.

    A draw is the same whatever else is drawn: every layer and number has a random generator of its own, which gives
    the timestep and then the noise.
    """

    layers: list[int]

    def __init__(self, subject: Subject, timesteps: int, preset: Preset) -> None:
        self.subject = subject
        self.timesteps = timesteps
        self.preset = preset

    @abstractmethod
    def tokens(self, draws: Sequence[Draw]) -> np.ndarray:
        """float64 [k, N]: the maps of k ``draws`` of one layer, by token."""

    def candidates(self, draws: Sequence[Draw]) -> list[Candidate]:
        """The maps of ``draws``, those of one layer batched together."""
        found: dict[Draw, Candidate] = {}
        for layer in sorted({draw.layer for draw in draws}):
            together = [draw for draw in draws if draw.layer == layer]
            for draw, row in zip(together, self.tokens(together), strict=True):
                scores = self.subject.units.sum_tokens(row)
                found[draw] = Candidate(draw.layer, draw.number, draw.timestep, scores)
        return [found[draw] for draw in draws]

    def draw(self, layer: int, number: int, low: float = 0, high: float = 1) -> Draw:
        """The draw whose timestep lies in the part from ``low`` to ``high`` of 1..T, where it is random."""
        uniform = low + (high - low) * self._generator(layer, number).random()
        last = self.preset.timesteps == "last"
        return Draw(layer, number, self.timesteps if last else 1 + int(uniform * self.timesteps))

    def noise(self, draw: Draw, *shape: int) -> np.ndarray:
        """float64 [*shape] from a standard normal distribution; fewer rows are the first of more."""
        generator = self._generator(draw.layer, draw.number)
        generator.random()
        return generator.standard_normal(shape)

    def diffused(self, start: np.ndarray, draw: Draw, noise: np.ndarray) -> np.ndarray:
        """float64: ``start`` after the draw's timestep, √ᾱ start + (1 - ᾱ)^power noise."""
        share = kept(self.timesteps)[draw.timestep]
        mixed: np.ndarray = np.sqrt(share) * start + (1 - share) ** self.preset.power * noise
        return mixed

    def _generator(self, layer: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self.subject.seed, layer, number])
