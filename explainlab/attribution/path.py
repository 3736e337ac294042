"""The straight line from a baseline to a text: quadrature nodes, values and slopes on it, and adaptive integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from scipy.special import roots_legendre
from torch import Tensor

from explainlab.attribution import passes
from explainlab.attribution.batch import Batch, stream
from explainlab.attribution.records import cancels
from explainlab.attribution.subject import Subject

Rule = Literal["gauss_legendre", "right", "left", "midpoint", "trapezoid"]


@lru_cache(maxsize=1024)
def nodes(rule: Rule, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions α and the weights of a quadrature, both float64; the weights of every rule sum to 1.

    A rule has ``steps`` evaluations; ``trapezoid`` has ``steps`` + 1, for ``steps`` intervals. Equal fractions of
    different step counts are equal floats, so rules and counts share points. ``gauss_legendre`` integrates polynomials
    up to degree 2·steps - 1 exactly.
    """
    if rule == "gauss_legendre":
        x, w = roots_legendre(steps)  # numpy's takes minutes for thousands of nodes
        return (x + 1) / 2, w / 2
    if rule == "trapezoid":
        weights = np.full(steps + 1, 1 / steps)
        weights[[0, -1]] /= 2
        return np.arange(steps + 1) / steps, weights
    shift = {"left": 0.0, "midpoint": 0.5, "right": 1.0}[rule]
    return (np.arange(steps) + shift) / steps, np.full(steps, 1 / steps)


class Path:
    """The points x′ + α (x - x′) in word-embedding space, for α from 0 (the baseline) to 1 (the text).

    Every evaluated point is cached by its α and shared by rules, step counts and refinements.
    """

    def __init__(self, subject: Subject, baseline: Tensor) -> None:
        self.subject = subject
        self._start = baseline.float()
        self._end = subject.embeddings.float()
        self._values: dict[float, float] = {}
        self._slopes: dict[float, np.ndarray] = {}

    @property
    def evaluations(self) -> int:
        """Number of evaluated gradients."""
        return len(self._slopes)

    @property
    def change(self) -> float:
        """F(x) - F(x′), the promised sum of all scores."""
        start, end = self.values(np.array([0.0, 1.0]))
        return float(end - start)

    def slopes(self, alphas: np.ndarray) -> np.ndarray:
        """Return float64 [k, N]: Σ_d (x - x′) · ∂F/∂x at ``alphas`` [k], the slope of F along the path by token."""
        evaluate([self], [alphas])
        return np.array([self._slopes[alpha] for alpha in alphas.tolist()]).reshape(len(alphas), -1)

    def values(self, alphas: np.ndarray) -> np.ndarray:
        """Return float64 [k]: F at ``alphas`` [k]; a forward pass for each that is unknown."""
        if unread := self.unread(alphas):
            self.know(unread, self.subject.values(self.points(np.array(unread))))
        return np.array([self._values[alpha] for alpha in alphas.tolist()])

    def points(self, alphas: np.ndarray) -> Tensor:
        """Return word embeddings [k, N, d], in the model's dtype."""
        position = torch.as_tensor(alphas, dtype=torch.float32, device=self._start.device)[:, None, None]
        return torch.lerp(self._start, self._end, position).to(self.subject.embeddings.dtype)

    def missing(self, alphas: np.ndarray) -> list[float]:
        """Return distinct ``alphas`` whose gradient is unknown, the text itself (α = 1) first."""
        return sorted({alpha for alpha in alphas.tolist() if alpha not in self._slopes}, reverse=True)

    def unread(self, alphas: np.ndarray) -> list[float]:
        """Return distinct ``alphas`` whose value is unknown."""
        return [alpha for alpha in dict.fromkeys(alphas.tolist()) if alpha not in self._values]

    def know(self, alphas: Sequence[float], values: np.ndarray) -> None:
        """Remember F as float64 ``values`` [k] at ``alphas``."""
        self._values |= zip(alphas, values.tolist(), strict=True)

    def along(self, gradients: Tensor) -> Tensor:
        """Return float32 [k, N]: Σ_d (x - x′) · ``gradients`` [k, N, d]."""
        return torch.einsum("knd,nd->kn", gradients.float(), self._end - self._start)

    def keep(self, alphas: Sequence[float], logits: np.ndarray, slopes: np.ndarray) -> None:
        """Remember F, from float64 ``logits`` [k, classes], and float64 ``slopes`` [k, N] at ``alphas``."""
        self.know(alphas, self.subject.scalar(logits))
        self._slopes |= zip(alphas, slopes, strict=True)


