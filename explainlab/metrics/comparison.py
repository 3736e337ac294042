"""Which methods a metric tells apart: differences to the best, critical differences, with corrected tests.

Values are float64 [M, T], of M methods for T texts; NaN where a metric is undefined for a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from explainlab.metrics.summary import bands

LEVEL = 0.05
"""A difference with a smaller corrected p is told apart from chance."""
FEWEST_TEXTS, FEWEST_METHODS = 5, 3
"""What a critical difference needs."""
_ENUMERATED, _EXACT = 13, 50
"""Up to so many differences all signs are enumerated; up to so many p may be exact without ties."""


@dataclass(frozen=True, eq=False)
class Means:
    """Means float64 [M] with their 95% intervals; NaN: not known. Fewer than two or equal values have no interval."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Comparison:
    """M methods by one metric: their means, and their differences to the ``best`` (its index; None: no mean is known).

    A difference is positive where the best is better; it is over the texts for which both are defined. ``p`` float64
    [M]: two-sided signed-rank tests, corrected by Holm; NaN for the best, and where no text differs. ``undefined`` and
    ``paired`` int64 [M]: texts without a value, and those that enter the difference.
    """

    means: Means
    undefined: np.ndarray
    best: int | None
    to_best: Means
    paired: np.ndarray
    p: np.ndarray

    def told_apart(self, method: int) -> bool | None:
        """Whether a method differs from the best beyond chance; None for the best, and without a common text."""
        if method == self.best or not self.paired[method]:
            return None
        return bool(self.p[method] < LEVEL)


def compare(metrics: Sequence[np.ndarray], higher: Sequence[bool], candidates: int) -> list[Comparison]:
    """Compare M methods by each of the ``metrics``, float64 [M, T]; ``higher``: whether higher values are better.

    The best is among the first ``candidates`` methods; the others are controls. Means and differences of all metrics
    share their bootstrap resamples (:func:`explainlab.metrics.summary.bands`).
    """
    best = [_best(values[:candidates], sign) for values, sign in zip(metrics, higher, strict=True)]
    rows = np.concatenate([*metrics, *metrics])
    differences = np.split(rows, 2 * len(metrics))[len(metrics) :]
    for values, difference, first, sign in zip(metrics, differences, best, higher, strict=True):
        difference[:] = (values[first or 0] - values) * (1 if sign else -1)
    means = _means(rows, [len(values) for values in metrics] * 2)
    return [
        Comparison(
            means=means[i],
            undefined=np.isnan(values).sum(axis=1),
            best=best[i],
            to_best=means[len(metrics) + i],
            paired=(~np.isnan(differences[i])).sum(axis=1),
            p=holm(signed_rank_p(differences[i])),
        )
        for i, values in enumerate(metrics)
    ]


def _best(values: np.ndarray, higher: bool) -> int | None:
    """The row with the best mean, the first of equal ones; None where no mean is known."""
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    means = np.where(known, values, 0.0).sum(axis=1) / np.maximum(counts, 1) * (1 if higher else -1)
    return int(np.where(counts > 0, means, -np.inf).argmax()) if counts.any() else None


def means_of(groups: Sequence[np.ndarray]) -> list[Means]:
    """The means of the rows of every group, float64 [M, T] each, over the same resamples."""
    return _means(np.concatenate(groups), [len(group) for group in groups])


def _means(rows: np.ndarray, sizes: Sequence[int]) -> list[Means]:
    """As :func:`means_of`, of groups of these ``sizes`` that stand under each other in ``rows``."""
    mean, low, high = bands(rows.T)
    flat = np.fmax.reduce(rows, axis=1) <= np.fmin.reduce(rows, axis=1)
    low[flat] = high[flat] = np.nan
    ends = np.cumsum(sizes)[:-1]
    columns = (np.split(column, ends) for column in (mean, low, high))
    return [Means(*parts) for parts in zip(*columns, strict=True)]


# Tests ---------------------------------------------------------------------------------------------------------------


