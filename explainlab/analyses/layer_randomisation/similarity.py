"""Similarity of two maps of a text, and of maps that no model made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explainlab.analyses.layer_randomisation.result import Control, RandomisationText
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval
from explainlab.metrics.comparison import spearman

RANDOM_MAPS = 100


def rho(scores: np.ndarray, other: np.ndarray) -> float | None:
    """Return Spearman's rho of two maps float64 [n]; None where all scores of either are equal."""
    value = float(spearman(scores, other[None])[0])
    return None if np.isnan(value) else value


def controls(bodies: Sequence[RandomisationText]) -> list[Control]:
    """Return the controls of every method, signed and absolute, over the texts whose map is not constant."""
    found = [_of_text(body) for body in bodies]
    names = [method.method for method in bodies[0].methods]
    return [
        _control(name, absolute, [own[i, int(absolute)] for own in found])
        for i, name in enumerate(names)
        for absolute in (False, True)
    ]


def _of_text(body: RandomisationText) -> np.ndarray:
    """Return rho with random maps, then with the order, float64 [methods, 2, RANDOM_MAPS + 1]; NaN if constant."""
    content = np.array([not feature.special for feature in body.features])
    n = int(content.sum())
    others = np.random.default_rng(body.text_seed).random((RANDOM_MAPS, n))
    others = np.concatenate([others, -np.arange(n, dtype=float)[None]])
    maps = [np.array(method.scores)[content] for method in body.methods]
    return np.array([[spearman(own, others), spearman(np.abs(own), others)] for own in maps])


def _control(method: str, absolute: bool, texts: Sequence[np.ndarray]) -> Control:
    known = np.array([own for own in texts if not np.isnan(own).any()])
    if not len(known):
        none = Interval(mean=None, low=None, high=None)
        return Control(method=method, absolute=absolute, random=none, order=none)
    means = known[:, :-1].mean(axis=0)
    low, high = np.percentile(means, [5, 95]).tolist()
    random = Interval(mean=float(means.mean()), low=low, high=high)
    return Control(method=method, absolute=absolute, random=random, order=interval(known[:, -1].tolist()))
