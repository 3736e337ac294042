"""How far attributions of one text agree with each other."""

from __future__ import annotations

import numpy as np
import scipy

_AT_ONCE = 2_000_000


def rank_correlations(scores: np.ndarray) -> np.ndarray:
    """float64 [M, M]: Kendall's tau-b between M attributions ``scores`` float64 [M, n] of the same n features.

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
    """float64 [M]: Spearman's rho between ``scores`` float64 [n] and each row of ``others`` [M, n], ties by mean ranks.

    NaN where all scores of either are equal, or there is a single feature.
    """
    own = scipy.stats.rankdata(scores) - (len(scores) + 1) / 2
    ranks = scipy.stats.rankdata(others, axis=1) - (len(scores) + 1) / 2
    with np.errstate(invalid="ignore"):
        rho: np.ndarray = (ranks @ own / np.sqrt((own @ own) * (ranks**2).sum(axis=1))).clip(-1, 1)
    return rho


def sign_conflicts(scores: np.ndarray) -> np.ndarray:
    """float64 [M, M]: the share of features with different signs in two of M attributions ``scores`` float64 [M, n].

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
