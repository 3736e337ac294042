"""Means and quartiles as studies tell them, and as tables of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from explainlab.analyses.records import Interval
from explainlab.metrics.summary import bootstrap


def interval(values: list[float]) -> dict[str, float | None]:
    """``mean``, and ``low`` to ``high`` of :func:`explainlab.metrics.summary.bootstrap`."""
    return dict(zip(("mean", "low", "high"), bootstrap(values), strict=True))


def interval_of(values: Sequence[float]) -> Interval:
    """The mean with its interval by :func:`explainlab.metrics.summary.bootstrap`."""
    mean, low, high = bootstrap(list(values))
    return Interval(mean=mean, low=low, high=high)


def quartiles(values: list[float]) -> dict[str, float | None]:
    """``q1``, ``median`` and ``q3``; None for no values."""
    if not values:
        return {"q1": None, "median": None, "q3": None}
    return dict(zip(("q1", "median", "q3"), np.percentile(values, [25, 50, 75]).tolist(), strict=True))


def spelled(found: Mapping[str, float | None]) -> str:
    """An :func:`interval` in words: the mean, and the interval in brackets where there is one."""
    if found["mean"] is None:
        return "none"
    around = "" if found["low"] is None else f" [{found['low']:.4f}, {found['high']:.4f}]"
    return f"{found['mean']:.4f}{around}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """``rows`` in columns, for a command line."""
    return pd.DataFrame(rows).to_string(index=False)
