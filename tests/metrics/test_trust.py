"""A map against random maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explainlab.metrics.evaluate import RANDOM_MAPS, compare_with_random
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from tests.attribution.conftest import Toys
from tests.metrics.conftest import case_of, judged, value_of
from tests.metrics.test_perturbation import Bag


def test_it_is_the_share_of_random_maps_beaten(encoder: Classifier) -> None:
    case = case_of(encoder)
    found = compare_with_random(case, 7, Batcher(encoder, RunContext()))
    n = len(case.units.features)
    random = case_of(encoder, scores=np.random.default_rng(7).random((RANDOM_MAPS, n)))
    for column, (name, sign) in enumerate((("comprehensiveness", 1), ("sufficiency", -1))):
        controls = [result.value for (result,) in judged(encoder, [random], name)[0]]
        for candidate, row in enumerate(found):
            value = value_of(encoder, case, name, candidate)
            expected = np.mean([1 if sign * (value - c) > 1e-6 else 0.5 * (abs(value - c) <= 1e-6) for c in controls])
            told = row[column]
            assert told.metric.metric == name
            assert told.metric_result.value == pytest.approx(value, abs=2e-6)
            assert told.beaten == pytest.approx(expected)
            assert told.median == pytest.approx(np.median(controls), abs=2e-6)
            assert (told.low, told.high) == pytest.approx(tuple(np.percentile(controls, [5, 95])), abs=2e-6)


def test_the_best_map_beats_all_and_the_worst_none(toys: Toys) -> None:
    classifier = toys(Bag)
    probe = case_of(classifier)
    words = classifier.embed(torch.tensor(probe.encoding.ids))
    terms = (words @ classifier.model.network.head.weight).double().numpy() * (1 if probe.target == 0 else -1)
    case = case_of(classifier, scores=np.stack([terms, -terms]))
    best, worst = compare_with_random(case, 0, Batcher(classifier, RunContext()))
    assert [told.beaten for told in best] == [1, 1]
    assert [told.beaten for told in worst] == [0, 0]


def test_where_nothing_can_be_removed_every_map_ties(encoder: Classifier) -> None:
    for told in compare_with_random(case_of(encoder, "good film", maps=1), 0, Batcher(encoder, RunContext()))[0]:
        assert (told.beaten, told.metric_result.counted) == (0.5, 0)


def test_the_seed_decides(encoder: Classifier) -> None:
    case = case_of(encoder)
    batcher = Batcher(encoder, RunContext())
    median = [compare_with_random(case, seed, batcher)[0][0].median for seed in (0, 0, 1)]
    assert median[0] == median[1] != median[2]
