"""The coalitions that progressive inference reads: random passes, the expected readings of each coalition, its weight.

A pass is drawn as (i, j), then uniformly a coalition of i among n features whose last is j. It also keeps all features
after j. It is read after each feature it keeps; that reading belongs to the coalition up to there.

Masses of the (i, j), and of readings by size k and last feature l, are float64 [n - 1, n] at [i - 1, j - 1]: no
coalition is empty, and the full one is neither drawn nor counted. Kariyappa et al. 2024, section 3.2; their Eqs. 14 and
17 are off by one, as j is in the coalition by definition.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.optimize import nnls
from scipy.special import gammaln

Distribution = Literal["shapley", "optimized"]
Weights = Literal["none", "coalition", "class"]

RESOLUTION = 40
"""Most sizes and last features that the optimisation separates; beyond it neighbours share a cell."""
MIXED = 0.05
"""Share of the optimised masses that is spread evenly, so that every coalition can be read."""


def shapley_masses(n: int) -> np.ndarray:
    """Return float64 [n - 1, n], sum 1: the Shapley kernel by size and last feature (Eq. 13).

    A size i has the mass 1 / (C i (n - i)), and (i, j) the share C(j - 1, i - 1) / C(n, i) of it; none where j < i.
    """
    size, last = np.ogrid[1:n, 1 : n + 1]
    masses: np.ndarray = np.exp(_log_kernel(n)[:, None] + _log_binomial(last - 1, size - 1))
    return masses


@lru_cache(maxsize=32)
def optimized_masses(n: int) -> np.ndarray:
    """Return float64 [n - 1, n], sum 1: masses whose readings come nearest to the Shapley kernel (Eq. 16).

    Non-negative least squares, then renormalised and mixed with :data:`MIXED` of even masses. Beyond :data:`RESOLUTION`
    features, neighbouring sizes and neighbouring last features share cells; within a cell, masses keep the proportions
    of the Shapley kernel. Cached by n, so read-only.
    """
    target = shapley_masses(n)
    if n == 1:
        return target
    size, last = np.ogrid[1:n, 1 : n + 1]
    reachable, bins = size <= last, min(n, RESOLUTION)
    number = (size - 1) * bins // n * bins + (last - 1) * bins // n
    cell = np.unique(number[reachable], return_inverse=True)[1]
    wanted = np.bincount(cell, target[reachable])
    share = target[reachable] / np.maximum(wanted, np.finfo(float).tiny)[cell]
    readings = (size + n - last)[reachable]
    design = np.empty((len(wanted), len(wanted)))
    for c in range(len(wanted)):
        unit = _placed(share * (cell == c) / readings, reachable)
        design[:, c] = np.bincount(cell, occurrences(unit)[reachable])
    solution = nnls(design, wanted)[0]
    even = MIXED / len(cell)
    masses = _placed((1 - MIXED) * (solution / solution.sum())[cell] * share + even, reachable)
    masses.flags.writeable = False
    return masses


def occurrences(masses: np.ndarray) -> np.ndarray:
    """Return float64 [n - 1, n]: expected number of readings of a pass at size k and last feature l.

    Before j, the k-th kept feature is at l by the corrected Eq. 14, C(l - 1, k - 1) C(j - l - 1, i - k - 1) / C(j - 1,
    i - 1); from j on every feature is kept. Over the i + n - j readings of (i, j) these are the rows of the corrected
    Eq. 17. Summed feature by feature from the end, in n steps.
    """
    n = masses.shape[1]
    size, last = np.ogrid[1:n, 1 : n + 1]
    expected: np.ndarray = size / last * _open(masses)[1:, 1:]
    run = np.zeros(n - 1)
    for j in range(n):
        run = masses[:, j] + np.concatenate([[0.0], run[:-1]])
        expected[:, j] += run
    return expected


def draws(masses: np.ndarray, passes: int, seed: int) -> np.ndarray:
    """Return bool [passes, n]: the features that each pass keeps, also those after j; no pass if n is 1.

    With the same seed, more passes begin with the same ones.
    """
    n = masses.shape[1]
    if n == 1:
        return np.zeros((0, 1), dtype=bool)
    uniform = np.random.default_rng(seed).random((passes, n + 1))
    total = masses.ravel().cumsum()
    state = np.searchsorted(total / total[-1], uniform[:, 0], side="right")
    others, last = (index[:, None] for index in np.unravel_index(state, masses.shape))
    before = np.arange(n) < last
    rank = np.where(before, uniform[:, 1:], np.inf).argsort(axis=1).argsort(axis=1)
    keep: np.ndarray = (rank < others) | ~before
    return keep


def reading_weights(keep: np.ndarray, masses: np.ndarray, kind: Weights) -> np.ndarray:
    """Return float64 [B, n]: the weight of the reading after each feature of the passes ``keep`` bool [B, n].

    0 without a reading: at masked features, and at the last feature of the full text. ``none``: 1 elsewhere. ``class``:
    the paper's P*_kl / P^D_kl with the corrected Eq. 17. ``coalition``: up to a factor, the coalition's Shapley kernel
    over its expected readings per pass, so that many passes lead to the Shapley values.
    """
    n = keep.shape[1]
    size = keep.cumsum(axis=1)
    read: np.ndarray = keep & (size < n)
    if kind == "none" or not read.any():
        return read.astype(np.float64)
    if kind == "class":
        i, j = np.ogrid[1:n, 1 : n + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            table = shapley_masses(n) / occurrences(masses / (i + n - j))
        return np.where(read, table[np.clip(size, 1, n - 1) - 1, np.arange(n)], 0.0)
    logs = np.where(read, _log_coalition_weights(keep, masses), -np.inf)
    weights: np.ndarray = np.exp(logs - logs.max())
    return weights


def normal_equations(keep: np.ndarray, gains: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Gram matrix [n, n] and moments [n] of the regression of all readings on their coalitions.

    ``gains`` [B, n]: readings after each feature of the passes ``keep`` bool [B, n]; ``weights`` [B, n]: their weights.
    Σ w 1_S 1_Sᵀ and Σ w g 1_S over the coalitions S up to each feature. Two features are both in the coalitions read
    from the later feature on, so cumulative sums from the end replace a loop over readings.
    """
    kept = keep.astype(np.float64)
    upper = np.triu(kept.T @ (kept * _from_the_end(weights)))
    return upper + np.triu(upper, 1).T, (kept * _from_the_end(weights * gains)).sum(axis=0)


