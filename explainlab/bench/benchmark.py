"""A benchmark's own computations, which need no pass: its statistics, and the metrics of a rationale."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explainlab.analyses.evaluation import statistics
from explainlab.analyses.evaluation.result import REVERSED, EvaluationText
from explainlab.attribution.records import Target
from explainlab.bench.runner import Row, peak_memory_mb, sentiment_classifiers, text_of, timed
from explainlab.data import Row as Text
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import metric_ids, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier, Prediction
from explainlab.models.context import RunContext
from explainlab.text.rationale import marked_features
from explainlab.text.units import Feature, group

METHODS, METRICS, TEXTS = 12, 8, 2_000
TOKENS = 25
COMPARED, MAPS = 10_000, 8
"""Texts and maps of each that are compared with a rationale."""
TOGETHER = 50
"""Texts that are compared in one call, as an analysis does."""


def rows() -> Iterator[Row]:
    """All statistics of 12 methods, their controls and 8 metrics over 2,000 texts; 10,000 texts with rationales."""
    yield _statistics()
    yield _compared(next(iter(sentiment_classifiers())))


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
        text_seed=0,
        values={},
        costs={},
        features=[Feature("a", 0, 1, False, 0)] * n,
        counted={parse_metric(f"comprehensiveness:k={10 + k}").name: 1 for k in range(METRICS)},
        scores={name: rng.normal(size=n).tolist() for name in names},
    )


def _compared(classifier: Classifier) -> Row:
    """All rationale metrics, from the marked characters to the values; texts of 10 to 58 tokens."""
    requests = [parse_metric(name) for name in metric_ids("Rationale")]
    encodings = [classifier.encode(text_of(classifier, tokens)) for tokens in range(10, 60, 2)]
    texts = [(encoding, group(encoding, "token")) for encoding in encodings]
    rng, logits = np.random.default_rng(0), np.zeros(len(classifier.labels))
    scores = [rng.normal(size=(COMPARED // len(texts), MAPS, len(units.features))) for _, units in texts]

    def evaluated(first: int) -> list[list[list[float]]]:
        cases = []
        for number in range(first, first + TOGETHER):
            (encoding, units), start = texts[number % len(texts)], number % 20
            rationale = marked_features(encoding, units, (((start, start + 12), (start + 25, start + 30)), None))
            own = scores[number % len(texts)][number // len(texts)]
            cases.append(Case(encoding, units, logits, 0, own, rationale))
        results = evaluate(cases, requests, Batcher(classifier, RunContext()))
        return [[[result.value for result in row] for row in case] for case in results]

    evaluated(0)
    _, seconds = timed(lambda: [evaluated(first) for first in range(0, COMPARED, TOGETHER)])
    return Row(
        name="rationale metrics",
        work=f"{len(requests)} metrics, {COMPARED:,} texts x {MAPS} maps",
        device="cpu",
        seconds=seconds,
        peak_memory_mb=peak_memory_mb(classifier.device),
        facts={"texts a second": COMPARED / seconds},
    )
