"""Attributions of a text from random baselines: of the attention of a layer, or of the word embeddings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from torch import Tensor

from explainlab import declared
from explainlab.attribution.diffusion import PRESETS, Draw, Maps, PresetId
from explainlab.attribution.method import Candidates, Evaluations, require_affordable
from explainlab.attribution.path import Path, evaluate, nodes
from explainlab.attribution.selection import MetricId, Search
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError
from explainlab.models.replay import Replay

UNDRAWN = (
    "In the last layer only the prompt's end is read, which gets no noise: its baselines differ in their timestep "
    "alone. Layers below, as in layers=-3, are drawn at random."
)


LEAST_REPLAYED = 0.3
"""Cost, in layers, of a replay of the last layer, which runs one row."""


def _layers(value: Any) -> str:
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    names = [str(part).strip() for part in parts]
    numbers = [name for name in names if re.fullmatch(r"-?[1-9]\d{0,3}", name)]
    if names not in (["last"], ["all"]) and (len(numbers) < len(names) or len(set(names)) < len(names) or not names):
        raise PydanticCustomError("layers", "Give last, all, or numbers with commas between, as in 10,11,12 or -3")
    return ",".join(names)


class EmbeddingParameters(declared.Parameters):
    """Parameters of methods with random baselines of the word embeddings."""

    samples: Candidates = Field(24, description="Random baselines R, each of which gives a map.")
    steps: Evaluations = Field(30, le=10_000, description="Points n on each path.")
    timesteps: int = Field(500, ge=1, le=100_000, description="Timesteps T of the diffusion that draws a baseline.")
    search: Search = Field("random", description="How draws are spent; adaptive: on timesteps that did well before.")
    select_by: MetricId = Field("comprehensiveness", description="The metric by which the best map is chosen.")


class AttentionParameters(EmbeddingParameters):
    """Parameters of methods with random baselines of a layer's attention."""

    preset: PresetId = Field("paper", description="The paper's formula, or what its authors' code computes.")
    layers: Annotated[str, BeforeValidator(_layers)] = Field(
        "last", description="last, all, or numbers from 1 with commas between; -1 is the last (reference: -3)."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, parameters: Any) -> Any:
        preset = PRESETS.get(str(parameters.get("preset"))) if isinstance(parameters, dict) else None
        return {"layers": preset.layers, **parameters} if preset else parameters


class AttentionMaps(Maps):
    """Attributions from random baselines b of a layer's attention a: paths v = b + α (a - b), by replay.

    φ_j = mean over heads, for the row that reaches the head, of m · mean over the path of ∂F/∂v [· v], with m = a - b
    or a by preset (Barkan et al. 2024, Eq. 3 and 4). Where the head reads the mean of all rows, so does φ. Without
    ``product`` the gradient is not multiplied by v. In a language model's prompt only the rows of the text are random,
    as in the authors' code: b = √ᾱ a elsewhere, the mean of its distribution (``reference``: their (√ᾱ + 1 - ᾱ) a).
    """

    def __init__(self, subject: Subject, parameters: AttentionParameters, product: bool) -> None:
        """Run the text once. Raises :class:`RequestError` for a layer that the model does not have."""
        super().__init__(subject, parameters.timesteps, PRESETS[parameters.preset])
        length = np.array([len(subject.encoding)])
        (self.replay,) = subject.batcher.over(
            length, lambda _: Replay(subject.classifier, subject.encoding), gradients=False, phase="prediction"
        )
        subject.forward += 1
        subject.see(subject.classifier.finite(self.replay.original[None])[0])
        self.layers = layer_numbers(parameters.layers, self.replay.depth)
        self._product = product
        encoding = subject.encoding
        is_generative = subject.classifier.architecture.is_generative
        self._still = ~encoding.content if is_generative else np.zeros(len(encoding), dtype=bool)
        if is_generative and self.replay.depth in self.layers:
            subject.warnings.append(UNDRAWN)
        self._alphas = np.arange(self.preset.first_node, parameters.steps + 1) / parameters.steps
        count = parameters.samples * len(self.layers)
        require_affordable(
            f"{len(self._alphas):,} points for each of {count:,} baselines",
            count * len(self._alphas),
            subject.classifier.limits,
        )

    def tokens(self, draws: Sequence[Draw]) -> np.ndarray:
        layer, steps = draws[0].layer, len(self._alphas)
        attention = self.replay.attention(layer)[:, self.replay.rows(layer)].float()
        alphas = torch.as_tensor(self._alphas, dtype=torch.float32, device=attention.device)
        scores = np.zeros((len(draws), len(self.subject.encoding)))

        def run(part: slice) -> None:
            draw, node = np.divmod(np.arange(part.start, part.stop), steps)
            baseline = self._baselines(draws[draw[0] : draw[-1] + 1])[draw - draw[0]]
            point = torch.lerp(baseline, attention, alphas[node, None, None, None])
            integrand = self._slopes(layer, point) * (point if self._product else 1)
            factor = attention - baseline if self.preset.multiplier == "difference" else attention
            shares = self._read(factor * integrand).cpu().double().numpy() / steps
            np.add.at(scores[:, : shares.shape[1]], draw, shares)

        lengths = np.full(len(draws) * steps, attention.shape[1])
        share = share_replayed(layer, self.replay.depth)
        for _ in self.subject.batcher.over(lengths, run, gradients=True, phase=f"layer {layer}", share=share):
            pass
        return scores

    def _slopes(self, layer: int, points: Tensor) -> Tensor:
        """Return the gradient of the explained scalar at ``points`` [B, heads, rows, N]."""
        points = points.detach().requires_grad_()
        logits = self.replay.logits(layer, points)
        self.subject.classifier.finite(logits.detach())
        (slopes,) = torch.autograd.grad(self.subject.explained(logits).sum(), points)
        self.subject.forward += len(points)
        self.subject.backward += len(points)
        return slopes

    def _read(self, products: Tensor) -> Tensor:
        """Return [B, N] of [B, heads, rows, N]: the weighted mean over heads of the rows that reach the head."""
        read = self.replay.rows(self.replay.depth)
        weights = self.subject.classifier.head_rows(self.subject.encoding)[read]
        rows = products[:, :, read] if products.shape[2] > len(weights) else products
        return torch.einsum("r,bhrn->bn", torch.as_tensor(weights).to(products), rows) / products.shape[1]

    def _baselines(self, draws: Sequence[Draw]) -> Tensor:
        """Return float32 [k, heads, rows, N]. Noise starts at the row that is read, which may be the only one."""
        whole = self.replay.attention(draws[0].layer).cpu().double().numpy()
        every = np.arange(whole.shape[1])
        first = every[self.replay.rows(self.replay.depth)][0]
        rows = every[self.replay.rows(draws[0].layer)]
        order = (rows - first) % len(every)
        attention = whole[:, rows]
        drawn = (attention > 0).any(axis=0) if self.preset.masked else np.array(True)
        still = self._still[rows][:, None]
        diffused = []
        for draw in draws:
            noise = self.noise(draw, len(rows), len(whole), len(every))[order].swapaxes(0, 1)
            noise = np.where(still, self.preset.still * attention, noise * drawn)
            diffused.append(self.diffused(attention, draw, noise))
        return torch.as_tensor(np.stack(diffused), dtype=torch.float32, device=self.subject.classifier.device)


