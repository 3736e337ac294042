"""How much better than random a map is: the question whether it can be trusted, in one number a reader understands."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from explainlab.metrics.evaluate import Case, MetricResult, evaluate
from explainlab.metrics.registry import MetricRequest, parse_metric
from explainlab.models.batching import Batcher

RANDOM_MAPS = 100
TIE = 1e-6
"""Values nearer than this differ by the rounding of float32 passes."""


@dataclass(frozen=True, eq=False)
class Trust:
    """One map among random maps of the same text, by one metric.

    ``beaten`` is the share of random maps that are worse, ties counted half: 1/2 is what a random map can expect.
    ``median``, ``low`` and ``high`` are the random maps' median and their 5% and 95% quantiles.
    """

    metric: MetricRequest
    metric_result: MetricResult
    beaten: float
    median: float
    low: float
    high: float


def trust(case: Case, seed: int, batcher: Batcher) -> list[tuple[Trust, Trust]]:
    """For every map of ``case``, comprehensiveness and sufficiency against 100 maps of uniform scores from ``seed``.

    All maps of the case are held against the same random maps, and all are judged in one go.
    """
    random = np.random.default_rng(seed).random((RANDOM_MAPS, case.scores.shape[1]))
    asked = (parse_metric("comprehensiveness"), parse_metric("sufficiency"))
    (judged,) = evaluate([replace(case, scores=np.concatenate([case.scores, random]))], asked, batcher)
    maps, controls = judged[: len(case.scores)], judged[len(case.scores) :]
    usual = [np.array([row[i].value for row in controls]) for i in range(len(asked))]
    return [tuple(_against(*found) for found in zip(asked, row, usual, strict=True)) for row in maps]


def _against(metric: MetricRequest, metric_result: MetricResult, random: np.ndarray) -> Trust:
    ahead = (metric_result.value - random) * (1 if metric.higher_is_better else -1)
    beaten = np.where(np.abs(ahead) <= TIE, 0.5, ahead > 0).mean()
    low, median, high = np.percentile(random, [5, 50, 95]).tolist()
    return Trust(metric, metric_result, float(beaten), median, low, high)
