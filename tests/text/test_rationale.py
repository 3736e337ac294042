"""Marked characters become features: of their own text, with blanks apart, whatever the unit; or the reason why not."""

from __future__ import annotations

import pytest

from explainlab.models.classifier import Classifier
from explainlab.request import Rationale, Unit
from explainlab.text.units import group, marked_features

TEXT = "a good film, a great story"
PAIR = "a film"
SENTENCES = "A good film. The team won. It rained."


def marked(
    classifier: Classifier, rationale: Rationale, unit: Unit = "word", text: str = TEXT
) -> list[tuple[int, str]]:
    """The part and the text of every feature that is marked."""
    encoding = classifier.encode(text, None if text == SENTENCES else PAIR)
    units = group(encoding, unit)
    found = marked_features(encoding, units, rationale)
    assert found.shape == (len(units.features),)
    assert not any(found[i] for i, feature in enumerate(units.features) if feature.special)
    return [(feature.part, feature.text) for i, feature in enumerate(units.features) if found[i]]


@pytest.mark.parametrize(
    ("rationale", "expected"),
    [
        ((((2, 6),), None), [(0, "good")]),
        ((((3, 4),), None), [(0, "good")]),
        ((((1, 7),), None), [(0, "good")]),
        ((((2, 8),), None), [(0, "good"), (0, "film")]),
        ((((20, 26), (0, 1), (0, 1)), None), [(0, "a"), (0, "story")]),
        ((None, ((2, 6),)), [(1, "film")]),
        ((((2, 6),), ((0, 1),)), [(0, "good"), (1, "a")]),
        (((), ((2, 3),)), [(1, "film")]),
    ],
)
def test_a_feature_is_marked_by_a_character_of_its_own_text(
    encoder: Classifier, rationale: Rationale, expected: list
) -> None:
    assert marked(encoder, rationale) == expected


def test_a_sentence_is_marked_by_one_of_its_words_and_not_by_a_blank(encoder: Classifier) -> None:
    assert marked(encoder, (((17, 21),), None), "sentence", SENTENCES) == [(0, "The team won.")]
    blank = SENTENCES.index(" team")
    encoding = encoder.encode(SENTENCES)
    assert marked_features(encoding, group(encoding, "sentence"), (((blank, blank + 1),), None)) == "empty"


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_every_token_of_a_marked_word_is_marked(tokenizing: Classifier, unit: Unit) -> None:
    """The tokenizer may treat blanks in any way."""
    encoding = tokenizing.encode(TEXT)
    units = group(encoding, unit)
    found = marked_features(encoding, units, (((2, 11),), None))
    for i, feature in enumerate(units.features):
        inside = not feature.special and TEXT[max(2, feature.start) : min(11, feature.end)].strip() != ""
        assert found[i] == inside


@pytest.mark.parametrize(
    ("rationale", "reason"),
    [
        ((None, None), "missing"),
        (((), None), "empty"),
        ((None, ()), "empty"),
        (((), ()), "empty"),
        ((((1, 2),), ((1, 2),)), "empty"),
    ],
)
def test_nothing_marked_has_a_reason(encoder: Classifier, rationale: Rationale, reason: str) -> None:
    encoding = encoder.encode(TEXT, PAIR)
    assert marked_features(encoding, group(encoding, "token"), rationale) == reason


def test_what_the_model_cuts_is_told_apart(encoder: Classifier) -> None:
    text = "good film " * 100
    encoding = encoder.encode(text)
    assert encoding.cut
    units = group(encoding, "token")
    end = (len(text) - 5, len(text) - 1)
    assert marked_features(encoding, units, ((end,), None)) == "cut"
    partly = marked_features(encoding, units, (((0, 4), end), None))
    assert partly.sum() == 1
    assert marked_features(encoding, units, ((), None)) == "empty"
