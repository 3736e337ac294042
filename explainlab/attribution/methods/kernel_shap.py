"""KernelSHAP: Shapley values of the features from a sample of coalitions."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from threadpoolctl import ThreadpoolController

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    BatchedMethod,
    Budget,
    Outcome,
    TextSize,
    budgeted,
    counted,
)
from explainlab.attribution.passes import masked
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount

RATE = 2.0
"""Total rate of the surrogate's kernel: its prior strength of interactions."""
POINTS = 2048
"""Most coalitions the surrogate interpolates; solving costs their number cubed."""
NUGGET = 1e-8
"""Share of the surrogate's variance that is noise: float32 passes agree to about this much."""
_BLAS = threading.Lock()  # its number of threads is the process's
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)


class KernelShap(BatchedMethod):
    """Shapley values of the game F(features kept), estimated from ``samples`` coalitions, each run once.

    The coalitions of one feature and of all but one come first, then sizes by the Shapley kernel, each coalition with
    its complement. A surrogate interpolates the values seen: a linear game plus interactions that decay with their
    order and grow with the features' own effects (:func:`surrogate`). Its Shapley values are exact. The paper's
    weighted regression adds the residual's, under the exact sum. Without a surrogate this is the paper's estimator;
    with all coalitions both are the Shapley values.
    """

    class Parameters(declared.Parameters):
        samples: Budget = Field(
            "2n",
            description="Model evaluations besides the empty and the full text: 2n, 16n (n features) or a number.",
        )
        paired: bool = Field(True, description="Draw each coalition together with its complement.")
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "kernel_shap"
    label: ClassVar = "KernelSHAP"
    plain: ClassVar = "Hides words in many combinations and shares the prediction out fairly among them."
    good_for: ClassVar = "Any model, and comparisons with other tools: its scores always add up."
    recommended: ClassVar = True
    adds_up: ClassVar = True
    family: ClassVar = "Perturbation"
    source: ClassVar = (
        "Lundberg & Lee 2017, Theorem 2; pairs: Covert & Lee 2021; regression adjustment: Witter et al. 2025"
    )
    definition: ClassVar = "φ = argmin Σ_S (n−1) / (C(n,|S|) |S| (n−|S|)) (F(S) − F(∅) − Σ_{i∈S} φᵢ)², Σφ = F(x) − F(∅)"
    random: ClassVar = True

    @classmethod
    def is_random(cls, subject: Subject, parameters: Parameters) -> bool:
        """Return False with all coalitions, and with exactly those of one feature and of all but one; else True."""
        n, samples = len(subject.units.content), _samples(subject, parameters)
        return not (_are_all(n, samples) or samples == 2 * n)

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        n = text.features
        return PassCount(min(budgeted(parameters.samples, n) + 2, 1 << n))

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        keep = [_coalitions_of(subject, parameters) for subject in subjects]
        values = masked(subjects, keep, parameters.baseline)
        return [
            Outcome(
                subject.units.spread(shapley_values(kept, own)),
                expected=own[1] - own[0],
                rounding_scale=2 * subject.rounding_scale,
            )
            for subject, kept, own in zip(subjects, keep, values, strict=True)
        ]


def _coalitions_of(subject: Subject, parameters: KernelShap.Parameters) -> np.ndarray:
    """Return bool [K, n]: the empty coalition, the full one, and the drawn ones."""
    n = len(subject.units.content)
    inner = coalitions(n, _samples(subject, parameters), subject.seed, parameters.paired)
    return np.concatenate([np.zeros((1, n), dtype=bool), np.ones((1, n), dtype=bool), inner])


def _samples(subject: Subject, parameters: KernelShap.Parameters) -> int:
    """Return the number of coalitions beside the empty and the full one."""
    n, limits = len(subject.units.content), subject.classifier.limits
    return counted(parameters.samples, n, "kernel_shap: samples", limits)


def _are_all(n: int, samples: int) -> bool:
    """Tell whether ``samples`` is the number of all coalitions of ``n`` features without the empty and the full one."""
    return n < 60 and samples >= 2**n - 2


