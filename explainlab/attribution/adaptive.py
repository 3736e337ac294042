"""Adaptive integration: gradients are spent at changes of the integrand, and the error is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explainlab.attribution.path import Path, evaluate
from explainlab.attribution.records import cancels

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
        """Return float64 [points]: all points of the panels; at the end, the points behind the scores."""
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
        """Return float64 [panels, 5]: dyadic fractions, exact in floating point."""
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
