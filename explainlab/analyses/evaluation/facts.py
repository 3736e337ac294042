"""The facts of each text for the table of a data set: few, so that those of very many texts fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from explainlab.analyses.evaluation.result import EvaluationText
from explainlab.disk_backed import DiskTable
from explainlab.metrics.comparison import rank_correlations, sign_conflicts
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