def signed_rank_p(differences: np.ndarray) -> np.ndarray:
    """float64 [R]: two-sided p of Wilcoxon's signed-rank test of every row of ``differences`` float64 [R, T].

    NaN differences are left out; zeros keep their ranks, split between both signs; p is NaN where all are zero. As
    ``scipy.stats.wilcoxon`` with ``zero_method="zsplit"``, but no row's p depends on the others.
    """
    known = ~np.isnan(differences)
    differing = (np.where(known, differences, 0.0) != 0).any(axis=1)
    many = differing & (known.sum(axis=1) > _EXACT)
    p = np.full(len(differences), np.nan)
    if many.any():
        p[many] = wilcoxon(differences[many], zero_method="zsplit", axis=1, nan_policy="omit").pvalue
    for row in np.flatnonzero(differing & ~many):
        p[row] = _few(differences[row, known[row]])
    return p


def _few(differences: np.ndarray) -> float:
    """The p of at most :data:`_EXACT` differences, none of them NaN; the signs of a few are enumerated, ties or not."""
    if len(differences) > _ENUMERATED:
        return float(wilcoxon(differences, zero_method="zsplit").pvalue)
    ranks = rankdata(np.abs(differences)) * (differences != 0)
    sums = _signs(len(differences)) @ ranks
    return float((np.abs(sums) >= abs(np.sign(differences) @ ranks) - 1e-9).mean())


@cache
def _signs(n: int) -> np.ndarray:
    """float64 [2^n, n]: every choice of ``n`` signs."""
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return 2.0 * bits - 1


def holm(p: np.ndarray) -> np.ndarray:
    """The values ``p`` float64 [R] corrected for the number of those that are not NaN (Holm 1979, step down)."""
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return corrected


# Critical difference -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CriticalDifference:
    """The average ``ranks`` float64 [M] of M methods over ``texts`` texts, 1 the best, and which are not told apart.

    ``friedman``: the p of Friedman's test (None: all values are equal). ``p`` float64 [M, M]: signed-rank tests of all
    pairs, corrected by Holm; NaN for equal values. ``groups``: indices of methods none of whose pairs differs, each in
    the order of the ranks; a group that is part of another is left out. Where Friedman's test finds no difference all
    are one group. ``none`` says why there is no diagram; then there are ranks (NaN without texts) alone.
    """

    ranks: np.ndarray
    texts: int
    friedman: float | None = None
    p: np.ndarray | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    none: str = ""


def critical_difference(values: np.ndarray, higher: bool) -> CriticalDifference:
    """Demšar's comparison of M methods over the texts for which ``values`` float64 [M, T] are all defined.

    Pairs are tested by signed ranks instead of Nemenyi's test (Benavoli et al. 2016).
    """
    methods = len(values)
    whole = values[:, ~np.isnan(values).any(axis=0)]
    texts = whole.shape[1]
    ranks = rankdata(-whole if higher else whole, axis=0).mean(axis=1) if texts else np.full(methods, np.nan)
    if methods < FEWEST_METHODS:
        return CriticalDifference(ranks, texts, none=f"A diagram needs at least {FEWEST_METHODS} methods.")
    if texts < FEWEST_TEXTS:
        why = f"A diagram needs at least {FEWEST_TEXTS} texts for which every method has a value."
        return CriticalDifference(ranks, texts, none=why)
    pairs = list(combinations(range(methods), 2))
    corrected = holm(signed_rank_p(np.stack([whole[i] - whole[j] for i, j in pairs])))
    p = np.full((methods, methods), np.nan)
    for (i, j), value in zip(pairs, corrected, strict=True):
        p[i, j] = p[j, i] = value
    equal = bool((whole == whole[0]).all())
    friedman = None if equal else float(friedmanchisquare(*whole).pvalue)
    order = np.argsort(ranks, kind="stable")
    differ = (p < LEVEL)[np.ix_(order, order)] & (friedman is not None and friedman < LEVEL)
    groups = tuple(tuple(order[start:end].tolist()) for start, end in _runs(differ))
    return CriticalDifference(ranks, texts, friedman, p, groups)


def _runs(differ: np.ndarray) -> list[tuple[int, int]]:
    """The longest runs [start, end) of two or more neighbours of which no pair differs; ``differ`` bool [M, M]."""
    runs: list[tuple[int, int]] = []
    for start in range(len(differ) - 1):
        end = start + 1
        while end < len(differ) and not differ[start:end, end].any():
            end += 1
        if end - start > 1 and (not runs or end > runs[-1][1]):
            runs.append((start, end))
    return runs
