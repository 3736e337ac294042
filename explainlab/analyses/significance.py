"""The groups that a test tells apart: every headline that compares names speaks of these, so noise names no winner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from explainlab.analyses.records import Interval
from explainlab.analyses.wording import joined
from explainlab.metrics.comparison import LEVEL, critical_differences, holm


@dataclass(frozen=True)
class Groups:
    """Names in three groups. Each keeps the order in which its names came, as an order by the means would rank them.

    ``first``: the name with the best mean, and the names that no test separates from this group. A test separates
    the names of ``worse`` from all of ``first``, and those of ``between`` from some of ``first`` only.
    """

    first: tuple[str, ...]
    between: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()

    @property
    def winner(self) -> str:
        """The name that the test separates from all others; empty where there is none."""
        return self.first[0] if len(self.first) == 1 and self.worse else ""

    def words(self, label: Callable[[str], str] = str) -> str:
        """Return ``A and B cannot be distinguished; C is worse``; ``label`` gives the readers' name of each."""
        first = joined([label(name) for name in self.first])
        said = "is best" if self.winner else "cannot be distinguished" if len(self.first) > 1 else "stands alone"
        return f"{first} {said}{self.others(label)}"

    def others(self, label: Callable[[str], str] = str) -> str:
        """Return ``; C is worse``; empty where all names are in the first group."""
        told = ((self.between, "worse than some of them only"), (self.worse, "worse"))
        return "".join(
            f"; {joined([label(name) for name in names])} {'is' if len(names) == 1 else 'are'} {what}"
            for names, what in told
            if names
        )


def grouped(
    means: Mapping[str, float], p: np.ndarray, ranks: Sequence[float] | None = None, higher: bool = True, of: int = 1
) -> Groups:
    """Group the N names of ``means``; leave out a name whose mean is NaN.

    ``p`` float64 [N, N] has a correction for all pairs, and NaN where a pair has no test. The test separates two names
    where p is below 0.05 / ``of`` and the average ``ranks`` [N], 1 the best, do not contradict the means. ``of``: the
    number of comparisons in one answer.
    """
    names, values = [*means], np.array([*means.values()], dtype=np.float64) * (1 if higher else -1)
    order = [i for i in np.argsort(-values, kind="stable").tolist() if not np.isnan(values[i])]

    def apart(better: int, worse: int) -> bool:
        return bool(p[better, worse] < LEVEL / of) and not (ranks is not None and ranks[better] > ranks[worse])

    first: list[int] = []
    for i in order:
        if not any(apart(j, i) for j in first):
            first.append(i)
    rest = {i for i in order if i not in first}
    worse = {i for i in rest if all(apart(j, i) for j in first)}
    chosen = ({*first}, rest - worse, worse)
    return Groups(*(tuple(name for i, name in enumerate(names) if i in group) for group in chosen))


def groups_of(values: Mapping[str, Sequence[float] | np.ndarray], higher: bool = True, of: int = 1) -> Groups:
    """Group names by paired tests (:func:`explainlab.metrics.comparison.critical_differences`).

    ``values`` [T] by name are of the same T texts; NaN: not known. Where all are 0 or 1, McNemar's exact test takes the
    place of signed ranks, which most of such texts tie. ``of`` as for :func:`grouped`.
    """
    rows = np.array([*values.values()], dtype=np.float64)
    if rows.size and np.isin(rows, (0, 1)).all():
        return grouped(dict(zip(values, rows.mean(axis=1).tolist(), strict=True)), _mcnemar(rows), None, higher, of)
    (tested,) = critical_differences([rows], [higher])
    counts = np.maximum(np.count_nonzero(~np.isnan(rows), axis=1), 1)
    means = np.where(np.isnan(rows).all(axis=1), np.nan, np.nansum(rows, axis=1) / counts)
    return grouped(dict(zip(values, means.tolist(), strict=True)), tested.p, tested.ranks.tolist(), higher, of)


def _mcnemar(rows: np.ndarray) -> np.ndarray:
    """Return the p float64 [N, N] of all pairs of ``rows`` [N, T] of zeros and ones, corrected by Holm."""
    p = np.full((len(rows), len(rows)), np.nan)
    first, second = np.triu_indices(len(rows), 1)
    better, worse = ((rows[a] > rows[b]).sum(axis=1) for a, b in ((first, second), (second, first)))
    p[first, second] = p[second, first] = holm(
        np.minimum(1.0, 2 * scipy.stats.binom.cdf(np.minimum(better, worse), better + worse, 0.5))
    )
    return p


def groups_of_intervals(values: Mapping[str, tuple[Interval, int]], higher: bool = True, of: int = 1) -> Groups:
    """Group means that share no texts, each with its interval and the number n of its values.

    Welch's t tests the pairs, and Holm corrects for their number. The standard error is the width of the 95% interval
    over 3.92, times √(n / (n − 1)): resamples are too narrow by that. No test separates a mean without an interval.
    ``of`` as for :func:`grouped`.
    """
    known = {name: own for name, own in values.items() if own[0].mean is not None}
    means = np.array([own.mean for own, _ in known.values()], dtype=np.float64)
    n = np.array([count for _, count in known.values()], dtype=np.float64)
    ends = np.array([(own.low, own.high) for own, _ in known.values()], dtype=np.float64).reshape(-1, 2)
    p = np.full((len(known), len(known)), np.nan)
    first, second = np.triu_indices(len(known), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (ends[:, 1] - ends[:, 0]) / (2 * scipy.special.ndtri(0.975)) * n / np.sqrt(n - 1)
        tests = scipy.stats.ttest_ind_from_stats(
            means[first], spread[first], n[first], means[second], spread[second], n[second], equal_var=False
        )
    p[first, second] = p[second, first] = holm(tests.pvalue)
    return grouped(dict(zip(known, means.tolist(), strict=True)), p, None, higher, of)
