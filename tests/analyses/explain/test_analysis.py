"""The headline of an attribution: the prediction, and the feature that speaks most for the class explained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explainlab import explain, load_model
from explainlab.analyses.registry import get_analysis
from explainlab.attribution.records import Attribution

TEXT = "A warm film. It drags a little."


@pytest.fixture(scope="module")
def result() -> Attribution:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    return explain(classifier, TEXT, method="occlusion", unit="word", target="positive")


def headline(result: Attribution, **fields: object) -> str:
    return get_analysis("occlusion").headline(replace(result, **fields))


def scored(result: Attribution, best: str, score: float) -> np.ndarray:
    """float64 [n_features]: ``score`` for the feature ``best``, -1 for others, and more than either where special."""
    return np.array([2.0 if f.special else score if f.text == best else -1.0 for f in result.features])


def test_it_names_the_prediction_and_the_feature(result: Attribution) -> None:
    prediction, warm = result.prediction, scored(result, "warm", 0.5)
    share = f"{100 * prediction.probabilities[prediction.label]:.1f}%"
    start = f"The prediction is {prediction.label} ({share}); by Occlusion,"
    for_it = replace(result.target, label=prediction.label)
    assert headline(result, scores=warm, target=for_it) == f"{start} “warm” speaks most for it."
    assert headline(result, scores=warm, target=for_it, signed=False) == f"{start} “warm” matters most for it."
    other = replace(result.target, label="sarcastic")
    assert headline(result, scores=warm, target=other) == f"{start} “warm” speaks most for sarcastic."


def test_it_says_where_nothing_speaks_for_the_class(result: Attribution) -> None:
    assert "no word speaks for " in headline(result, scores=scored(result, "warm", -0.5))
    assert "no word matters for " in headline(result, scores=np.zeros(len(result.scores)), signed=False)


def test_a_long_sentence_is_cut(result: Attribution) -> None:
    longest = tuple(replace(feature, text="so " * 100) for feature in result.features)
    assert f"“{('so ' * 20).rstrip()}…” speaks most" in headline(result, features=longest, scores=np.ones(len(longest)))


def test_the_command_line_begins_with_method_and_class(result: Attribution) -> None:
    first = get_analysis("occlusion").lines(result)[0]
    assert first == f"occlusion for 'positive' ({result.prediction.probabilities['positive']:.4f})"