def _placed(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return ``values`` where ``where`` is true, 0 elsewhere."""
    full = np.zeros(where.shape)
    full[where] = values
    return full


def _open(masses: np.ndarray) -> np.ndarray:
    """Return float64 [n, n + 1]: at [k, l] the mass of the passes with k of the first l features drawn and j after l.

    Feature l + 1 is j, or drawn and not j, or not drawn; the first two have the share (k + 1) / (l + 1).
    """
    n = masses.shape[1]
    opened = np.zeros((n, n + 1))
    k = np.arange(n - 1)
    for l in range(n - 1, -1, -1):  # noqa: E741  the paper's letter
        drawn = (k + 1) / (l + 1)
        opened[:-1, l] = masses[:, l] + drawn * opened[1:, l + 1] + (1 - k / (l + 1)) * opened[:-1, l + 1]
    return opened


def _log_coalition_weights(keep: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return float64 [B, n]: log of each coalition's Shapley kernel over its expected number of readings per pass.

    A coalition of size k with last feature l is read where j comes after l, and where j is in the run of consecutive
    features that ends at l, as all features after j are kept.
    """
    n = keep.shape[1]
    size, last = np.ogrid[1:n, 1 : n + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        later = np.log(_open(masses)[1:, 1:]) - _log_binomial(last, size)
        drawn = np.log(masses) - _log_binomial(last - 1, size - 1)
    kernel = _log_kernel(n)
    row = np.clip(keep.cumsum(axis=1), 1, n - 1) - 1
    logs, run = np.empty(keep.shape), np.full(len(keep), -np.inf)
    for j in range(n):
        run = np.where(keep[:, j], np.logaddexp(run, drawn[row[:, j], j]), -np.inf)
        logs[:, j] = kernel[row[:, j]] - np.logaddexp(run, later[row[:, j], j])
    return logs


def _log_kernel(n: int) -> np.ndarray:
    """Return float64 [n - 1]: log of the Shapley kernel's mass of a coalition of each size from 1."""
    size = np.arange(1, n)
    mass = 1 / (size * (n - size))
    logs: np.ndarray = np.log(mass / mass.sum()) - _log_binomial(np.array(n), size)
    return logs


def _log_binomial(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return log C(n, k), -inf for k > n."""
    lower = np.minimum(n, k)
    return np.where(k > n, -np.inf, gammaln(n + 1) - gammaln(lower + 1) - gammaln(n - lower + 1))


def _from_the_end(values: np.ndarray) -> np.ndarray:
    """Return sums of [B, n] over each feature and all later features."""
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]
