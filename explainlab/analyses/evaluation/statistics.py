"""Statistics of an evaluation, over a few facts of each text, so that very many texts fit into memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from explainlab.analyses.evaluation.result import (
    Agreed,
    Agreement,
    CriticalDifferences,
    Difference,
    EvaluationText,
    MethodMetric,
    Pair,
    Rank,
    Slice,
    SliceMean,
    TextAgreement,
)
from explainlab.data import Row
from explainlab.disk_backed import DiskTable
from explainlab.metrics.comparison import Comparison, Means, compare, means_of, rank_correlations, sign_conflicts
from explainlab.metrics.registry import MetricSpec
from explainlab.text.units import ABSENCES


class Facts(DiskTable):
    """A table of T texts, with the fields of :func:`facts_dtype`; the result of a text gives a row of it."""

    def __setitem__(self, place: int, values: EvaluationText | Iterable[Any]) -> None:
        super().__setitem__(place, facts_of(values) if isinstance(values, EvaluationText) else values)


def facts_dtype(names: int, methods: int, controls: int, metrics: int, labels: Sequence[str]) -> np.dtype[np.void]:
    """Return the type of the facts of a text, for N ``names``: first the ``methods``, then the files.

    ``values`` are those of the names and controls, NaN where undefined. ``selects``: True if a metric selects any.
    ``tau`` and ``conflicts``: Kendall's tau and the share of conflicting signs of every pair of names. ``passes``:
    forward and backward. ``silent`` and ``negative``: whether all scores are 0, or any is below it. ``features``
    counts those that are not special. ``predicted`` is one of the ``labels``; ``undefined``: why there is no rationale,
    empty where there is one.
    """
    pairs = names * (names - 1) // 2
    return np.dtype(
        [
            ("values", "f8", (names + controls, metrics)),
            ("selects", "?", (metrics,)),
            ("tau", "f8", (pairs,)),
            ("conflicts", "f8", (pairs,)),
            ("passes", "i8", (methods, 2)),
            ("silent", "?", (names,)),
            ("negative", "?", (names,)),
            ("features", "i8"),
            ("predicted", f"U{max(map(len, labels))}"),
            ("text_seed", "u4"),
            ("undefined", f"U{max(map(len, ABSENCES))}"),
        ]
    )


def facts_of(body: EvaluationText) -> tuple[Any, ...]:
    """Return the facts of a text's result, in the order of :func:`facts_dtype`."""
    content = np.array([not feature.special for feature in body.features])
    scores = np.array(list(body.scores.values()), dtype=np.float64)
    first, second = np.triu_indices(len(scores), 1)
    maps = scores[:, content]
    return (
        np.array([list(row.values()) for row in body.values.values()], dtype=np.float64),
        [count > 0 for count in body.counted.values()],
        rank_correlations(maps)[first, second] if len(first) else [],
        sign_conflicts(maps)[first, second] if len(first) else [],
        [(cost.forward, cost.backward) for cost in body.costs.values()] or np.empty((0, 2)),
        [not row.any() for row in scores],
        [(row < 0).any() for row in scores],
        content.sum(),
        body.prediction.label,
        body.text_seed,
        body.undefined or "",
    )


FEW = 20
"""A slice with fewer texts is too small to lean on."""
MOST_APART = 10
"""Texts that are listed for a pair of methods."""
_PAIRS = 8
"""Pairs of methods whose numbers of a text are read together."""

Columns = Mapping[str, np.ndarray]
"""By metric with its options, float64 [names, texts]; NaN where the metric is undefined."""


def columns(metrics: Sequence[MetricSpec], values: np.ndarray) -> Columns:
    """Return the values of all texts by metric, from ``values`` float64 [texts, names, metrics]."""
    return {request.name: column for request, column in zip(metrics, values.T, strict=True)}


def compared(candidates: int, metrics: Sequence[MetricSpec], values: Columns) -> list[Comparison]:
    """Return the comparison by every metric; the first ``candidates`` are no reversed controls."""
    return compare([*values.values()], [metric.higher_is_better for metric in metrics], candidates)


def method_rows(
    names: Sequence[str], metrics: Sequence[MetricSpec], comparisons: Sequence[Comparison], texts: Facts
) -> list[MethodMetric]:
    """Return the table, by method and then by metric."""
    facts = [metric.facts for metric in metrics]
    counted = texts["selects"].sum(axis=0).tolist()
    return [
        MethodMetric(
            method=name,
            **facts[m],
            **_interval(comparison.means, i),
            n=int(comparison.means.n[i]),
            counted=counted[m],
            undefined=int(comparison.undefined[i]),
            to_best=Difference(**_interval(comparison.to_best, i), p=_known(comparison.p[i]))
            if comparison.told_apart(i) is not None
            else None,
            told_apart=comparison.told_apart(i),
        )
        for i, name in enumerate(names)
        for m, comparison in enumerate(comparisons)
    ]


