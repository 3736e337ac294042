"""The straight line from a baseline to a text, and everything that was ever evaluated on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from explainlab.attribution.subject import Subject
from explainlab.models.batching import Batcher
from explainlab.models.inputs import Inputs


class Path:
    """x′ + α (x - x′) in word-embedding space, for α from 0 (the baseline) to 1 (the text).

    Every point that was evaluated is remembered by its α, so that rules, step counts and refinements share it.
    """

    def __init__(self, subject: Subject, baseline: Tensor) -> None:
        self.subject = subject
        self._start = baseline.float()
        self._end = subject.embeddings.float()
        self._values: dict[float, float] = {}
        self._slopes: dict[float, np.ndarray] = {}

    @property
    def evaluations(self) -> int:
        """Gradients evaluated so far."""
        return len(self._slopes)

    @property
    def change(self) -> float:
        """F(x) - F(x′), what all scores should add up to."""
        start, end = self.values(np.array([0.0, 1.0]))
        return float(end - start)

    def slopes(self, alphas: np.ndarray) -> np.ndarray:
        """float64 [k, N]: Σ_d (x - x′) · ∂F/∂x at ``alphas`` [k], the derivative of F along the path by token."""
        evaluate(self.subject.batcher, [self], [alphas])
        return np.array([self._slopes[alpha] for alpha in alphas.tolist()]).reshape(len(alphas), -1)

    def values(self, alphas: np.ndarray) -> np.ndarray:
        """float64 [k]: F at ``alphas`` [k]; a forward pass where no gradient was evaluated."""
        missing = np.array([alpha for alpha in dict.fromkeys(alphas.tolist()) if alpha not in self._values])
        if len(missing):
            found = self.subject.values(self.points(missing))
            self._values |= zip(missing.tolist(), found.tolist(), strict=True)
        return np.array([self._values[alpha] for alpha in alphas.tolist()])

    def points(self, alphas: np.ndarray) -> Tensor:
        """Word embeddings [k, N, d], in the model's numbers."""
        position = torch.as_tensor(alphas, dtype=torch.float32, device=self._start.device)[:, None, None]
        return torch.lerp(self._start, self._end, position).to(self.subject.embeddings.dtype)

    def missing(self, alphas: np.ndarray) -> list[float]:
        """Those of ``alphas`` whose gradient is not known yet, each once, the text itself (α = 1) first."""
        return sorted({alpha for alpha in alphas.tolist() if alpha not in self._slopes}, reverse=True)

    def absorb(self, alphas: Sequence[float], logits: np.ndarray, gradients: Tensor) -> Tensor:
        """Count k passes at ``alphas``, keep F from ``logits`` [k, classes], and return the slopes [k, N] to keep."""
        self.subject.forward += len(alphas)
        self.subject.backward += len(alphas)
        self._values |= zip(alphas, self.subject.scalar(logits).tolist(), strict=True)
        return torch.einsum("knd,nd->kn", gradients.float(), self._end - self._start)

    def keep(self, alphas: Sequence[float], slopes: np.ndarray) -> None:
        """Remember float64 ``slopes`` [k, N] at ``alphas``."""
        self._slopes |= zip(alphas, slopes, strict=True)


def evaluate(batcher: Batcher, paths: Sequence[Path], alphas: Sequence[np.ndarray]) -> None:
    """Evaluate F and its gradient at ``alphas[i]`` of ``paths[i]``, batched across texts; what is known is not run.

    Longer texts come first, so that texts of one batch differ little in length. A text that is not yet seen fixes its
    target in the batch that holds its α = 1.
    """
    order = sorted(range(len(paths)), key=lambda i: -len(paths[i].subject.encoding))
    points = [(i, alpha) for i in order for alpha in paths[i].missing(alphas[i])]
    lengths = np.array([len(paths[i].subject.encoding) for i, _ in points])

    def run(part: slice) -> None:
        groups = groupby(points[part], key=lambda point: point[0])
        _evaluate_batch([(paths[i], [alpha for _, alpha in group]) for i, group in groups])

    for _ in batcher.over(lengths, run, gradients=True, phase="gradients"):
        pass


def _evaluate_batch(parts: list[tuple[Path, list[float]]]) -> None:
    """One forward and one backward pass over points of several paths, the longest text first."""
    classifier = parts[0][0].subject.classifier
    length = len(parts[0][0].subject.encoding)
    ends = np.cumsum([len(alphas) for _, alphas in parts]).tolist()
    slices = [slice(end - len(alphas), end) for end, (_, alphas) in zip(ends, parts, strict=True)]
    batch = torch.cat([_padded(path.points(np.array(alphas)), length) for path, alphas in parts]).requires_grad_()
    inputs = Inputs.of([path.subject.encoding for path, _ in parts], classifier.pad_id, classifier.device)
    logits = classifier.logits(inputs.repeat(*(len(alphas) for _, alphas in parts)), batch)
    found = classifier.finite(logits.detach())
    total = logits.new_zeros(())
    for (path, alphas), rows in zip(parts, slices, strict=True):
        if alphas[0] == 1:
            path.subject.see(found[rows][0])
        total = total + path.subject.explained(logits[rows]).sum()
    (gradients,) = torch.autograd.grad(total, batch)
    slopes = [
        _padded(path.absorb(alphas, found[rows], gradients[rows, : len(path.subject.encoding)])[..., None], length)
        for (path, alphas), rows in zip(parts, slices, strict=True)
    ]
    kept = torch.cat(slopes)[..., 0].cpu().double().numpy()
    for (path, alphas), rows in zip(parts, slices, strict=True):
        path.keep(alphas, kept[rows, : len(path.subject.encoding)])


def _padded(points: Tensor, length: int) -> Tensor:
    """[k, N, d] filled up to [k, length, d] with zeros, which the attention mask hides."""
    return pad(points, (0, 0, 0, length - points.shape[1])) if points.shape[1] < length else points
