"""Texts with random maps, ready to be judged."""

from __future__ import annotations

import numpy as np

from explainlab.metrics.evaluate import Case, MetricResult, evaluate
from explainlab.metrics.registry import metric_ids, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Unit
from explainlab.text.encoding import Encoding
from explainlab.text.units import Absence, group
from tests.attribution.conftest import toys

__all__ = ["toys"]

WITH_PRESETS = metric_ids("Perturbation")
PERTURBING = [*WITH_PRESETS, *metric_ids("Activation")]
TEXT = "I did not like this film at all. It isn't funny, and the acting is worse than the plot!"
PAIR = "A good film. The team won."


def logits_of(classifier: Classifier, encoding: Encoding) -> np.ndarray:
    """float64 [classes]: of one text alone."""
    return classifier.finite(classifier.logits(classifier.inputs([encoding])))[0]


def case_of(
    classifier: Classifier,
    text: str = TEXT,
    pair: str | None = None,
    unit: Unit = "token",
    maps: int = 3,
    scores: np.ndarray | None = None,
    padded: int = 0,
    rationale: np.ndarray | Absence = "missing",
) -> Case:
    """Return a case of a text with ``scores``, or with ``maps`` random ones; the first has many ties, also zeros."""
    encoding = classifier.encode(text, pair)
    logits = logits_of(classifier, encoding)
    encoding = encoding.padded(len(encoding) + padded, classifier.pad_id)
    units = group(encoding, unit)
    if scores is None:
        scores = np.random.default_rng(len(units.features)).normal(size=(maps, len(units.features)))
        scores[0] = np.round(scores[0])
    return Case(encoding, units, logits, int(logits.argmax()), scores, rationale)


def judged(classifier: Classifier, cases: list[Case], *names: str) -> list[list[list[MetricResult]]]:
    """``cases`` by the metrics of these names."""
    return evaluate(cases, [parse_metric(name) for name in names], Batcher(classifier, RunContext()))


def value_of(classifier: Classifier, case: Case, name: str, candidate: int = 0) -> float:
    """One number."""
    return judged(classifier, [case], name)[0][candidate][0].value
