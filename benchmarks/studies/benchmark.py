"""A benchmark's own computations, which need no pass: its statistics, and the metrics of a rationale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.runner import Row, held_out, peak_memory_mb, sentiment_classifiers, text_of, timed
from explainlab.analyses.evaluation import statistics
from explainlab.analyses.evaluation.result import REVERSED, EvaluationText
from explainlab.analyses.evaluation.statistics import Facts, facts_dtype, facts_of
from explainlab.analyses.run import study
from explainlab.attribution.records import Target
from explainlab.data import Row as Text
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import MetricSpec, metric_ids, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier, Prediction
from explainlab.models.context import Receivers, RunContext
from explainlab.text.units import Feature, group, marked_features

METHODS, METRICS, TEXTS = 12, 8, 2_000
TOKENS = 25
COMPARED, MAPS = 10_000, 8
"""Texts and maps of each that are compared with a rationale."""
FINISHED = ("gradient", "input_x_gradient", "lrp", "attention_average", "attention_rollout", "gae")
ADDED, ADDED_TEXTS = "occlusion", 100
"""Methods of a finished evaluation, the method that is added to it, and its texts."""
TOGETHER = 50
"""Texts that are compared in one call, as an analysis does."""


def rows() -> Iterator[Row]:
    """Yield rows for statistics, metrics of rationales, and another method or metric for a finished evaluation."""
    classifier = next(iter(sentiment_classifiers()))
    yield _statistics()
    yield _compared(classifier)
    yield from _added(classifier)


def _added(classifier: Classifier) -> Iterator[Row]:
    """Yield a row for another method beside six and beside random alone, then for other metrics on known texts."""
    data, metrics = held_out(classifier), [*metric_ids("Perturbation"), *metric_ids("Activation")]

    def evaluate_by(methods: Sequence[str], names: Sequence[str], context: RunContext) -> tuple[Any, float]:
        asked: dict[str, Any] = {
            "methods": list(methods),
            "metrics": list(names),
            "rows": ADDED_TEXTS,
            "sample": "first",
        }
        return timed(lambda: study(classifier, "evaluation", data=data, context=context, **asked))

    alone, together = RunContext(), RunContext()
    evaluate_by(["random"], metrics, alone)
    _, rival = evaluate_by([ADDED], metrics, alone)
    evaluate_by(FINISHED, metrics, together)
    _, seconds = evaluate_by([*FINISHED, ADDED], metrics, together)
    work = f"{ADDED} to {len(FINISHED) + 1} methods, {ADDED_TEXTS} texts"
    yield Row(
        name="another method",
        work=work,
        device=classifier.device.type,
        seconds=seconds,
        rival=f"{ADDED} alone",
        rival_seconds=rival,
        ratio_to_rival=seconds / rival,
    )
    batches: list[float] = []
    counted = replace(together, progress=Receivers(spend=batches.append))
    _, seconds = evaluate_by([*FINISHED, ADDED], metrics[::-1][1:], counted)
    yield Row(
        name="another metric",
        work="its texts are known",
        device=classifier.device.type,
        seconds=seconds,
        facts={"batches": len(batches)},
    )


def _statistics() -> Row:
    names = [f"method {i}" for i in range(METHODS)]
    table = [*names, *(f"{REVERSED}{name}" for name in names)]
    metrics = [parse_metric(f"comprehensiveness:k={10 + k}") for k in range(METRICS)]
    rng = np.random.default_rng(0)
    texts = [Text(i, "", label="ab"[i % 2]) for i in range(TEXTS)]
    bodies = [_text(rng, table, metrics) for _ in texts]
    dtype = facts_dtype(METHODS, 0, len(table) - METHODS, METRICS, [body.prediction.label for body in bodies[:1]])

    def run() -> None:
        facts = Facts(dtype, TEXTS)
        for place, body in enumerate(bodies):
            facts[place] = facts_of(body)
        values = statistics.columns(metrics, facts["values"])
        comparisons = statistics.compared(METHODS, metrics, values)
        statistics.method_rows(table, metrics, comparisons, facts)
        statistics.ranked(names, metrics, comparisons)
        statistics.agreements(names, [True] * METHODS, texts, facts)
        statistics.slices(table, metrics, values, texts, facts)

    _, seconds = timed(run)
    work = f"{METHODS} methods, {METRICS} metrics, {TEXTS:,} texts"
    return Row(name="statistics", work=work, device="cpu", seconds=seconds)


def _text(rng: np.random.Generator, table: list[str], metrics: Sequence[MetricSpec]) -> EvaluationText:
    n = int(rng.integers(TOKENS // 2, 2 * TOKENS))
    return EvaluationText.model_construct(
        prediction=Prediction(0, "a", {"a": 0.6, "b": 0.4}),
        target=Target(0, "a"),
        text_seed=0,
        values={name: {metric.name: round(rng.normal(), 3) for metric in metrics} for name in table},
        costs={},
        features=[Feature("a", 0, 1, False, 0)] * n,
        counted={metric.name: 1 for metric in metrics},
        scores={name: rng.normal(size=n).tolist() for name in table[:METHODS]},
    )


def _compared(classifier: Classifier) -> Row:
    """Measure all rationale metrics, from the marked characters to the values; texts of 10 to 58 tokens."""
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
