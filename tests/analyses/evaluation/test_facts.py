"""What is kept of a text: its values come back, and what takes room is gone."""

from __future__ import annotations

import sys

import numpy as np

from explainlab import load_model, study
from explainlab.analyses.evaluation.facts import TextFacts

MOST_BYTES = 3_000


def test_the_numbers_of_a_text_come_back_and_are_few() -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    asked = {"methods": ["gradient", "occlusion"], "metrics": ["comprehensiveness", "token_f1"]}
    body = study(classifier, "evaluation", "a slow film that is worth every minute of it", **asked).body
    facts = TextFacts.of(body)
    names, metrics = list(body.values), list(body.counted)
    assert facts.named(names, metrics) == body.values
    assert facts.named(names, metrics)["occlusion"]["token_f1"] is None
    assert facts.passes.tolist() == [[cost.forward, cost.backward] for cost in body.costs.values()]
    assert facts.features == sum(not feature.special for feature in body.features)
    assert facts.negative.tolist() == [min(scores) < 0 for scores in body.scores.values()]
    held = [getattr(facts, name) for name in TextFacts.__slots__]
    assert sum(sys.getsizeof(value) for value in held) < MOST_BYTES
    assert all(value.base is None for value in held if isinstance(value, np.ndarray)), "a view would hold all scores"
