"""Means with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

import numpy as np

RESAMPLES = 2_000
_AT_ONCE = 4_000_000
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
    rng, rows = np.random.default_rng(seed), max(1, _AT_ONCE // n)
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
    groups = max(1, min(count // least, -(-4 * count * n // _AT_ONCE)))
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
