"""Headline numbers: the numbers of a data set's result that are compared between models and data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from explainlab.analyses.records import Directed, Interval


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
