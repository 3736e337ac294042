"""The answer to a text in words: every wording, forced by scores and comparisons that allow no other."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from explainlab import explain, load_model
from explainlab.analyses.explain.verdict import most_trusted, verdict
from explainlab.attribution.records import Attribution, Target
from explainlab.figures.export import to_svg
from explainlab.models.classifier import Classifier, Prediction
from tests.analyses.trust.test_verdict import trust

TEXT = "A warm film, and warm again. It drags a little."


@pytest.fixture(scope="module")
def result() -> Attribution:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    result = explain(classifier, TEXT, method="occlusion", unit="word", target="positive")
    prediction = Prediction(1, "positive", {"negative": 0.27, "positive": 0.73})
    return replace(result, prediction=prediction, target=Target(1, "positive"))


def scored(result: Attribution, other: float = 0.0, **scores: float) -> Attribution:
    """Return ``result`` with these ``scores`` of words, ``other`` for all others, and more than any where special."""
    values = [9.0 if f.special else scores.get(f.text, other) for f in result.features]
    return replace(result, scores=np.array(values))


def test_words_for_and_against_are_named(result: Attribution) -> None:
    some = scored(result, film=0.5, little=0.4, drags=-0.3, A=0.1, It=-0.1)
    assert verdict(some) == (
        "Positive (73%), mainly because of “film” and “little” (by Occlusion); “drags” speaks against."
    )
    assert "“drags” and “It” speak against." in verdict(scored(result, film=0.5, drags=-0.3, It=-0.2))
    assert verdict(scored(result, film=0.5)) == "Positive (73%), mainly because of “film” (by Occlusion)."


def test_many_alike_are_only_a_part_of_the_reason(result: Attribution) -> None:
    assert ", in part because of “A”, “warm” and “film” (by Occlusion)." in verdict(scored(result, other=0.1))


def test_a_word_is_named_once_and_only_where_it_exceeds_its_error(result: Attribution) -> None:
    warm = scored(result, warm=0.5, film=0.4)
    assert "because of “warm” and “film” (" in verdict(warm)
    errors = np.array([0.45 if feature.text == "film" else 0.0 for feature in result.features])
    assert "because of “warm” (" in verdict(replace(warm, errors=errors))


@pytest.mark.parametrize("scores", [{"warm": -0.5}, {"warm": -0.5, "film": 0.04}, {}])
def test_nothing_clear_is_said_so(result: Attribution, scores: dict[str, float]) -> None:
    said = verdict(scored(result, **scores))
    assert said.startswith("Positive (73%), but no word speaks clearly for it (by Occlusion)")
    assert said.endswith("; “warm” speaks against." if scores else "(by Occlusion).")


def test_scores_without_signs_matter_and_speak_for_nothing(result: Attribution) -> None:
    some = replace(scored(result, film=0.5, drags=-0.4), signed=False)
    assert verdict(some) == "Positive (73%), and what matters is mainly “film” and “drags” (by Occlusion)."
    assert verdict(replace(scored(result), signed=False)) == ("Positive (73%), but no word stands out (by Occlusion).")


def test_another_class_than_the_predicted_one_is_named(result: Attribution) -> None:
    other = replace(scored(result, drags=0.5, film=-0.5), target=Target(0, "negative"))
    assert verdict(other) == (
        "Positive (73%). What speaks for “negative” (27%) is mainly “drags” (by Occlusion); “film” speaks against."
    )
    assert "Positive (73%). What matters for “negative” (27%) is mainly " in verdict(replace(other, signed=False))
    nothing = replace(scored(result), target=Target(0, "negative"))
    assert verdict(nothing) == "Positive (73%). No word speaks clearly for “negative” (27%) (by Occlusion)."
    assert " Without its top 3 words “negative” falls to 3%;" in verdict(other, trust(0.99, 0.99))


def test_with_its_comparison_it_says_whether_to_trust_it(result: Attribution) -> None:
    assert verdict(scored(result, film=0.5, drags=-0.3), trust(0.99, 0.99)) == (
        "Positive (73%), mainly because of “film”; “drags” speaks against. Without its top 3 words it falls to 3%; "
        "only 1 of 100 random maps does as well: this map (Occlusion) can be trusted."
    )
    bad = verdict(scored(result, film=0.5), trust(0.3, 0.2))
    assert bad.startswith("Positive (73%), mainly because of “film” (by Occlusion). Without its top 3 words ")
    assert bad.endswith(": this map (Occlusion) is no better than a random one.")


def test_pieces_of_a_word_count_together(result: Attribution) -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    pieces = explain(classifier, "An unfathomable film.", method="occlusion", target="positive")
    first = next(feature for feature in pieces.features if feature.text.startswith("un"))
    assert first.text != "unfathomable"
    scores = np.array([1.0 if "unfathomable".find(f.text) >= 0 and not f.special else 0.0 for f in pieces.features])
    assert "because of “unfathomable” (" in verdict(
        replace(pieces, scores=scores, prediction=result.prediction, target=result.target)
    )


def test_the_answer_is_by_the_map_that_can_be_trusted_most(result: Attribution) -> None:
    good, better, bad = trust(0.8, 0.9), trust(0.99, 0.99), trust(0.3, 0.2)
    several = [result] * 3
    assert most_trusted(several, {}) == 0
    assert most_trusted(several, {0: good, 2: better}) == 2
    assert most_trusted(several, {1: better, 2: better}) == 1
    assert most_trusted(several, {0: bad}) == 1, "nothing is known of the second"
    assert most_trusted(several, {0: bad, 1: bad, 2: bad}) == 0


def test_a_map_against_the_predicted_class_says_so(encoder: Classifier) -> None:
    """This holds for methods with and without a promised sum, and for any class; the picture of the map says it too."""
    seen = {"for": 0, "against": 0, "other": 0}
    for text in ("a good film", "the plot is thin", "I did not like this film at all.", "wonderful acting"):
        predicted = encoder.predict(encoder.encode(text)).label
        other = next(label for label in encoder.labels if label != predicted)
        for method in ("input_x_gradient", "integrated_gradients", "occlusion", "kernel_shap", "random"):
            for output, target in product(("probability", "logit"), (predicted, other)):
                result = explain(encoder, text, method, target=target, output=output)
                total = result.completeness.expected if result.completeness else result.scores.sum()
                against = target == predicted and total < -0.001 * np.abs(result.scores).sum()
                assert ("speak against it" in verdict(result)) == against, (text, method, output, target)
                assert (f"speak against {predicted}" in to_svg(result)) == against
                if against:
                    assert ("baseline" if result.completeness else "promises no sum") in verdict(result)
                seen["other" if target != predicted else "against" if against else "for"] += 1
    assert min(seen.values()) > 3, seen
