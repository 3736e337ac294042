"""Results of evaluations that the tests of their figures share: a real one, and tables made by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from explainlab import evaluate, load_model
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import (
    CriticalDifferences,
    Difference,
    EvaluationData,
    MethodMetric,
    Pair,
    Rank,
)
from explainlab.metrics.registry import parse_metric

HOSTILE = "<script>alert('x')</script> & \"quoted\" {_%$} \\ 50%"
Means = dict[str, dict[str, float | None]]


@pytest.fixture(scope="session")
def evaluated() -> AnalysisResult:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    methods = ["gradient", "occlusion", "input_x_gradient"]
    return evaluate(classifier, "embedded:sentiment", methods, ["comprehensiveness", "sufficiency"], limit=24)


@pytest.fixture(scope="session")
def table() -> Callable[..., EvaluationData]:
    """Make a result of ``{metric: {method: mean}}`` over ten texts; None is a mean of no text."""

    def make(means: Means, told_apart: tuple[str, ...] = ()) -> EvaluationData:
        rows = []
        for name, column in means.items():
            metric = parse_metric(name)
            known = {method: mean for method, mean in column.items() if mean is not None and ":" not in method}
            sign = 1 if metric.higher_is_better else -1
            best = max(known, key=lambda method: sign * known[method], default=None)
            for method, mean in column.items():
                gap = None if mean is None or method == best or best is None else sign * (known[best] - mean)
                rows.append(
                    MethodMetric(
                        method=method,
                        **metric.facts,
                        mean=mean,
                        low=None if mean is None else mean - 0.05,
                        high=None if mean is None else mean + 0.05,
                        n=0 if mean is None else 10,
                        counted=10,
                        undefined=10 if mean is None else 0,
                        to_best=None if gap is None else Difference(mean=gap, low=gap - 0.1, high=gap + 0.1, p=0.01),
                        told_apart=None if gap is None else method in told_apart,
                    )
                )
        return with_test(
            EvaluationData(n=10, rows=sorted(rows, key=lambda row: row.method), cost_by_method={}, texts=[])
        )

    return make


def with_test(body: EvaluationData) -> EvaluationData:
    """Return ``body`` with the ranks of its means, and a test that separates each metric's best as its rows say."""
    ranks, critical = [], []
    for key in dict.fromkeys(row.key for row in body.rows):
        rows = [row for row in body.rows if row.key == key and not row.method.startswith("reversed:")]
        order = sorted(rows, key=lambda row: (row.mean is None, -row.sign * (row.mean or 0.0)))
        ranks += [Rank(metric=key, method=row.method, rank=float(i)) for i, row in enumerate(order, 1)]
        pairs = [
            Pair(first=a.method, second=b.method, p=0.001 if {a.told_apart, b.told_apart} == {None, True} else 0.5)
            for a, b in combinations(rows, 2)
        ]
        critical.append(CriticalDifferences(metric=key, texts=10, friedman=0.01, pairs=pairs, groups=[], none=""))
    return body.model_copy(update={"ranks": ranks, "critical": critical})
