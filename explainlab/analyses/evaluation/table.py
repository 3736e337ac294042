"""The table of methods by metrics, as every figure and file of an evaluation arranges it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, Kind, MethodMetric, kind_of
from explainlab.analyses.parameters import RANDOM


@dataclass(frozen=True)
class MetricTable:
    """The cells of the metrics of one kind.

    ``metrics`` are facts by name (``asked``), in the order of the request. ``methods`` are by their average rank over
    these metrics, the best first; ``controls`` are random and the reversed ones. ``best`` is as by :func:`best_row`.
    """

    kind: Kind
    metrics: dict[str, MethodMetric]
    methods: list[str]
    controls: list[str]
    cells: dict[tuple[str, str], MethodMetric]
    best: dict[str, MethodMetric | None]

    def share(self, method: str, metric: str) -> float | None:
        """Return the place of a cell between random (0) and the best of its metric (1); below 0 is worse than random.

        The range is -1 to 1. Where random is best, the cell farthest from it is at -1. None without a mean.
        """
        cell, random, best = self.cells[method, metric], self.cells.get((RANDOM, metric)), self.best[metric]
        if cell.mean is None or random is None or random.mean is None or best is None or best.mean is None:
            return None
        means = [other.mean for (_, asked), other in self.cells.items() if asked == metric]
        span = abs(best.mean - random.mean) or max(abs(mean - random.mean) for mean in means if mean is not None)
        return max(-1.0, min(1.0, cell.sign * (cell.mean - random.mean) / span)) if span else 0.0

    def written(self, value: float | None, metric: str) -> str:
        """Return ``value`` with a true minus, and decimals that give the largest mean of its metric three digits."""
        if value is None:
            return "–"
        means = [abs(cell.mean) for (_, asked), cell in self.cells.items() if asked == metric and cell.mean]
        decimals = max(0, min(6, 2 - math.floor(math.log10(max(means))))) if means else 2
        return f"{value:z,.{decimals}f}".replace("-", "−")

    def between(self, row: MethodMetric) -> str:
        """Return the interval of a cell; empty without one."""
        if row.low is None:
            return ""
        return f"{self.written(row.low, row.asked)} to {self.written(row.high, row.asked)}"

    def shared_n(self, metric: str) -> int | None:
        """Return the number of texts behind every mean of a metric; None if it differs."""
        counts = {cell.n for (_, asked), cell in self.cells.items() if asked == metric}
        return counts.pop() if len(counts) == 1 else None


def kinds_of(body: EvaluationData) -> list[Kind]:
    """Return the kinds of tables that occur: metrics that perturb, then metrics that compare with a rationale."""
    kinds = {kind_of(body, row.metric) for row in body.rows}
    return sorted(kinds, key=lambda kind: kind != "faithfulness")


def table_of(body: EvaluationData, kind: Kind = "faithfulness") -> MetricTable:
    """Return the table of ``kind``; it may have no metrics."""
    chosen = [row for row in body.rows if kind_of(body, row.metric) == kind]
    metrics = {row.asked: row for row in reversed(chosen)}
    names = list(dict.fromkeys(row.method for row in chosen))
    methods = _ranked([name for name in names if _is_candidate(name) and name != RANDOM], body, list(metrics.values()))
    turned = [f"{REVERSED}{name}" for name in methods]
    controls = [name for name in [RANDOM, *turned] if name in names]
    cells = {(row.method, row.asked): row for row in chosen}
    best = {metric: best_row(body, metric) for metric in metrics}
    return MetricTable(kind, dict(reversed(metrics.items())), methods, controls, cells, best)


def metric_row(body: EvaluationData, metric: str) -> MethodMetric:
    """Return a row of ``metric`` (its name ``asked``), for its facts; raises :class:`StopIteration` without any."""
    return next(row for row in body.rows if row.asked == metric)


def best_row(body: EvaluationData, metric: str) -> MethodMetric | None:
    """Return the row with the best mean, without reversed controls; among equal ones the first. None without a mean."""
    rows = [row for row in body.rows if row.asked == metric and row.mean is not None and _is_candidate(row.method)]
    return max(rows, key=lambda row: row.sign * (row.mean or 0.0), default=None)


def average_rank(body: EvaluationData, method: str, keys: Sequence[str]) -> float | None:
    """Return the mean over the metrics ``keys`` of a method's average ranks; None where it has none."""
    ranks = [rank.rank for rank in body.ranks if rank.method == method and rank.metric in keys]
    known = [rank for rank in ranks if rank is not None]
    return fmean(known) if known else None


def _ranked(methods: Sequence[str], body: EvaluationData, metrics: Sequence[MethodMetric]) -> list[str]:
    keys = [metric.key for metric in metrics]
    ranks = {name: average_rank(body, name, keys) for name in methods}
    return sorted(methods, key=lambda name: math.inf if (rank := ranks[name]) is None else rank)


def _is_candidate(name: str) -> bool:
    return not name.startswith(REVERSED)
