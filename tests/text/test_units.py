"""Units: words by UAX 29, sentences, how tokens join them, and that totals are kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainlab.models.classifier import Classifier
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units, group, sentences, words
from tests.conftest import Zoo

FAMILY = "👩‍👩‍👧"
TEXTS = st.lists(st.sampled_from([*"ab .!?'’\n\u00a0-é日😀", "\u200d", "<br />", "<br>"]), max_size=40).map("".join)


def _content(units: Units) -> list[str]:
    return [feature.text for feature in units.features if not feature.special]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It isn't good!", ["It", "isn't", "good", "!"]),
        ("don’t e-mail", ["don’t", "e", "-", "mail"]),
        ("the U.S. team, 3.5%", ["the", "U.S", ".", "team", ",", "3.5", "%"]),
        (f"a {FAMILY} 👍🏽 🇩🇪", ["a", FAMILY, "👍🏽", "🇩🇪"]),
        ("one<br />two", ["one", "<", "br", "/", ">", "two"]),
        (" \n ", []),
    ],
)
def test_words_are_unicode_words(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in words(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's bad. The plot isn't.", ["It's bad.", "The plot isn't."]),
        ("The U.S. film by Mr. Smith is good! Is it?", ["The U.S. film by Mr. Smith is good!", "Is it?"]),
        ("It's bad.<br /><br />Avoid it.", ["It's bad.", "Avoid it."]),
        ("no full stop", ["no full stop"]),
        ("<br />", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in sentences(text)] == expected


@given(TEXTS)
def test_words_hold_every_visible_character_once(text: str) -> None:
    _check_spans(text, words(text), text)


@given(TEXTS)
def test_sentences_hold_every_visible_character_once(text: str) -> None:
    _check_spans(text, sentences(text), text.replace("<br />", " " * 6).replace("<br>", " " * 4))


def _check_spans(text: str, spans: list[tuple[int, int]], visible: str) -> None:
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    inside = {i for a, b in spans for i in range(a, b)}
    assert {i for i, c in enumerate(visible) if c.isprintable() and not c.isspace()} <= inside


@pytest.mark.parametrize("name", ["bert", "roberta", "t5", "gpt2", "llama"])
def test_tokens_join_their_word(zoo: Zoo, name: str) -> None:
    units = group(zoo(name).encode("the  second film, isn't it?"), "word")
    assert _content(units) == ["the", "second", "film", ",", "isn't", "it", "?"]


@pytest.mark.parametrize("name", ["roberta", "gpt2", "t5"])
def test_the_pieces_of_one_emoji_are_one_word(zoo: Zoo, name: str) -> None:
    units = group(zoo(name).encode(f"good {FAMILY}!"), "word")
    assert _content(units) == ["good", FAMILY, "!"]
    assert len(group(zoo(name).encode(f"good {FAMILY}!"), "token").features) > len(units.features)


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_features_end_at_their_last_token(tokenizing: Classifier, unit: str) -> None:
    encoding = tokenizing.encode("A good film. The plot is thin.")
    units = group(encoding.padded(len(encoding) + 3, tokenizing.pad_id), unit)
    by_loop = [max(t for t, f in enumerate(units.membership) if f == i) for i in range(len(units.features))]
    assert units.ends.tolist() == by_loop
    assert units.content_ends.tolist() == [*(by_loop[i] for i in units.content[:-1]), len(encoding) - 1]


def test_a_token_over_several_words_joins_them() -> None:
    units = group(_encoding("ab cd ef gh", [(0, 2), (3, 8), (8, 8), (9, 11)]), "word")
    assert _content(units) == ["ab", "cd ef", "gh"]


def test_sentences_of_a_pair_are_never_merged(tokenizing: Classifier) -> None:
    encoding = tokenizing.encode("A good film. The plot is thin.", "the acting is good")
    units = group(encoding, "sentence")
    content = [feature for feature in units.features if not feature.special]
    assert [f.part for f in content] == [0, 0, 1]
    assert [f.text for f in content] == ["A good film.", "The plot is thin.", "the acting is good"]


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_features_point_into_their_text(tokenizing: Classifier, unit: str) -> None:
    encoding = tokenizing.encode("A good film.<br /> The plot's thin 😀", "isn't it")
    for feature in group(encoding, unit).features:
        if not feature.special:
            assert encoding.part_text(feature.part)[feature.start : feature.end] == feature.text
        assert len(feature.pieces) == len(feature.ids) >= 1


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_padding_belongs_to_no_feature(tokenizing: Classifier, unit: str) -> None:
    encoding = tokenizing.encode("A good film. The plot is thin.")
    units = group(encoding.padded(len(encoding) + 4, tokenizing.pad_id), unit)
    plain = group(encoding, unit)
    assert units.features == plain.features
    assert units.membership[-4:].tolist() == [-1] * 4
    np.testing.assert_array_equal(units.membership[:-4], plain.membership)


@given(TEXTS.filter(str.strip), st.sampled_from(["token", "word", "sentence"]), st.data())
def test_sums_keep_totals_and_order(text: str, unit: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    encoding = _encoding(text, list(pairwise(cuts)))
    units = group(encoding, unit)
    assert (np.diff(units.membership) >= 0).all()
    assert set(units.membership.tolist()) == set(range(len(units.features)))
    scores = np.arange(1.0, len(encoding) + 1) ** 2
    assert units.sum_tokens(scores).sum() == scores.sum()


def test_spread_and_token_mask_keep_special_tokens(encoder: Classifier) -> None:
    encoding = encoder.encode("second film")
    units = group(encoding.padded(len(encoding) + 1, 0), "word")
    assert units.content.tolist() == [1, 2]
    assert units.spread(np.array([2.0, 3.0])).tolist() == [0, 2, 3, 0]
    pieces = int((units.membership == 1).sum())
    mask = units.token_mask(np.array([[True, False], [False, False]]))
    assert mask.tolist() == [
        [True] + [True] * pieces + [False] + [True, True],
        [True] + [False] * pieces + [False] + [True, True],
    ]


def _encoding(text: str, offsets: list[tuple[int, int]]) -> Encoding:
    """An encoding with these tokens between two special ones."""
    n = len(offsets) + 2
    special = np.array([True] + [False] * (n - 2) + [True])
    spans = np.array([(0, 0), *offsets, (0, 0)], dtype=np.int64)
    zeros = np.zeros(n, dtype=np.int64)
    return Encoding(text, None, zeros, ~np.zeros(n, bool), special, zeros, zeros, spans, ("x",) * n, 0)
