"""The chart of methods by metrics claims no lead that the intervals do not allow."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.figures import methods_by_metric
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.metrics.registry import parse_metric

METRIC = parse_metric("comprehensiveness")


def body(**intervals: tuple[float, float, float]) -> EvaluationData:
    rows = [
        MethodMetric(method=method, **METRIC.facts, mean=mean, low=low, high=high, n=9, counted=9)
        for method, (mean, low, high) in intervals.items()
    ]
    return EvaluationData(n=9, rows=rows, cost_by_method={}, texts=[])


@pytest.mark.parametrize(
    ("lime", "said"),
    [
        ((0.9, 0.8, 1.0), "LIME is ahead with 0.900 (0.800 to 1.000)."),
        ((0.9, 0.5, 1.0), "none of these is ahead, as their intervals overlap: LIME 0.900 (0.500 to 1.000) and Random"),
    ],
)
def test_the_description_says_who_is_ahead_as_far_as_the_intervals_allow(lime: tuple, said: str) -> None:
    chart = methods_by_metric(body(random=(0.5, 0.4, 0.6), lime=lime), METRIC.name)
    assert said in chart.alt
    assert "best" not in chart.alt.lower()