def coalitions(n: int, samples: int, seed: int, paired: bool) -> np.ndarray:
    """Return bool [min(samples, 2^n − 2), n]: distinct coalitions, neither empty nor full.

    First all of size 1 and n − 1 in random order, then the other sizes s in proportion to the Shapley kernel's mass 1 /
    (s (n − s)), uniformly within a size. With ``paired`` every second row is the complement of the one before. Unless
    it holds all coalitions, a larger sample begins with the smaller one of the same seed.
    """
    if _are_all(n, samples):
        return (np.arange(1, 2**n - 1)[:, None] >> np.arange(n) & 1).astype(bool)
    generator = np.random.default_rng(seed)
    single = np.eye(n, dtype=bool)
    first = generator.permutation(single if paired else np.concatenate([single, ~single]))
    distinct = {row.tobytes(): row for row in first}
    wanted = math.ceil(samples / 2) if paired else samples
    for power in count(6):
        if len(distinct) >= wanted:
            break
        for row in _draw(n, 2**power, generator, paired):
            distinct.setdefault(row.tobytes(), row)
    rows = np.array(list(distinct.values())[:wanted])
    return (np.stack([rows, ~rows], axis=1).reshape(-1, n) if paired else rows)[:samples]


def _draw(n: int, rows: int, generator: np.random.Generator, paired: bool) -> np.ndarray:
    """Return bool [rows, n]: coalitions of 2 to n − 2 features; with ``paired`` of each pair only the smaller half.

    Of two halves of equal size it is the half with the first feature.
    """
    sizes = np.arange(2, n // 2 + 1 if paired else n - 1)
    mass = 1 / (sizes * (n - sizes)) / np.where(paired & (2 * sizes == n), 2, 1)
    size = generator.choice(sizes, rows, p=mass / mass.sum())
    keys = generator.random((rows, n))
    keep = keys <= np.sort(keys, axis=1)[np.arange(rows), size - 1, None]
    smaller: np.ndarray = keep ^ (paired & (2 * size == n) & ~keep[:, 0])[:, None]
    return smaller


def shapley_values(keep: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return float64 [n]: Shapley values of the game with ``values`` [K] at the coalitions ``keep`` bool [K, n].

    The first two coalitions are the empty and the full one; the scores sum to ``values[1] - values[0]``. Exact for
    every game when all coalitions are there, and for an additive game once they have full rank; else an estimate.
    """
    gains = values - values[0]
    with _BLAS, _libraries().limit(limits=1, user_api="blas"):  # torch's threads spin after a pass and would compete
        scores, fitted = surrogate(keep, gains)
        rest = gains - fitted
        added: np.ndarray = scores + regression(keep[2:], rest[2:] - rest[0], gains[1] - scores.sum())
    return added


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def regression(keep: np.ndarray, gains: np.ndarray, total: float) -> np.ndarray:
    """Return float64 [n]: Lundberg & Lee's Eq. 5 and Theorem 2 under the exact sum ``total``.

    ``gains`` [K] over the empty coalition at ``keep`` bool [K, n], neither empty nor full. Each size has its mass of
    the kernel, shared by the coalitions seen. The least change from equal shares where the rank is deficient.
    """
    n = keep.shape[1]
    size = keep.sum(axis=1)
    root = 1 / np.sqrt(size * (n - size) * np.bincount(size, minlength=n)[size])
    rows = root[:, None] * (keep - size[:, None] / n)
    slopes = _least_squares(rows, root * (gains - size * (total / n)), 1e-12)
    scores: np.ndarray = total / n + slopes - slopes.mean()
    return scores


def constrained(gram: np.ndarray, moments: np.ndarray, total: float) -> np.ndarray:
    """Return float64 [n]: the φ of the sum ``total`` with the least Σ_S w(S) (F(S) − F(∅) − Σ_{i∈S} φᵢ)².

    From its normal equations: ``gram`` [n, n] is Σ w(S) 1_S 1_Sᵀ and ``moments`` [n] is Σ w(S) (F(S) − F(∅)) 1_S. The
    least change from equal shares where the rank is deficient.
    """
    n = len(moments)
    rest = moments - gram.sum(axis=1) * (total / n)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    slopes = np.linalg.lstsq(centred, rest - rest.mean(), rcond=1e-12)[0]
    scores: np.ndarray = total / n + slopes - slopes.mean()
    return scores


def _least_squares(rows: np.ndarray, values: np.ndarray, share: float) -> np.ndarray:
    """Return float64 [n]: the shortest x among those with the least ‖``rows`` x - ``values``‖; ``rows`` [K, n].

    Directions are left out whose eigenvalue in the normal equations is less than this ``share`` of the largest. Fewer
    rows than columns are solved as they are, which takes K² n steps in place of n³.
    """
    if len(rows) < rows.shape[1]:
        found: np.ndarray = np.linalg.lstsq(rows, values, rcond=math.sqrt(share))[0]
    else:
        found = np.linalg.lstsq(rows.T @ rows, rows.T @ values, rcond=share)[0]
    return found


def surrogate(keep: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Shapley values [n] of a game fitted to ``gains`` [K], and that game at the coalitions ``keep`` bool
    [K, n].

    Kriging with a linear trend: of all games through the first :data:`POINTS` values, the likeliest under the kernel
    k(x, y) = exp(Σᵢ bᵢ (xᵢyᵢ − 1)), x and y ±1. Its interactions of a set A have variance ∝ Πᵢ tanh bᵢ.
    """
    x = np.where(keep, 1.0, -1.0)
    rates = _rates(keep, gains)
    points = x[:POINTS]
    trend = np.column_stack([np.ones(len(x)), x])
    kernel = np.exp((x * rates) @ points.T - rates.sum())
    factor = cho_factor(kernel[: len(points)] + NUGGET * np.eye(len(points)))
    known, seen = trend[: len(points)], gains[: len(points)]
    whitened = solve_triangular(factor[0], np.column_stack([known, seen]), trans="T")
    line = _least_squares(whitened[:, :-1], whitened[:, -1], 1e-10)
    weights = cho_solve(factor, seen - known @ line)
    return 2 * line[1:] + _kernel_shapley(points, rates).T @ weights, trend @ line + kernel @ weights


def _rates(keep: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return float64 [n], sum :data:`RATE`: in proportion to each feature's effect on the empty and the full coalition.

    A tenth of the mean is added to all, so that every feature may interact.
    """
    n = keep.shape[1]
    size = keep.sum(axis=1)
    alone, missing = np.flatnonzero(size == 1), np.flatnonzero(size == n - 1)
    feature = np.concatenate([keep[alone].argmax(axis=1), keep[missing].argmin(axis=1)])
    effect = np.abs(np.concatenate([gains[alone], gains[1] - gains[missing]]))
    seen = np.bincount(feature, minlength=n)
    mean = effect.mean() + np.finfo(float).tiny if len(effect) else 1.0
    rates = np.where(seen, np.bincount(feature, effect, minlength=n) / np.maximum(seen, 1), mean) + mean / 10
    scaled: np.ndarray = RATE * rates / rates.sum()
    return scaled


def _kernel_shapley(x: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return float64 [K, n]: Shapley values of the games k(·, x) for the points ``x`` ±1 [K, n].

    The game is a product, so its multilinear extension on the diagonal (Owen 1972) is a product too, and one
    Gauss-Legendre rule integrates the marginal of every feature.
    """
    slope = x * np.tanh(rates)
    total = np.zeros_like(x)
    for node, weight in zip(NODES, NODE_WEIGHTS, strict=True):
        factors = 1 + node * slope
        total += weight * factors.prod(axis=1, keepdims=True) / factors
    values: np.ndarray = np.prod(np.cosh(rates) * np.exp(-rates)) * slope * total
    return values
