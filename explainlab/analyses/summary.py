"""Means, quartiles and headline numbers of results, and tables for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from explainlab.analyses.records import Directed, Interval, Quartiles
from explainlab.metrics.comparison import bootstrap


@dataclass(frozen=True)
class Measure(Directed):
    """A measure: ``key`` is its name in files and links, ``spec`` the format of its values in words."""

    key: str
    label: str
    higher_is_better: bool
    spec: str = ".3f"

    def words(self, value: float | None) -> str:
        """Return ``value`` as readers see it, with two digits for a share under 0.1%."""
        if value is None:
            return "–"
        if self.spec.endswith("%") and 0 < value < 1e-3:
            return f"{100 * value:.2g}%" if value >= 1e-5 else "under 0.001%"
        return f"{value:{self.spec}}".replace("-", "−")

    def between(self, value: Interval) -> str:
        """Return ``0.790 to 0.833``; empty without an interval."""
        return "" if value.low is None else f"{self.words(value.low)} to {self.words(value.high)}"

    def mean_words(self, value: Interval) -> str:
        """Return the mean, and its interval in brackets."""
        return self.words(value.mean) + (f" ({between})" if (between := self.between(value)) else "")


@dataclass(frozen=True)
class Number:
    """A value of a ``measure`` with its interval, over ``n`` texts.

    ``of`` is the method or the rule behind it, which readers call ``label``; empty: the model itself. ``values`` [n]
    are by text, in the order of the result; empty where they are not known. ``rows`` [n] are the numbers of the texts
    in their data set; empty where numbers of several results are not compared text by text.
    """

    measure: Measure
    value: Interval
    n: int
    of: str = ""
    label: str = ""
    values: Sequence[float] = field(default=(), compare=False, repr=False)
    rows: Sequence[int] = field(default=(), compare=False, repr=False)


def interval(values: Sequence[float]) -> Interval:
    """Return the mean with its interval by :func:`explainlab.metrics.comparison.bootstrap`."""
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
