"""Random baselines from a Gaussian diffusion, as in the paper and as in its authors' code."""

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
    """A reading of Eq. 3 and 4.

    ``timesteps``: t ~ U{1..T}, or the last, t = T. The noise has the standard deviation (1 - ᾱ)^``power``; if
    ``masked``, there is none where the model masks its attention. Nodes are j = ``first_node``..n. ``multiplier`` of
    the integral: a - b, or a. ``layers`` and ``output`` are defaults. In a prompt only the rows of the text get noise;
    in the other rows ``still`` times the attention replaces it.
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
    """Return float64 [T + 1]: ᾱ_t for t = 0..T = ``timesteps``, the diffusion's remaining share of the variance; ᾱ_0 =
    1.

    Every step adds a variance β, from 1e-4 to 0.02 in equal steps for every T (Barkan et al. 2024, section 3.2.1, with
    the schedule of their code).
    """
    shares = np.cumprod(1 - np.linspace(1e-4, 0.02, timesteps + 1))
    shares[0] = 1
    return shares


@dataclass(frozen=True)
class Draw:
    """The definition, with the seed, of a random baseline: the ``layer`` from 1, the bottom (0: the word embeddings),
    the ``number`` from 0 in this layer, and the ``timestep`` of the diffusion.
    """

    layer: int
    number: int
    timestep: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """The attribution from a random baseline: ``draw`` from 0 in ``layer`` (0: word embeddings) at ``timestep``.

    ``scores`` float64 [n_features].
    """

    layer: int
    draw: int
    timestep: int
    scores: np.ndarray


class Maps(ABC):
    """All attributions of a text from random baselines in ``layers``; ``timesteps`` is T.

    Draws are independent of each other: every layer and number has its own random generator, which gives the timestep
    and then the noise.
    """

    layers: list[int]

    def __init__(self, subject: Subject, timesteps: int, preset: Preset) -> None:
        self.subject = subject
        self.timesteps = timesteps
        self.preset = preset

    @abstractmethod
    def tokens(self, draws: Sequence[Draw]) -> np.ndarray:
        """Return float64 [k, N]: attributions by token from k ``draws`` of one layer."""

    def candidates(self, draws: Sequence[Draw]) -> list[Candidate]:
        """Return the attributions from ``draws``, those of one layer batched together."""
        result: dict[Draw, Candidate] = {}
        for layer in sorted({draw.layer for draw in draws}):
            together = [draw for draw in draws if draw.layer == layer]
            for draw, row in zip(together, self.tokens(together), strict=True):
                scores = self.subject.units.sum_tokens(row)
                result[draw] = Candidate(draw.layer, draw.number, draw.timestep, scores)
        return [result[draw] for draw in draws]

    def draw(self, layer: int, number: int, low: float = 0, high: float = 1) -> Draw:
        """Return the draw; a random timestep lies between the fractions ``low`` and ``high`` of 1..T."""
        uniform = low + (high - low) * self._generator(layer, number).random()
        last = self.preset.timesteps == "last"
        return Draw(layer, number, self.timesteps if last else 1 + int(uniform * self.timesteps))

    def noise(self, draw: Draw, *shape: int) -> np.ndarray:
        """Return float64 [*shape], standard normal; fewer rows are the first of more rows."""
        generator = self._generator(draw.layer, draw.number)
        generator.random()
        return generator.standard_normal(shape)

    def diffused(self, start: np.ndarray, draw: Draw, noise: np.ndarray) -> np.ndarray:
        """Return float64: ``start`` after the draw's timestep, √ᾱ start + (1 - ᾱ)^power noise."""
        share = kept(self.timesteps)[draw.timestep]
        mixed: np.ndarray = np.sqrt(share) * start + (1 - share) ** self.preset.power * noise
        return mixed

    def _generator(self, layer: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self.subject.seed, layer, number])
