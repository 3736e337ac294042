"""Rules that turn an integral over [0, 1] into a weighted sum of its integrand."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import roots_legendre

Rule = Literal["gauss_legendre", "right", "left", "midpoint", "trapezoid"]


@lru_cache(maxsize=1024)
def nodes(rule: Rule, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions α and weights, both float64; the weights of every rule sum to 1.

    ``steps`` evaluations, but ``steps`` + 1 for ``trapezoid``, which has ``steps`` intervals. Equal fractions of
    different step counts are equal floats, so rules and counts share points.
    ``gauss_legendre`` integrates polynomials up to degree 2·steps - 1 exactly.
    """
    if rule == "gauss_legendre":
        x, w = roots_legendre(steps)  # numpy's takes minutes for thousands of nodes
        return (x + 1) / 2, w / 2
    if rule == "trapezoid":
        weights = np.full(steps + 1, 1 / steps)
        weights[[0, -1]] /= 2
        return np.arange(steps + 1) / steps, weights
    shift = {"left": 0.0, "midpoint": 0.5, "right": 1.0}[rule]
    return (np.arange(steps) + shift) / steps, np.full(steps, 1 / steps)