def ranked(
    names: Sequence[str], metrics: Sequence[MetricSpec], comparisons: Sequence[Comparison]
) -> tuple[list[Rank], list[CriticalDifferences]]:
    """Return the average ranks of the methods ``names`` by every metric, and the methods that it cannot distinguish."""
    ranks, critical = [], []
    for metric, comparison in zip(metrics, comparisons, strict=True):
        tested = comparison.critical
        ranks += [
            Rank(metric=metric.key, method=name, rank=_known(rank))
            for name, rank in zip(names, tested.ranks, strict=True)
        ]
        critical.append(
            CriticalDifferences(
                metric=metric.key,
                texts=tested.texts,
                friedman=tested.friedman,
                pairs=[
                    Pair(first=names[i], second=names[j], p=_known(tested.p[i, j]))
                    for i, j in combinations(range(len(names)), 2)
                ],
                groups=[[names[i] for i in group] for group in tested.groups],
                none=tested.none,
            )
        )
    return ranks, critical


def agreements(names: Sequence[str], signed: Sequence[bool], rows: Sequence[Row], texts: Facts) -> list[Agreement]:
    """Return every pair of the methods ``names``; ``signed`` is True for those whose scores have signs."""
    first, second = np.triu_indices(len(names), 1)
    if not len(first):
        return []
    pairs = len(first)

    def measured() -> Iterator[np.ndarray]:
        """Yield Kendall's tau of every pair, then the shares of conflicting signs; some pairs at once, for speed."""
        for kind in ("tau", "conflicts"):
            for start in range(0, pairs, _PAIRS):
                yield from np.ascontiguousarray(texts[kind][:, start : start + _PAIRS].T)

    means = means_of(measured, 2 * pairs, len(rows))
    tau_means, conflict_means = means[:pairs], means[pairs:]
    agreed = []
    for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        taus = texts["tau"][:, pair]
        order = np.argsort(taus, kind="stable")[: min(MOST_APART, tau_means.n[pair])]
        agreed.append(
            Agreement(
                first=names[i],
                second=names[j],
                tau=_agreed(tau_means, pair),
                sign_conflicts=_agreed(conflict_means, pair) if signed[i] and signed[j] else None,
                most_apart=[TextAgreement(row=rows[t].number, tau=taus[t]) for t in order],
            )
        )
    return agreed


def _agreed(means: Means, pair: int) -> Agreed:
    return Agreed(**_interval(means, pair), n=int(means.n[pair]))


# Slices --------------------------------------------------------------------------------------------------------------


def slices(
    names: Sequence[str],
    metrics: Sequence[MetricSpec],
    values: Columns,
    rows: Sequence[Row],
    texts: Facts,
) -> list[Slice]:
    """Return the table over the texts of each gold class, those predicted right and wrong, and thirds by length.

    Rows without a label are in the thirds alone.
    """
    by_label = _grouped(row.label for row in rows)
    by_prediction = _grouped(
        None if row.label is None else "right" if predicted == row.label else "wrong"
        for row, predicted in zip(rows, texts["predicted"], strict=True)
    )
    by_length = _thirds(texts["features"])
    cells = [(key, method) for key in [metric.key for metric in metrics] for method in names]
    sliced = []
    for by, groups in (("label", by_label), ("prediction", by_prediction), ("length", by_length)):
        for name, chosen in groups.items():
            means = means_of(partial(_chosen, values, chosen), len(cells), len(chosen))
            table = [
                SliceMean(metric=metric, method=method, **_interval(means, i), n=int(means.n[i]))
                for i, (metric, method) in enumerate(cells)
            ]
            sliced.append(Slice(by=by, name=name, n=len(chosen), few=len(chosen) < FEW, rows=table))
    return sliced


def _chosen(values: Columns, places: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the values at these ``places`` of every row of the ``values``."""
    return (row[places] for column in values.values() for row in column)


def _grouped(kinds: Iterable[str | None]) -> dict[str, np.ndarray]:
    """Return the places of every kind, the kinds in alphabetical order; None is no kind."""
    groups: dict[str, array[int]] = {}
    for place, kind in enumerate(kinds):
        if kind is not None:
            groups.setdefault(kind, array("q")).append(place)
    return {kind: np.frombuffer(groups[kind], dtype=np.int64) for kind in sorted(groups)}


def _thirds(lengths: np.ndarray) -> dict[str, np.ndarray]:
    """Return the places of the shortest, middle and longest third; equal lengths stay together, no third is empty."""
    short, long = np.quantile(lengths, [1 / 3, 2 / 3], method="inverted_cdf")
    groups = {}
    for third in (lengths <= short, (short < lengths) & (lengths <= long), lengths > long):
        if third.any():
            least, most = lengths[third].min(), lengths[third].max()
            groups[f"{least} to {most}" if least < most else str(least)] = np.flatnonzero(third)
    return groups


# Numbers -------------------------------------------------------------------------------------------------------------


def _interval(means: Means, i: int) -> dict[str, float | None]:
    return {name: _known(getattr(means, name)[i]) for name in ("mean", "low", "high")}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
