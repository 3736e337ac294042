"""What a benchmark of methods costs beside the attributions: metrics that need no pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explainlab.bench.runner import Row, peak_memory_mb, sentiment_classifiers, text_of, timed
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import metric_ids, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.text.rationale import marked_features
from explainlab.text.units import group

TEXTS, METHODS = 10_000, 8
TOGETHER = 50
"""Texts that are evaluated in one call, as an analysis does."""


def rows() -> Iterator[Row]:
    """The rationale metrics of many texts and attributions, on the CPU."""
    yield _compared(next(iter(sentiment_classifiers())))


def _compared(classifier: Classifier) -> Row:
    """All rationale metrics, from the marked characters to the values; texts of 10 to 58 tokens."""
    requests = [parse_metric(name) for name in metric_ids("Rationale")]
    encodings = [classifier.encode(text_of(classifier, tokens)) for tokens in range(10, 60, 2)]
    texts = [(encoding, group(encoding, "token")) for encoding in encodings]
    rng, logits = np.random.default_rng(0), np.zeros(len(classifier.labels))
    scores = [rng.normal(size=(TEXTS // len(texts), METHODS, len(units.features))) for _, units in texts]

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
    _, seconds = timed(lambda: [evaluated(first) for first in range(0, TEXTS, TOGETHER)])
    return Row(
        name="rationale metrics",
        work=f"{len(requests)} metrics, {TEXTS:,} texts x {METHODS} maps",
        device="cpu",
        seconds=seconds,
        peak_memory_mb=peak_memory_mb(classifier.device),
        facts={"texts a second": TEXTS / seconds},
    )
