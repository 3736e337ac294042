"""The map of a decoder's predictions on the way: colours, cards and pictures against the study's own numbers."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab import study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions.figures import beliefs
from explainlab.figures.svg import draw_svg
from explainlab.request import Request
from tests.conftest import Zoo

TEXT = "A funny film. It isn't good!"


def found(zoo: Zoo, name: str, **asked: Any) -> tuple[Request, AnalysisResult]:
    classifier = zoo(name)
    result = study(classifier, "intermediate_predictions", TEXT, **asked)
    return Request(model=classifier.id, text=TEXT, question="occlusion", **asked), result


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_a_colour_is_the_probability_of_the_target_and_a_card_tells_all_classes(zoo: Zoo, unit: str) -> None:
    request, result = found(zoo, "llama", unit=unit, target="neutral")
    drawn = beliefs(request, result.body)
    assert len(drawn.tokens) == len(result.body.positions)
    for token, position in zip(drawn.tokens, result.body.positions, strict=True):
        believed = position.probabilities
        assert token.score == token.strength == believed["neutral"]
        assert token.value == f"{100 * believed['neutral']:.1f}%"
        assert dict(token.told) == {label: f"{100 * p:.1f}%" for label, p in believed.items()}
        assert [believed[label] for label, _ in token.told] == sorted(believed.values(), reverse=True)
        assert not token.clipped
    assert drawn.tokens[-1].score == result.body.prediction.probabilities["neutral"]


def test_the_scale_ends_at_certainty_and_says_what_it_shows(zoo: Zoo) -> None:
    request, result = found(zoo, "llama", target="positive")
    drawn = beliefs(request, result.body, "blue_orange")
    assert (drawn.limit, drawn.limit_value, drawn.signed, drawn.shared) == (1.0, "100%", False, False)
    assert drawn.scale_label == "probability of positive, so far"
    assert drawn.special_share is None
    assert drawn.file_name == "intermediate-predictions-positive"
    picture = draw_svg(drawn)
    assert "Intermediate predictions for positive" in picture
    assert "probability of positive, so far" in picture
    assert "explains" not in picture
    assert "probability of positive, so far" in picture
    assert "total |score|" not in picture


def test_the_prompt_is_told_apart_and_its_end_is_the_prediction(speaker: Zoo) -> None:
    request, result = found(speaker, "llama", unit="word")
    drawn = beliefs(request, result.body)
    said = [token.shown for token in drawn.tokens if not token.special]
    assert "".join(said).replace(" ", "") == TEXT.replace(" ", "")
    assert drawn.tokens[-1].prompt
    assert drawn.tokens[-1].score == pytest.approx(max(result.body.prediction.probabilities.values()), rel=1e-6)
