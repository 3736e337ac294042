"""Means and quartiles as studies tell them."""

from __future__ import annotations

import numpy as np

from explainlab.metrics.summary import bootstrap


def interval(values: list[float]) -> dict[str, float | None]:
    """``mean``, and ``low`` to ``high`` of :func:`explainlab.metrics.summary.bootstrap`."""
    return dict(zip(("mean", "low", "high"), bootstrap(values), strict=True))


def quartiles(values: list[float]) -> dict[str, float | None]:
    """``q1``, ``median`` and ``q3``; None for no values."""
    if not values:
        return {"q1": None, "median": None, "q3": None}
    return dict(zip(("q1", "median", "q3"), np.percentile(values, [25, 50, 75]).tolist(), strict=True))
