"""How much better than random an attribution is, in one number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from explainlab.metrics.evaluate import Case, MetricResult, evaluate
from explainlab.metrics.registry import MetricSpec, parse_metric
from explainlab.models.batching import Batcher

RANDOM_MAPS = 100
TIE = 1e-6
"""Values nearer than this differ by the rounding of float32 passes."""


@dataclass(frozen=True, eq=False)
class Trust:
    """An attribution compared with random attributions of the same text by a metric.

    ``beaten``: the share of random attributions that are worse, ties counted half; 1/2 is expected for a random one.
    ``median``, ``low`` and ``high``: their median and their 5% and 95% quantiles.
    """

    metric: MetricSpec
    metric_result: MetricResult
    beaten: float
    median: float
    low: float
    high: float


def trust(case: Case, seed: int, batcher: Batcher) -> list[tuple[Trust, Trust]]:
    """Comprehensiveness and sufficiency of every attribution of ``case`` against 100 of uniform scores from ``seed``.

    All are compared with the same random attributions, and all are evaluated together.
    """
    random = np.random.default_rng(seed).random((RANDOM_MAPS, case.scores.shape[1]))
    first, second = parse_metric("comprehensiveness"), parse_metric("sufficiency")
    (results,) = evaluate([replace(case, scores=np.concatenate([case.scores, random]))], (first, second), batcher)
    rows, controls = results[: len(case.scores)], results[len(case.scores) :]
    values = [np.array([row[i].value for row in controls]) for i in range(2)]
    return [(_against(first, row[0], values[0]), _against(second, row[1], values[1])) for row in rows]


def _against(metric: MetricSpec, metric_result: MetricResult, random: np.ndarray) -> Trust:
    ahead = (metric_result.value - random) * (1 if metric.higher_is_better else -1)
    beaten = np.where(np.abs(ahead) <= TIE, 0.5, ahead > 0).mean()
    low, median, high = np.percentile(random, [5, 50, 95]).tolist()
    return Trust(metric, metric_result, float(beaten), median, low, high)