def layer_numbers(layers: str, depth: int) -> list[int]:
    """Return sorted numbers, from 1, of the ``layers`` (as in the parameters) in a model of ``depth`` layers.

    Raises :class:`RequestError` for a layer that the model does not have, naming those that it has.
    """
    if layers == "all":
        return list(range(1, depth + 1))
    numbers = [-1] if layers == "last" else [int(name) for name in layers.split(",")]
    for number in numbers:
        if abs(number) > depth:
            raise RequestError(f"The model has no layer {number}.", f"Its layers are 1 to {depth}.")
    return sorted({number if number > 0 else depth + 1 + number for number in numbers})


def share_replayed(layer: int, depth: int) -> float:
    """Return a replay's share of the work of a pass, above ``layer`` of ``depth``; the last layer costs hardly
    anything.
    """
    return max(depth - layer, LEAST_REPLAYED) / depth


class EmbeddingMaps(Maps):
    """Attributions from random word embeddings: every content token starts at √ᾱ mask + √(1 - ᾱ) noise."""

    def __init__(self, subject: Subject, parameters: EmbeddingParameters) -> None:
        super().__init__(subject, parameters.timesteps, PRESETS["paper"])
        self.layers = [0]
        self._steps = parameters.steps
        self._content = np.flatnonzero(subject.encoding.content)
        paths = parameters.samples * self.paths
        require_affordable(
            f"{self._steps:,} points on each of {paths:,} paths", paths * self._steps, subject.classifier.limits
        )

    @property
    def paths(self) -> int:
        """Number of paths per baseline."""
        return 1

    def baselines(self, draws: Sequence[Draw]) -> Tensor:
        """Return float32 [k, n_content, d] of ``draws``."""
        mask = self.subject.baseline("mask")[self._content].cpu().double().numpy()
        diffused = [self.diffused(mask, draw, self.noise(draw, *mask.shape)) for draw in draws]
        return torch.as_tensor(np.stack(diffused), dtype=torch.float32, device=self.subject.classifier.device)


class IntegratedMaps(EmbeddingMaps):
    """The gradient integrated along the line from each baseline to the text, by the right rule."""

    def tokens(self, draws: Sequence[Draw]) -> np.ndarray:
        starts = self.subject.embeddings.float().repeat(len(draws), 1, 1)
        starts[:, self._content] = self.baselines(draws)
        paths = [Path(self.subject, start) for start in starts]
        alphas, weights = nodes("right", self._steps)
        evaluate(paths, [alphas] * len(paths))
        return np.stack([weights @ path.slopes(alphas) for path in paths])


class SequentialMaps(EmbeddingMaps):
    """The gradient integrated, for each token, along a line on which it alone leaves its baseline (right rule)."""

    @property
    def paths(self) -> int:
        return len(self._content)

    def tokens(self, draws: Sequence[Draw]) -> np.ndarray:
        subject, baselines = self.subject, self.baselines(draws)
        text = subject.embeddings[self._content].float()
        alphas = torch.as_tensor(nodes("right", self._steps)[0], dtype=torch.float32, device=text.device)
        shape = (len(draws), len(text), self._steps)

        def points(part: slice) -> Tensor:
            draw, token, node = np.unravel_index(np.arange(part.start, part.stop), shape)
            batch = subject.embeddings.repeat(len(draw), 1, 1)
            row = torch.lerp(baselines[draw, token], text[token], alphas[node, None])
            batch[np.arange(len(draw)), self._content[token]] = row.to(batch.dtype)
            return batch

        scores = np.zeros((len(draws), len(subject.encoding)))
        for part, _, gradient in subject.gradients(points, int(np.prod(shape))):
            draw, token, _ = np.unravel_index(np.arange(part.start, part.stop), shape)
            row = gradient[np.arange(len(draw)), self._content[token]].float()
            slope = (row * (text[token] - baselines[draw, token])).sum(dim=-1).cpu().double().numpy()
            np.add.at(scores, (draw, self._content[token]), slope / self._steps)
        return scores