def evaluate(paths: Sequence[Path], alphas: Sequence[np.ndarray]) -> None:
    """Evaluate F and its gradient at ``alphas[i]`` of ``paths[i]``, batched across texts; known points are not run.

    A text not seen yet fixes its target in the batch with its α = 1.
    """
    missing = [path.missing(wanted) for path, wanted in zip(paths, alphas, strict=True)]

    def run(batch: Batch) -> None:
        owners = [(paths[part.number], missing[part.number][part.points]) for part in batch.parts]
        points = batch.stacked([path.points(np.array(own)) for path, own in owners]).requires_grad_()
        logits = batch.classifier.logits(batch.inputs, points)
        finite = batch.classifier.finite(logits.detach())
        for (path, own), part in zip(owners, batch.parts, strict=True):
            if own[0] == 1:
                path.subject.see(finite[part.rows.start])
        (gradients,) = torch.autograd.grad(batch.explained(logits).sum(), points)
        batch.count(forward=1, backward=1)
        slopes = batch.stacked(
            [path.along(part.own(gradients)) for (path, _), part in zip(owners, batch.parts, strict=True)]
        )
        kept = slopes.cpu().double().numpy()
        for (path, own), part in zip(owners, batch.parts, strict=True):
            path.keep(own, finite[part.rows], part.own(kept))

    subjects = [path.subject for path in paths]
    for _ in stream(subjects, [len(own) for own in missing], run, gradients=True, phase="gradients"):
        pass


def read_ends(paths: Sequence[Path]) -> None:
    """Evaluate F at both ends of every path: a forward pass for each that is unknown."""
    ends = np.array([0.0, 1.0])
    unknown = [path for path in paths if path.unread(ends)]
    points = [path.points(np.array(path.unread(ends))) for path in unknown]
    for path, values in zip(unknown, passes.values([path.subject for path in unknown], points), strict=True):
        path.know(path.unread(ends), values)


NODES = np.arange(5) / 4
BOOLE = np.array([7, 32, 12, 32, 7]) / 90
SIMPSON = np.array([1, 0, 4, 0, 1]) / 6
FIRST_PANELS = 2
LEAST_GAIN = 0.2
"""The smallest estimate of Boole's error, as a share of Simpson's."""
LEFT = 0.5
"""The share of the tolerance below which the remaining panels are not halved."""


@dataclass(frozen=True)
class Stage:
    """A refinement after a round: gradients spent, and the two errors that decide whether it continues.

    ``approximation_error``: relative error of the total (None where the scores cancel). ``estimated_error``: estimate
    of the scores' error, L1 and relative.
    """

    evaluations: int
    approximation_error: float | None
    estimated_error: float


