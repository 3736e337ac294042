"""Means with intervals, and comparisons of methods by a metric: to the best, critical, and of their maps.

Values are float64 [M, T], of M methods for T texts; NaN where a metric is undefined for a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, islice
from typing import Literal

import numpy as np
import scipy

RESAMPLES = 2_000
_RESAMPLES_AT_ONCE = 4_000_000
"""Numbers of resamples in memory; the resampled values take a quarter of that."""
_LITTLE = 50_000
"""Numbers that fit a processor's cache."""


def bootstrap(values: Sequence[float], seed: int = 0) -> tuple[float | None, float | None, float | None]:
    """Return the mean, and the ends of its 95% interval by the percentile bootstrap (2,000 resamples; Efron 1979).

    The interval is None for fewer than two values or where all are equal; the mean is None for none.
    """
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        return None, None, None
    if np.ptp(sample) == 0:
        return float(sample.mean()), None, None
    mean, low, high = (float(row[0]) for row in bands(sample[:, None], seed))
    return mean, low, high


def bands(values: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, low and high of :func:`bootstrap`, float64 [M] each, for every column of ``values`` float64 [n, M].

    All columns share their resamples. NaN is a value that is not known: each mean is over those that are, and NaN where
    there are none. Where all values of a column are equal the three are.
    """
    return bands_of(lambda: [values], len(values), seed)


def bands_of(
    groups: Callable[[], Iterable[np.ndarray]], n: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return :func:`bands` of columns that ``groups`` yields at each call, some float64 [n, w] together.

    Only one group of columns is in memory at a time.
    """
    rng, rows = np.random.default_rng(seed), max(1, _RESAMPLES_AT_ONCE // n)
    parts = []
    with np.errstate(invalid="ignore"):
        mean = np.concatenate([_mean(values) for values in groups()])
        for start in range(0, RESAMPLES, rows):
            drawn = _drawn(rng, min(rows, RESAMPLES - start), n)
            parts.append(np.concatenate([_resampled(drawn, values) for values in groups()], axis=1))
    means = np.concatenate(parts).T
    low, high = np.full((2, len(mean)), np.nan)
    somewhere = np.isnan(means).any(axis=1)
    for quantile, chosen in ((np.percentile, ~somewhere), (np.nanpercentile, somewhere & ~np.isnan(mean))):
        if chosen.any():
            low[chosen], high[chosen] = quantile(np.ascontiguousarray(means[chosen]), [2.5, 97.5], axis=1)
    return mean, low, high


def together(
    rows: Iterable[np.ndarray], count: int, n: int, least: int = 1, axis: Literal[0, 1] = 0
) -> Iterator[np.ndarray]:
    """Yield the ``count`` rows float64 [n] in groups of about equal size that fit into memory.

    A group is float64 [m, n], or [n, m] for the ``axis`` 1, and has at least ``least`` rows, if there are as many.
    """
    groups = max(1, min(count // least, -(-4 * count * n // _RESAMPLES_AT_ONCE)))
    remaining = iter(rows)
    for group in range(groups):
        yield np.stack([*islice(remaining, count * (group + 1) // groups - count * group // groups)], axis)


def _mean(values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    sums: np.ndarray = np.where(known, values, 0.0).sum(axis=0)
    sums /= known.sum(axis=0)
    return sums


def _resampled(drawn: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return float64 [R, w]: the means of the columns of ``values`` float64 [n, w] in resamples ``drawn`` float64 [R,
    n].
    """
    unknown = np.isnan(values)
    if not unknown.any():
        means: np.ndarray = drawn @ values / len(values)
        return means
    means = drawn @ np.where(unknown, 0.0, values) / (drawn @ ~unknown)
    return means


def _drawn(rng: np.random.Generator, resamples: int, n: int) -> np.ndarray:
    """Return float64 [resamples, n]: the number of draws of each of ``n`` values in every resample."""
    drawn = np.empty((resamples, n))
    some = max(1, _LITTLE // n)
    for start in range(0, resamples, some):
        part = drawn[start : start + some]
        picks = rng.integers(n, size=part.shape)
        picks += n * np.arange(len(part))[:, None]
        part[:] = np.bincount(picks.ravel(), minlength=part.size).reshape(part.shape)
    return drawn


LEVEL = 0.05
"""The level of significance, for corrected p."""
FEWEST_TEXTS, FEWEST_METHODS = 5, 3
"""The fewest texts and methods of a critical difference."""
_ENUMERATED, _EXACT = 13, 50
"""Most differences whose signs are all enumerated, and most with an exact p if there are no ties."""
_MULTIPLIED = 8
"""Rows of a group that is resampled, if there are as many: a product of smaller matrices is slow."""
_RANKED = 10_000
"""Number of texts whose methods are ranked at once."""


@dataclass(frozen=True, eq=False)
class Means:
    """Means float64 [M] of ``n`` int64 [M] values with their 95% intervals; NaN: not known.

    Fewer than two or equal values have no interval.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray

    def __getitem__(self, chosen: slice) -> Means:
        return Means(self.mean[chosen], self.low[chosen], self.high[chosen], self.n[chosen])


@dataclass(frozen=True, eq=False)
class Comparison:
    """M methods by one metric: their means, and their differences to the ``best`` (its index; None: no mean is known).

    A difference is positive where the best is better; it is over the texts for which both are defined. ``p`` float64
    [M]: that of the pair in ``critical``, and of a control two-sided signed-rank tests, corrected by Holm for all
    controls; NaN for the best, and where no text differs. ``undefined`` and ``paired`` int64 [M]: texts without a
    value, and those that enter the difference. ``critical`` is of the methods without the controls.
    """

    means: Means
    undefined: np.ndarray
    best: int | None
    to_best: Means
    paired: np.ndarray
    p: np.ndarray
    critical: CriticalDifference

    def told_apart(self, method: int) -> bool | None:
        """Tell whether a method differs significantly from the best; None for the best, and without a common text."""
        if method == self.best or not self.paired[method]:
            return None
        return bool(self.p[method] < LEVEL)


def compare(metrics: Sequence[np.ndarray], higher: Sequence[bool], candidates: int) -> list[Comparison]:
    """Compare M methods by each of the ``metrics``, float64 [M, T]; ``higher``: True if higher values are better.

    The best is among the first ``candidates`` methods; the others are controls. Means and differences of all metrics
    share their bootstrap resamples (:func:`bands`). The best is chosen on the same texts, so
    its test counts as one of all pairs.
    """
    best = [_best(values[:candidates], sign) for values, sign in zip(metrics, higher, strict=True)]
    texts, ends = metrics[0].shape[1], np.cumsum([0, *map(len, metrics)]).tolist()

    def differences(m: int) -> Iterator[np.ndarray]:
        sign = 1 if higher[m] else -1
        return ((metrics[m][best[m] or 0] - row) * sign for row in metrics[m])

    def rows() -> Iterator[np.ndarray]:
        yield from chain.from_iterable(metrics)
        yield from chain.from_iterable(map(differences, range(len(metrics))))

    both = means_of(rows, 2 * ends[-1], texts, axis=0)
    means, to_best = both[: ends[-1]], both[ends[-1] :]
    own = [slice(*ends[m : m + 2]) for m in range(len(metrics))]
    critical = critical_differences([values[:candidates] for values in metrics], higher)
    controls = _corrected(
        [
            _signed_ranks(islice(differences(m), candidates, None), len(v) - candidates, texts)
            for m, v in enumerate(metrics)
        ]
    )
    return [
        Comparison(
            means=means[own[m]],
            undefined=texts - means.n[own[m]],
            best=best[m],
            to_best=to_best[own[m]],
            paired=to_best.n[own[m]],
            p=np.concatenate([critical[m].p[best[m] or 0], controls[m]]),
            critical=critical[m],
        )
        for m in range(len(metrics))
    ]


def _best(values: np.ndarray, higher: bool) -> int | None:
    """Return the row with the best mean, the first of equal ones; None if no mean is known."""
    counts = np.array([np.count_nonzero(~np.isnan(row)) for row in values])
    means = np.array([np.nansum(row) for row in values]) / np.maximum(counts, 1) * (1 if higher else -1)
    return int(np.where(counts > 0, means, -np.inf).argmax()) if counts.any() else None


def means_of(rows: Callable[[], Iterable[np.ndarray]], count: int, texts: int, axis: Literal[0, 1] = 1) -> Means:
    """Return the means of ``count`` rows float64 [``texts``] over the same resamples; ``rows`` yields them at every
    call.

    ``axis``: 1 adds the texts one after another, 0 in pairs, which differs in the last digits.
    """

    def groups() -> Iterator[np.ndarray]:
        stacked = together(rows(), count, texts, _MULTIPLIED, axis)
        return stacked if axis else (group.T for group in stacked)

    mean, low, high = bands_of(groups, texts)
    flat = np.array([np.fmax.reduce(row) <= np.fmin.reduce(row) for row in rows()], dtype=bool)
    low[flat] = high[flat] = np.nan
    return Means(mean, low, high, np.array([np.count_nonzero(~np.isnan(row)) for row in rows()], dtype=np.int64))


# Tests ---------------------------------------------------------------------------------------------------------------


def signed_rank_p(differences: np.ndarray) -> np.ndarray:
    """Return float64 [R]: two-sided p of Wilcoxon's signed-rank test of every row of ``differences`` float64 [R, T].

    NaN differences are left out; zeros keep their ranks, split between both signs; p is NaN where all are zero. As
    ``scipy.stats.wilcoxon`` with ``zero_method="zsplit"``, but no row's p depends on the others.
    """
    known = ~np.isnan(differences)
    differing = (np.where(known, differences, 0.0) != 0).any(axis=1)
    counts = known.sum(axis=1)
    few, exact = counts <= _ENUMERATED, (counts <= _EXACT) & ~_tied(differences)
    p = np.full(len(differences), np.nan)
    for method, chosen in (("exact", differing & ~few & exact), ("asymptotic", differing & ~few & ~exact)):
        if chosen.any():
            rows = differences[chosen]
            tested = scipy.stats.wilcoxon(rows, zero_method="zsplit", method=method, axis=1, nan_policy="omit")
            p[chosen] = tested.pvalue
    for row in np.flatnonzero(differing & few):
        p[row] = _enumerated(differences[row, known[row]])
    return p


def _tied(differences: np.ndarray) -> np.ndarray:
    """Return bool [R]: True for a row with a zero, or with two values of one size."""
    sizes = np.sort(np.abs(differences), axis=1)
    tied: np.ndarray = (sizes == 0).any(axis=1) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    return tied


def _signed_ranks(rows: Iterable[np.ndarray], count: int, texts: int) -> np.ndarray:
    """Return :func:`signed_rank_p` of ``count`` rows float64 [``texts``] from an iterator."""
    return np.concatenate([np.empty(0), *map(signed_rank_p, together(rows, count, texts) if count else ())])


def _enumerated(differences: np.ndarray) -> float:
    """Return the p of at most :data:`_ENUMERATED` differences without NaN, by all choices of their signs."""
    ranks = scipy.stats.rankdata(np.abs(differences)) * (differences != 0)
    sums = _signs(len(differences)) @ ranks
    return float((np.abs(sums) >= abs(np.sign(differences) @ ranks) - 1e-9).mean())


@cache
def _signs(n: int) -> np.ndarray:
    """Return float64 [2^n, n]: every choice of ``n`` signs."""
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return 2.0 * bits - 1


def holm(p: np.ndarray) -> np.ndarray:
    """Correct ``p`` float64 [R] for the number of values that are not NaN (Holm 1979, step down)."""
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return corrected


def _corrected(families: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Correct the p of all ``families`` together by :func:`holm`."""
    return np.split(holm(np.concatenate(families)), np.cumsum([len(p) for p in families])[:-1])


# Critical difference -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CriticalDifference:
    """Average ranks of M methods and the tests of their pairs.

    ``ranks`` float64 [M], 1 the best, are over the ``texts`` texts for which all have a value; NaN without any.
    ``friedman``: the p of Friedman's test (None: all values are equal, or there are too few for a diagram). ``p``
    float64 [M, M]: signed-rank tests of all pairs over the texts for which both have a value, corrected by Holm for all
    pairs of all metrics, and never below ``friedman``; NaN for equal values and on the diagonal. ``groups``: indices of
    methods without a significant pair, each in the order of the ranks; a group that is part of another is left out.
    ``none`` is the reason why there is no diagram; then there are no groups.
    """

    ranks: np.ndarray
    texts: int
    p: np.ndarray
    friedman: float | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    none: str = ""


def critical_differences(metrics: Sequence[np.ndarray], higher: Sequence[bool]) -> list[CriticalDifference]:
    """Compare M methods by each of the ``metrics``, float64 [M, T], as Demšar does; ``higher`` as for :func:`compare`.

    Pairs are tested by signed ranks instead of Nemenyi's test (Benavoli et al. 2016). With the correction for all
    metrics, at most 5 of 100 tables of noise show a significant difference.
    """
    families = [_pairs(values) for values in metrics]
    return [
        _critical_difference(values, sign, p)
        for values, sign, p in zip(metrics, higher, _corrected(families), strict=True)
    ]


def _pairs(values: np.ndarray) -> np.ndarray:
    """Return the p of all pairs of ``values`` float64 [M, T], in the order of :func:`numpy.triu_indices`; not
    corrected.
    """
    pairs = list(combinations(range(len(values)), 2))
    return _signed_ranks((values[i] - values[j] for i, j in pairs), len(pairs), values.shape[1])


def _critical_difference(values: np.ndarray, higher: bool, corrected: np.ndarray) -> CriticalDifference:
    """Return the comparison by one metric, with the ``corrected`` p of :func:`_pairs`."""
    methods = len(values)
    whole = np.ones(values.shape[1], dtype=bool)
    for row in values:
        whole &= ~np.isnan(row)
    texts = int(np.count_nonzero(whole))
    sums, squares = _rank_sums(values, whole)
    ranks = ((methods + 1) * texts - sums if higher else sums) / texts if texts else np.full(methods, np.nan)
    p, (first, second) = np.full((methods, methods), np.nan), np.triu_indices(methods, 1)
    p[first, second] = p[second, first] = corrected
    if methods < FEWEST_METHODS:
        return CriticalDifference(ranks, texts, p, none=f"A diagram needs at least {FEWEST_METHODS} methods.")
    if texts < FEWEST_TEXTS:
        why = f"A diagram needs at least {FEWEST_TEXTS} texts for which every method has a value."
        return CriticalDifference(ranks, texts, p, none=why)
    friedman = _friedman(sums, squares, texts)
    p = p if friedman is None else np.maximum(p, friedman)
    order = np.argsort(ranks, kind="stable")
    groups = tuple(tuple(order[start:end].tolist()) for start, end in _runs((p < LEVEL)[np.ix_(order, order)]))
    return CriticalDifference(ranks, texts, p, friedman, groups)


def _rank_sums(values: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the sums float64 [M] of the ranks of ``values`` float64 [M, T], 1 the lowest, and the sum of their
    squares.

    Only the texts in ``whole``, bool [T], count. Ranks are halves, so both results are exact.
    """
    sums, squares = np.zeros(len(values)), 0.0
    for start in range(0, values.shape[1], _RANKED):
        some = slice(start, start + _RANKED)
        ranks = scipy.stats.rankdata(values[:, some][:, whole[some]], axis=0)
        sums += ranks.sum(axis=1)
        squares += float((ranks**2).sum())
    return sums, squares


def _friedman(sums: np.ndarray, squares: float, texts: int) -> float | None:
    """Return the p of Friedman's test, corrected for ties, from :func:`_rank_sums`; None if all values are equal.

    As ``scipy.stats.friedmanchisquare``. A group of t equal values takes (t^3 - t) / 12 from the squares of its ranks.
    """
    k = len(sums)
    ties = 2 * k * (k + 1) * (2 * k + 1) * texts - 12 * squares
    untied = 1 - ties / (k * (k * k - 1) * texts)
    if untied == 0:
        return None
    statistic = (12.0 / (k * texts * (k + 1)) * (sums**2).sum() - 3 * texts * (k + 1)) / untied
    return float(scipy.special.chdtrc(k - 1, statistic))


def _runs(differ: np.ndarray) -> list[tuple[int, int]]:
    """Return the longest runs [start, end) of two or more neighbours without a significant pair; ``differ`` bool [M,
    M].
    """
    runs: list[tuple[int, int]] = []
    for start in range(len(differ) - 1):
        end = start + 1
        while end < len(differ) and not differ[start:end, end].any():
            end += 1
        if end - start > 1 and (not runs or end > runs[-1][1]):
            runs.append((start, end))
    return runs


_AT_ONCE = 2_000_000


def rank_correlations(scores: np.ndarray) -> np.ndarray:
    """Return float64 [M, M]: Kendall's tau-b between M attributions ``scores`` float64 [M, n] of the same n features.

    NaN where all scores of either are equal, or there is a single feature.
    """
    methods, n = scores.shape
    common = np.zeros((methods, methods))
    rows = max(1, _AT_ONCE // max(1, methods * n))
    for start in range(0, n, rows):
        part = scores[:, start : start + rows, None]
        signs = np.sign(part - scores[:, None, :]).reshape(methods, -1).astype(np.float32)
        common += signs @ signs.T
    size = np.sqrt(common.diagonal())
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: np.ndarray = (common / np.outer(size, size)).clip(-1, 1)
    return tau


def spearman(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return float64 [M]: Spearman's rho of ``scores`` float64 [n] and each row of ``others`` [M, n], ties by mean
    ranks.

    NaN where all scores of either are equal, or there is a single feature.
    """
    own = scipy.stats.rankdata(scores) - (len(scores) + 1) / 2
    ranks = scipy.stats.rankdata(others, axis=1) - (len(scores) + 1) / 2
    with np.errstate(invalid="ignore"):
        rho: np.ndarray = (ranks @ own / np.sqrt((own @ own) * (ranks**2).sum(axis=1))).clip(-1, 1)
    return rho


def sign_conflicts(scores: np.ndarray) -> np.ndarray:
    """Return float64 [M, M]: the share of features with different signs in two of M attributions ``scores`` float64 [M,
    n].

    Only features that hold at least 1/n of the sum of all |scores| in both count; NaN where there are none.
    """
    sizes = np.abs(scores)
    total = sizes.sum(axis=1, keepdims=True)
    heavy = (sizes * scores.shape[1] >= total * (1 - 1e-9)) & (total > 0)
    plus, minus = (heavy & (scores > 0)).astype(float), (heavy & (scores < 0)).astype(float)
    both, conflicts = heavy.astype(float) @ heavy.T, plus @ minus.T
    with np.errstate(invalid="ignore"):
        shares: np.ndarray = (conflicts + conflicts.T) / both
    return shares
