"""What the table of a data set needs of each text: a few numbers, since there may be very many texts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from explainlab.analyses.evaluation.result import EvaluationText
from explainlab.metrics.agreement import rank_correlations, sign_conflicts

Facts = np.ndarray
"""Of T texts, [T] in the dtype of :func:`facts_dtype`."""


def facts_dtype(names: int, methods: int, controls: int, metrics: int) -> np.dtype[np.void]:
    """The numbers of a text, for N ``names``, of which the first are ``methods`` and the others files.

    ``values`` are those of the names and controls, NaN where undefined. ``selects``: whether a metric selects anything.
    ``tau`` and ``conflicts``: Kendall's tau and the share of conflicting signs of every pair of names. ``passes``:
    forward and backward. ``silent`` and ``negative``: whether all scores are 0, or any is below it. ``features``
    counts those that are not special; ``undefined``: why there is no rationale, or None.
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
            ("predicted", "O"),
            ("text_seed", "u4"),
            ("undefined", "O"),
        ]
    )


def facts_of(body: EvaluationText) -> tuple[Any, ...]:
    """Those of a text's result, in the order of :func:`facts_dtype`."""
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
        sys.intern(body.prediction.label),
        body.text_seed,
        body.undefined,
    )
