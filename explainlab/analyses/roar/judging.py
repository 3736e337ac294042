"""Curves, faithfulness, verdicts and leaks from the performance of all models (paper 003, Eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.grid import Grid, GridCell
from explainlab.analyses.roar.parameters import WHOLE
from explainlab.analyses.roar.result import CurvePoint, Estimated, Faithfulness, Leak, Verdict

FEWEST_SEEDS = 3
"""Seeds from which there are intervals."""
RESAMPLES = 9_999
UPTO = (20, 50)
"""Ratios that end the partial areas of faithfulness, beside the whole area."""
Performance: TypeAlias = "dict[GridCell, float | None]"
"""By place; None while it is not known."""


def estimated(values: Sequence[float | None]) -> Estimated:
    """Return the mean with its 95% interval by the bias-corrected and accelerated bootstrap (9,999 resamples, seed 0).

    Unknown values (None) are ignored. Fewer than three values, or equal ones, have no interval.
    """
    known = np.array([value for value in values if value is not None])
    low = high = None
    if len(known) >= FEWEST_SEEDS and np.ptp(known) > 0:
        random = np.random.default_rng(0)
        found = scipy.stats.bootstrap((known,), np.mean, n_resamples=RESAMPLES, rng=random).confidence_interval
        if np.isfinite([found.low, found.high]).all():
            low, high = float(found.low), float(found.high)
    return Estimated(mean=float(known.mean()) if len(known) else None, low=low, high=high, seeds=list(values))


def verdict(difference: Estimated) -> Verdict | None:
    """Compare a measure with random, by the interval of random's performance minus its own.

    None without an interval, unless all seeds are equal: then by the value itself.
    """
    if difference.mean is None:
        return None
    low, high = difference.low, difference.high
    if low is None or high is None:
        if len(known_seeds(difference)) < FEWEST_SEEDS:
            return None
        low = high = difference.mean
    if low > 0:
        return "below random"
    return "above random" if high < 0 else "not told apart"


def known_seeds(estimate: Estimated) -> list[float]:
    """Return the values of ``estimate`` that are known."""
    return [value for value in estimate.seeds if value is not None]


def area(ratios: Sequence[int], differences: Sequence[float]) -> float:
    """Return ∑ ½ Δr (D + D'), by the trapezoidal rule."""
    return float(np.trapezoid(differences, ratios))


class _Curve(NamedTuple):
    """The performance of one seed at each ratio, None where it is not known."""

    own: list[float | None]
    random: list[float | None]
    bound: float | None


class Judge:
    """The performance of all places of a ``grid``, compared."""

    def __init__(self, grid: Grid, performance: Performance, clip: bool) -> None:
        self._grid, self._performance, self._clip = grid, performance, clip

    def at(self, measure: str, recursive: bool, ratio: int) -> Estimated:
        """Return the performance at a ratio over seeds."""
        return estimated(self._values(measure, recursive, ratio))

    def curves(self) -> list[CurvePoint]:
        """Return random's curve, then those of all measures."""
        return [
            self._point(measure, recursive, ratio)
            for measure, recursive in self._all_curves()
            for ratio in self._grid.steps
        ]

    def faithfulness(self) -> list[Faithfulness]:
        """Return the faithfulness of each measure up to 20, up to 50, and over the whole area."""
        grid = self._grid
        last = grid.between[-1] if grid.counted else WHOLE
        ends = [*(upto for upto in UPTO if upto in grid.steps and upto < last), last]
        return [self._faithful(name, recursive, upto) for recursive, name in grid.curves for upto in ends]

    def leaks(self) -> list[Leak]:
        """Find the ratios where performance rises by more than twice its standard error over seeds; none for one."""
        found = []
        for measure, recursive in self._all_curves():
            for before, ratio in zip(self._grid.steps[:-1], self._grid.steps[1:], strict=True):
                pairs = zip(
                    self._values(measure, recursive, before), self._values(measure, recursive, ratio), strict=True
                )
                rises = np.array([b - a for a, b in pairs if a is not None and b is not None])
                if len(rises) > 1 and rises.mean() > 2 * rises.std(ddof=1) / len(rises) ** 0.5:
                    rise = float(rises.mean())
                    found.append(Leak(measure=measure, recursive=recursive, before=before, ratio=ratio, rise=rise))
        return found

    def _all_curves(self) -> list[tuple[str, bool]]:
        return [(RANDOM, False), *((name, recursive) for recursive, name in self._grid.curves)]

    def _values(self, measure: str, recursive: bool, ratio: int) -> list[float | None]:
        place = self._grid.steps.index(ratio)
        return [self._performance[self._grid.curve(seed, measure, recursive)[place]] for seed in self._grid.seeds]

    def _point(self, measure: str, recursive: bool, ratio: int) -> CurvePoint:
        own = self._values(measure, recursive, ratio)
        names = {"measure": measure, "recursive": recursive, "ratio": ratio}
        if measure == RANDOM or ratio in (0, WHOLE):
            return CurvePoint(**names, **estimated(own).model_dump())
        random = self._values(RANDOM, False, ratio)
        difference = estimated([_minus(b, p) for b, p in zip(random, own, strict=True)])
        return CurvePoint(**names, **estimated(own).model_dump(), difference=difference, verdict=verdict(difference))

    def _faithful(self, measure: str, recursive: bool, upto: int) -> Faithfulness:
        ratios = [ratio for ratio in self._grid.steps if ratio <= upto]
        above: list[float | None] = []
        shares: list[float | None] = []
        for seed in self._grid.seeds:
            curve = self._seed(seed, measure, recursive, len(ratios))
            areas = _areas(ratios, curve)
            above.append(None if areas is None else areas[0])
            share = None if areas is None or areas[1] == 0 else areas[0] / areas[1]
            shares.append(share if share is None or not self._clip else float(np.clip(share, -1, 1)))
        names = {"measure": measure, "recursive": recursive, "upto": upto}
        return Faithfulness(**names, **estimated(shares).model_dump(), verdict=verdict(estimated(above)))

    def _seed(self, seed: int, measure: str, recursive: bool, number: int) -> _Curve:
        own = [self._performance[place] for place in self._grid.curve(seed, measure, recursive)[:number]]
        random = [self._performance[place] for place in self._grid.curve(seed, RANDOM, False)[:number]]
        return _Curve(own, random, self._performance[GridCell(seed, RANDOM, False, WHOLE)])


def _areas(ratios: Sequence[int], curve: _Curve) -> tuple[float, float] | None:
    """Return the area between the curves of random and a measure, and of random and the lower bound; None: unknown."""
    own = [_minus(b, p) for b, p in zip(curve.random, curve.own, strict=True)]
    bound = [_minus(b, curve.bound) for b in curve.random]
    known_own, known_bound = ([value for value in values if value is not None] for values in (own, bound))
    if len(known_own) < len(ratios) or len(known_bound) < len(ratios):
        return None
    return area(ratios, known_own), area(ratios, known_bound)


def _minus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b
