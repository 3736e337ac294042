"""Values, ranks and Kendall's tau of the measures by three answers, with intervals by one bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy

from explainlab.analyses.roar.judging import FEWEST_SEEDS
from explainlab.metrics.comparison import rank_correlations
from explainlab.metrics.summary import RESAMPLES

DIGITS = 12
"""The decimal places in which equal means agree."""


class Ends(NamedTuple):
    """A value and the ends of its 95% interval, arrays of one shape; NaN is what is not known."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Compared(NamedTuple):
    """The ``means`` and ``ranks`` [3, M] of M measures by the three answers, and ``taus`` [3, 3] of each pair."""

    means: Ends
    ranks: Ends
    taus: Ends


def compared(erased: np.ndarray, faithful: np.ndarray, higher_is_better: bool, seed: int = 0) -> Compared:
    """Compare the answers of erasure on two models, and of faithfulness.

    ``erased`` float64 [2, S, T, M]: the metric of S seeds and T texts, on the plain and on the masked model.
    ``faithful`` float64 [S, M], NaN where it is not known; higher is better.

    The ends are percentiles (2.5 and 97.5) of 2,000 resamples (Efron 1979). Each draws T texts with replacement, the
    same for both models, and S seeds with replacement, the same for all three answers. Fewer than three seeds stay as
    they are: then faithfulness, and tau with it, has no interval.
    """
    _, seeds, texts, measures = erased.shape
    flat = erased.transpose(2, 0, 1, 3).reshape(texts, -1)
    signs = np.array([1.0 if higher_is_better else -1.0] * 2 + [1.0])[:, None]

    def means(of_seeds: np.ndarray, of_texts: np.ndarray) -> np.ndarray:
        by_seed = (of_texts @ flat).reshape(2, seeds, measures)
        erasure = np.tensordot(by_seed, of_seeds, axes=(1, 0))
        return np.vstack([erasure, _known_mean(faithful, of_seeds)]).round(DIGITS)

    def all_three(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        better = signs * values
        return values, scipy.stats.rankdata(-better, axis=1), rank_correlations(better)

    found = all_three(means(np.full(seeds, 1 / seeds), np.full(texts, 1 / texts)))
    resampled = zip(*(all_three(means(*drawn)) for drawn in _drawn(seeds, texts, seed)), strict=True)
    ends = [Ends(value, *_percentiles(np.stack(own))) for value, own in zip(found, resampled, strict=True)]
    if seeds < FEWEST_SEEDS:
        for own in ends:
            for end in (own.low, own.high):
                end[2] = np.nan
        ends[2].low[:, 2] = ends[2].high[:, 2] = np.nan
    return Compared(*ends)


def _drawn(seeds: int, texts: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the weights of seeds [S] and texts [T] in every resample."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        own = rng.integers(seeds, size=seeds) if seeds >= FEWEST_SEEDS else np.arange(seeds)
        yield (
            np.bincount(own, minlength=seeds) / seeds,
            np.bincount(rng.integers(texts, size=texts), minlength=texts) / texts,
        )


def _known_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return float64 [M]: the weighted mean of the known of ``values`` float64 [S, M]; NaN where none is."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = (weights @ np.where(known, values, 0.0)) / (weights @ known)
    return mean


def _percentiles(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the ``drawn`` values [R, ...], where any resample knows one."""
    flat = drawn.reshape(len(drawn), -1)
    known = ~np.isnan(flat).all(axis=0)
    ends = np.full((2, flat.shape[1]), np.nan)
    ends[:, known] = np.nanpercentile(flat[:, known], [2.5, 97.5], axis=0)
    low, high = ends.reshape(2, *drawn.shape[1:])
    return low, high
