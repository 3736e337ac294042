"""A benchmark's own computations, which need no pass: its statistics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explainlab.analyses.evaluation import statistics
from explainlab.analyses.evaluation.result import REVERSED, EvaluationText
from explainlab.attribution.records import Target
from explainlab.bench.runner import Row, timed
from explainlab.data import Row as Text
from explainlab.metrics.registry import parse_metric
from explainlab.models.classifier import Prediction
from explainlab.text.units import Feature

METHODS, METRICS, TEXTS = 12, 8, 2_000
TOKENS = 25


def rows() -> Iterator[Row]:
    """All statistics of 12 methods, their controls and 8 metrics over 2,000 texts."""
    yield _statistics()


def _statistics() -> Row:
    names = [f"method {i}" for i in range(METHODS)]
    table = [*names, *(f"{REVERSED}{name}" for name in names)]
    metrics = [parse_metric(f"comprehensiveness:k={10 + k}") for k in range(METRICS)]
    rng = np.random.default_rng(0)
    texts = [Text(i, "", label="ab"[i % 2]) for i in range(TEXTS)]
    bodies = [_text(rng, names) for _ in texts]
    values = {metric.name: rng.normal(size=(len(table), TEXTS)).round(3) for metric in metrics}

    def run() -> None:
        statistics.method_rows(table, METHODS, metrics, values, bodies)
        statistics.ranked(names, metrics, values)
        statistics.agreements(names, [True] * METHODS, texts, bodies)
        statistics.slices(table, metrics, values, texts, bodies)

    _, seconds = timed(run)
    work = f"{METHODS} methods, {METRICS} metrics, {TEXTS:,} texts"
    return Row(name="statistics", work=work, device="cpu", seconds=seconds)


def _text(rng: np.random.Generator, names: list[str]) -> EvaluationText:
    n = int(rng.integers(TOKENS // 2, 2 * TOKENS))
    return EvaluationText.model_construct(
        prediction=Prediction(0, "a", {"a": 0.6, "b": 0.4}),
        target=Target(0, "a"),
        features=[Feature("a", 0, 1, False, 0)] * n,
        counted={parse_metric(f"comprehensiveness:k={10 + k}").name: 1 for k in range(METRICS)},
        scores={name: rng.normal(size=n).tolist() for name in names},
    )
