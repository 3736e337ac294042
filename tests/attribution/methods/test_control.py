"""The random control: uniform, from the seed alone, without a model pass of its own."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from explainlab import explain
from explainlab.attribution.methods.control import Random
from explainlab.attribution.subject import Subject
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good!"


def drawn(classifier: Classifier, seeds: range) -> np.ndarray:
    """Return the scores of every seed, float64 [seeds, features]."""
    encoding = classifier.encode(TEXT)
    subjects = (Subject(classifier, encoding, seed=seed) for seed in seeds)
    return np.stack([Random().attribute(subject, Random.Parameters()).scores for subject in subjects])


def test_scores_are_uniform(encoder: Classifier) -> None:
    scores = drawn(encoder, range(300))
    assert 0 <= scores.min() < 0.01
    assert 0.99 < scores.max() < 1
    assert kstest(scores.ravel(), "uniform").pvalue > 0.01
    assert min(kstest(column, "uniform").pvalue for column in scores.T) > 0.001


def test_scores_come_from_the_seed(encoder: Classifier) -> None:
    scores = drawn(encoder, range(20))
    assert len(np.unique(scores)) == scores.size
    assert np.array_equal(scores, drawn(encoder, range(20)))


def test_neither_target_nor_unit_nor_parameters_matter(encoder: Classifier) -> None:
    result = explain(encoder, TEXT, "random", seed=7)
    assert np.array_equal(result.scores, explain(encoder, TEXT, "random", seed=7, target=1, output="logit").scores)
    assert result.scores.shape == (len(result.features),)
    assert explain(encoder, TEXT, "random", unit="word").scores.shape == (10,)
    assert not result.signed
    assert result.completeness is None
    assert (result.cost.forward, result.cost.backward) == (1, 0)
