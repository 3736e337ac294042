"""Means and quartiles for results, and tables for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from explainlab.analyses.records import Interval, Quartiles
from explainlab.metrics.summary import bootstrap


def interval(values: Sequence[float]) -> Interval:
    """Return the mean with its interval by :func:`explainlab.metrics.summary.bootstrap`."""
    mean, low, high = bootstrap(list(values))
    return Interval(mean=mean, low=low, high=high)


def quartiles(values: Sequence[float]) -> Quartiles:
    """Return the quartiles of ``values``; None for no values."""
    if not values:
        return Quartiles(q1=None, median=None, q3=None)
    q1, median, q3 = np.percentile(values, [25, 50, 75]).tolist()
    return Quartiles(q1=q1, median=median, q3=q3)


def spelled(value: float | Interval) -> str:
    """Return a number, or a mean with its interval in brackets, with four decimal places."""
    return str(value) if isinstance(value, Interval) else f"{value:.4f}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return ``rows`` in columns, for a command line."""
    import pandas as pd  # half a second

    text: str = pd.DataFrame(rows).to_string(index=False)
    return text
