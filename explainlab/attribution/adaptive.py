"""Integration along a path that spends its gradients where the integrand moves, and knows how far it got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explainlab.attribution.path import Path, evaluate

NODES = np.arange(5) / 4
BOOLE = np.array([7, 32, 12, 32, 7]) / 90
SIMPSON = np.array([1, 0, 4, 0, 1]) / 6
FIRST_PANELS = 2
LEAST_GAIN = 0.2
"""Boole's error is never taken to be less than this share of Simpson's."""
LEFT = 0.5
"""Panels that together hold less than this share of the tolerance are not halved."""
CANCELS = 0.001
"""Where F(x) - F(x′) is less than this share of Σ|φ|, an error relative to it means nothing."""


def cancels(change: float, scores: np.ndarray) -> bool:
    """Whether float64 [n] ``scores`` cancel: errors relative to their total are moot, so small is it beside them."""
    return bool(abs(change) <= CANCELS * np.abs(scores).sum())


@dataclass(frozen=True)
class Stage:
    """Where a refinement stood after a round: gradients spent, and the two errors that decide whether it goes on.

    ``approximation_error`` is that of the total (None where the scores cancel), ``estimated_error`` the estimate of
    the scores' error, L1 and relative.
    """

    evaluations: int
    approximation_error: float | None
    estimated_error: float


class Refinement:
    """Adaptive integration of all tokens' slopes along one path.

    [0, 1] is cut into panels of five equidistant points. A panel whose error is too large is halved, which keeps all
    its points: each half needs two new ones. Boole's rule on a panel gives its share of the scores.

    *The error estimate.* On a panel the integral of all tokens' slopes together is known for nothing: it is ΔF, and
    every gradient yields F. So how far Boole's rule improves on Simpson's (every second point) is not assumed but
    measured there, ρ = |ΔF - Σ boole| / |Σ boole - Σ simpson|, and a token's error is estimated as
    ρ |boole - simpson|. A total can be right by luck while tokens are wrong, most of all on a wide panel, hence
    ρ >= 0.2 and ρ >= the panel's width; |boole - simpson| itself stands for the error of the coarser rule, hence
    ρ <= 1. A peak that shows neither in a slope at any point nor in F between any two of them goes unseen, as it does
    for every rule that looks at points.

    ``scores`` and ``errors`` float64 [N] stand for what is known; ``trace`` has one :class:`Stage` a round.
    """

    def __init__(self, path: Path, tolerance: float, max_steps: int) -> None:
        self.path = path
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.trace: list[Stage] = []
        self._edges = np.arange(FIRST_PANELS + 1) / FIRST_PANELS

    @property
    def wanted(self) -> np.ndarray:
        """float64 [points]: all points of the panels; once it has ended, those that gave the scores."""
        return np.unique(self._points)

    @property
    def reached(self) -> bool:
        """Whether both errors were within the tolerance at the end."""
        last = self.trace[-1]
        return last.estimated_error <= self.tolerance and (last.approximation_error or 0.0) <= self.tolerance

    def advance(self) -> bool:
        """Judge the panels, whose points are known by now, and halve those that need it; False when it has ended."""
        boole, spread, missed = self._panels()
        self.scores = boole.sum(axis=0)
        self.errors = spread.sum(axis=0)
        size = max(np.abs(self.scores).sum(), np.finfo(float).tiny)
        change = self.path.change
        excess = spread.sum(axis=1) / size
        total_error = None
        if not cancels(change, self.scores):
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
        """Of every panel its scores [panels, N], their estimated errors, and the error of its total [panels]."""
        points, width = self._points, np.diff(self._edges)
        slopes = self.path.slopes(points.ravel()).reshape(*points.shape, -1)
        boole = width[:, None] * np.einsum("k,pkn->pn", BOOLE, slopes)
        change = boole - width[:, None] * np.einsum("k,pkn->pn", SIMPSON, slopes)
        missed = np.diff(self.path.values(self._edges)) - boole.sum(axis=1)
        gained = np.abs(missed) / np.maximum(np.abs(change.sum(axis=1)), np.finfo(float).tiny)
        gained = np.clip(gained, np.maximum(LEAST_GAIN, width), 1)
        return boole, gained[:, None] * np.abs(change), missed

    def _halve(self, excess: np.ndarray, room: int) -> None:
        """Halve the panels of the largest ``excess`` (in tolerances) until the rest holds little; at most ``room``."""
        order = np.argsort(-excess, kind="stable")
        rest = excess.sum() - np.cumsum(excess[order])
        needed = 1 + int(np.argmax(rest < LEFT))
        halved = order[: min(needed, room)]
        middles = (self._edges[halved] + self._edges[halved + 1]) / 2
        self._edges = np.sort(np.concatenate([self._edges, middles]))


def refine(refinements: Sequence[Refinement]) -> None:
    """Take all ``refinements`` to their end; the points that they want in one round run together, across texts."""
    going = list(refinements)
    while going:
        evaluate([r.path for r in going], [r.wanted for r in going])
        going = [r for r in going if r.advance()]