class Refinement:
    """Adaptive integration of all tokens' slopes along a path.

    [0, 1] is cut into panels of five equidistant points. A panel whose error is too large is halved. All its points
    are kept: each half needs two new points. Boole's rule on a panel gives its share of the scores.

    *The error estimate.* The integral of all tokens' slopes over a panel is known: it is ΔF, and every gradient yields
    F. So the improvement of Boole's rule on Simpson's (every second point) is measured there:
    ρ = |ΔF - Σ boole| / |Σ boole - Σ simpson|. A token's error is estimated as ρ |boole - simpson|. A total can be
    right by luck while tokens are wrong, most of all on a wide panel, hence ρ >= 0.2 and ρ >= the panel's width.
    |boole - simpson| itself estimates the error of the coarser rule, hence ρ <= 1. As with every rule of points, a
    peak between the points that changes neither slopes nor F there is missed.

    ``scores`` and ``errors`` float64 [N] are those of the last round; ``trace`` has a :class:`Stage` per round.
    """

    def __init__(self, path: Path, tolerance: float, max_steps: int) -> None:
        self.path = path
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.trace: list[Stage] = []
        self._edges = np.arange(FIRST_PANELS + 1) / FIRST_PANELS

    @property
    def wanted(self) -> np.ndarray:
        """float64 [points]: all points of the panels; at the end, the points behind the scores."""
        return np.unique(self._points)

    @property
    def reached(self) -> bool:
        """True if both errors were within the tolerance at the end."""
        last = self.trace[-1]
        return last.estimated_error <= self.tolerance and (last.approximation_error or 0.0) <= self.tolerance

    @property
    def cancels(self) -> bool:
        """True if the scores cancel: their total is too small for errors relative to it."""
        return cancels(self.path.change, float(np.abs(self.scores).sum()))

    def advance(self) -> bool:
        """Evaluate the panels, whose points are known by now, and halve those with large errors; False at the end."""
        boole, spread, missed = self._panels()
        self.scores = boole.sum(axis=0)
        self.errors = spread.sum(axis=0)
        size = max(np.abs(self.scores).sum(), np.finfo(float).tiny)
        change = self.path.change
        excess = spread.sum(axis=1) / size
        total_error = None
        if not self.cancels:
            total_error = float(abs(missed.sum()) / abs(change))
            excess = excess + np.abs(missed) / abs(change)
        self.trace.append(Stage(len(self.wanted), total_error, float(self.errors.sum() / size)))
        room = (self.max_steps - len(self.wanted)) // 4
        if self.reached or room < 1:
            return False
        self._halve(excess / self.tolerance, room)
        return True

    @property
    def _points(self) -> np.ndarray:
        """float64 [panels, 5]: dyadic fractions, exact in floating point."""
        return self._edges[:-1, None] + np.diff(self._edges)[:, None] * NODES

    def _panels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the scores [panels, N] of every panel, their estimated errors, and the errors of their totals
        [panels].
        """
        points, width = self._points, np.diff(self._edges)
        slopes = self.path.slopes(points.ravel()).reshape(*points.shape, -1)
        boole = width[:, None] * np.einsum("k,pkn->pn", BOOLE, slopes)
        change = boole - width[:, None] * np.einsum("k,pkn->pn", SIMPSON, slopes)
        missed = np.diff(self.path.values(self._edges)) - boole.sum(axis=1)
        gained = np.abs(missed) / np.maximum(np.abs(change.sum(axis=1)), np.finfo(float).tiny)
        gained = np.clip(gained, np.maximum(LEAST_GAIN, width), 1)
        return boole, gained[:, None] * np.abs(change), missed

    def _halve(self, excess: np.ndarray, room: int) -> None:
        """Halve the panels of the largest ``excess`` (in tolerances) until little is left; at most ``room``."""
        order = np.argsort(-excess, kind="stable")
        rest = excess.sum() - np.cumsum(excess[order])
        needed = 1 + int(np.argmax(rest < LEFT))
        halved = order[: min(needed, room)]
        middles = (self._edges[halved] + self._edges[halved + 1]) / 2
        self._edges = np.sort(np.concatenate([self._edges, middles]))


def refine(refinements: Sequence[Refinement]) -> None:
    """Run all ``refinements`` to their end; the points of a round run together, across texts."""
    unfinished = list(refinements)
    while unfinished:
        evaluate([r.path for r in unfinished], [r.wanted for r in unfinished])
        unfinished = [r for r in unfinished if r.advance()]
