"""Means with their intervals."""

from __future__ import annotations

import numpy as np

_RESAMPLES = 2_000


def interval(values: list[float], seed: int = 0) -> dict[str, float | None]:
    """``mean``, and ``low`` to ``high``, its 95% interval by the percentile bootstrap (2,000 resamples).

    The interval is None for fewer than two values or where all are equal; the mean is None for none.
    """
    if not values:
        return {"mean": None, "low": None, "high": None}
    found = np.asarray(values, dtype=np.float64)
    mean = float(found.mean())
    if np.ptp(found) == 0:
        return {"mean": mean, "low": None, "high": None}
    drawn = np.random.default_rng(seed).integers(len(found), size=(_RESAMPLES, len(found)))
    low, high = np.percentile(found[drawn].mean(axis=1), [2.5, 97.5])
    return {"mean": mean, "low": float(low), "high": float(high)}


def quartiles(values: list[float]) -> dict[str, float | None]:
    """``q1``, ``median`` and ``q3``; None for no values."""
    if not values:
        return {"q1": None, "median": None, "q3": None}
    return dict(zip(("q1", "median", "q3"), np.percentile(values, [25, 50, 75]).tolist(), strict=True))
