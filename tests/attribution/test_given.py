"""Attributions made elsewhere: both forms of a record, spans that are parts of words, and files that are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from explainlab import explain
from explainlab.attribution.given import GivenMap, read_given
from explainlab.errors import DataError, RequestError
from explainlab.models.classifier import Classifier
from explainlab.text.units import group

TEXT = "An unhurried, wonderful film."


def written(tmp_path, records, lines: bool = False) -> str:
    path = tmp_path / "other.json"
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    path.write_text(text, encoding="utf-8")
    return str(path)


def features_of(classifier: Classifier, unit: str = "token", text: str = TEXT):
    return group(classifier.encode(text), unit).features


@pytest.mark.parametrize("lines", [False, True])
def test_what_explain_prints_is_read_back(encoder: Classifier, tmp_path, lines) -> None:
    found = explain(encoder, TEXT, "occlusion")
    maps = read_given(written(tmp_path, [found.to_json()], lines))
    content = [not feature.special for feature in found.features]
    np.testing.assert_array_equal(maps.scores(TEXT, None, features_of(encoder))[content], found.scores[content])


def test_scores_alone_stand_in_the_order_of_the_features(encoder: Classifier, tmp_path) -> None:
    features = features_of(encoder)
    scores = [0.5 * i for i in range(len(features))]
    maps = read_given(written(tmp_path, [{"text": TEXT, "scores": scores}]))
    assert maps.scores(TEXT, None, features).tolist() == scores


def test_parts_of_a_word_are_added_up(encoder: Classifier, tmp_path) -> None:
    tokens = [feature for feature in features_of(encoder) if not feature.special]
    spans = [{"start": t.start, "end": t.end, "score": i + 1.0} for i, t in enumerate(tokens)]
    maps = read_given(written(tmp_path, [{"text": TEXT, "features": spans}]))
    words = features_of(encoder, "word")
    expected = [
        sum(span["score"] for span in spans if w.start <= span["start"] < w.end and not w.special) for w in words
    ]
    assert len([w for w in words if not w.special]) < len(tokens)
    assert maps.scores(TEXT, None, words).tolist() == expected


BYTES = "it’s \u00a0 two"
"""It has tokens that share a character, also a blank one, and tokens of blanks alone: spans without characters."""


def spans_of(decoder: Classifier) -> list[dict[str, Any]]:
    """Return the tokens of ``BYTES`` with the scores 1, 2, 3, ..."""
    tokens = features_of(decoder, text=BYTES)
    return [{"start": t.start, "end": t.end, "special": False, "score": i + 1.0} for i, t in enumerate(tokens)]


def fitted(decoder: Classifier, spans: list[dict[str, Any]], unit: str = "token", text: str = BYTES) -> list[float]:
    """Return the scores of a text's features, from the scores of its ``spans``."""
    given = GivenMap.model_validate({"text": text, "features": spans})
    return given.fitted(features_of(decoder, unit, text), "maps").tolist()


def test_tokens_that_share_a_character_take_its_scores_in_their_order(decoder: Classifier) -> None:
    spans = spans_of(decoder)
    places = [(span["start"], span["end"]) for span in spans]
    assert places.count((2, 3)) == 3
    assert places.count((5, 6)) == 2
    assert any(start == end for start, end in places)
    wanted = [span["score"] for span in spans]
    assert fitted(decoder, spans) == wanted
    assert fitted(decoder, sorted(spans, key=lambda span: -span["start"])) == wanted, "other places first"
    raw = decoder.tokenizer(BYTES, return_offsets_mapping=True)["offset_mapping"]
    offsets = [{**span, "start": start, "end": end} for span, (start, end) in zip(spans, raw, strict=True)]
    assert fitted(decoder, offsets) == wanted, "the tokenizer's own places, with blanks"


def test_blanks_belong_to_the_next_word(decoder: Classifier) -> None:
    words = features_of(decoder, "word", BYTES)
    assert [word.text for word in words] == ["it’s", "two"]
    first = len(words[0].pieces)
    scores = [span["score"] for span in spans_of(decoder)]
    assert fitted(decoder, spans_of(decoder), "word") == [sum(scores[:first]), sum(scores[first:])]
    unsaid = [{name: value for name, value in span.items() if name != "special"} for span in spans_of(decoder)]
    assert fitted(decoder, unsaid) == scores
    with pytest.raises(RequestError, match="which are not a feature"):
        fitted(decoder, unsaid, "word")
    last = [{"start": 0, "end": 1, "score": 1.0}, {"start": 1, "end": 3, "score": 2.0}]
    assert fitted(decoder, last, "word", "a  ") == [3.0], "blanks at the end belong to the last one"


@pytest.mark.parametrize(
    ("places", "unit", "problem"),
    [
        ([(2, 3)], "token", "has 1 scores for the characters 2 to 3, which 3 features share"),
        ([(2, 3)] * 4, "token", "has 4 scores for the characters 2 to 3, which 3 features share"),
        ([(0, 0)], "word", "the characters 0 to 0, which are not a feature"),
        ([(3, 2)], "word", "the characters 3 to 2, which are not a feature"),
        ([(7, 99)], "word", "the characters 7 to 99, which are not a feature"),
        ([(99, 99)], "word", "the characters 99 to 99, which are not a feature"),
        ([(3, 8)], "word", "the characters 3 to 8, which are not a feature"),
        ([(0, 4), (4, 5)], "word", "has no score for 'two' at 7"),
    ],
)
def test_a_span_that_is_nobodys_or_several_ones_is_refused(
    decoder: Classifier, places: list[tuple[int, int]], unit: str, problem: str
) -> None:
    with pytest.raises(RequestError, match=problem):
        fitted(decoder, [{"start": start, "end": end, "score": 1.0} for start, end in places], unit)


def test_each_text_of_a_pair_has_its_own_places(encoder: Classifier) -> None:
    texts = "It’s  bad.", "😀  It’s good. "
    found = explain(encoder, texts[0], "random", text_pair=texts[1])
    given = GivenMap.model_validate(found.to_json())
    for part in (0, 1):
        own = [feature.part == part and not feature.special for feature in found.features]
        assert given.fitted(found.features, "maps")[own].tolist() == found.scores[own].tolist()
        words = group(encoder.encode(*texts), "word").features
        scores = given.fitted(words, "maps")[[word.part == part for word in words]]
        assert scores.sum() == pytest.approx(found.scores[own].sum())


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"text": TEXT, "scores": [1.0]}, "1 scores for"),
        ({"text": TEXT, "features": [{"start": 0, "end": 29, "score": 1.0}]}, "characters 0 to 29"),
        ({"text": TEXT, "features": []}, "has no score for 'A"),
        ({"text": "Another text.", "scores": [1.0]}, "no attribution of 'An unhurried"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(encoder: Classifier, tmp_path, record, problem) -> None:
    maps = read_given(written(tmp_path, [record]))
    with pytest.raises(RequestError, match=problem):
        maps.scores(TEXT, None, features_of(encoder))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no json", "other.json is not JSON"),
        ('[{"text": "a"}]', "Record 1 of other.json .* Give either scores or features"),
        ('[{"text": "a", "scores": [NaN]}]', "Record 1 .* finite"),
        ('[{"scores": [1.0]}]', "Record 1 .* text: Field required"),
        ("[1]", "Record 1 of other.json is not a JSON object"),
        ("[{}]", "Record 1 of other.json is not an attribution"),
    ],
)
def test_a_file_that_holds_none_is_refused(tmp_path, text, problem) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        read_given(str(path))


OWN = {"text": TEXT, "scores": [1.0]}


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"scores": [-1.0]}, True),
        ({"scores": [1.0, 2.0]}, True),
        ({"scores": None, "features": [{"start": 0, "end": 2, "score": 1.0}]}, True),
        ({"scores": [1]}, False),
        ({"text": TEXT + " "}, False),
        ({"text_pair": "Another."}, False),
        ({"method": "lime"}, False),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_two_maps_of_a_text_are_refused_where_they_differ(tmp_path, other, differs, lines) -> None:
    path = written(tmp_path, [{"text": "x", "scores": [0.0]}, OWN, {**OWN, **other}], lines)
    if not differs:
        read_given(path)
        return
    with pytest.raises(
        DataError, match=r"other.json has two attributions of 'An unhurried, .* in record 3. Keep that of"
    ):
        read_given(path)


@pytest.mark.parametrize("blank", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_a_new_line_ends_a_record(tmp_path, blank) -> None:
    path = tmp_path / "maps.jsonl"
    records = [{"text": f"a{blank}b", "scores": [1.0]}, {"text": "c", "scores": [2.0]}]
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records), encoding="utf-8")
    if blank < " ":  # JSON itself escapes these
        assert blank not in path.read_text(encoding="utf-8")
    assert [read_given(str(path)).scores(record["text"], None, [None]).tolist() for record in records] == [[1.0], [2.0]]


def test_a_file_that_is_missing_is_told(tmp_path) -> None:
    with pytest.raises(DataError, match="There is no data file"):
        read_given(str(tmp_path / "none.json"))


def test_a_file_that_changed_is_read_again(encoder: Classifier, tmp_path) -> None:
    features = features_of(encoder)
    path = written(tmp_path, [{"text": TEXT, "scores": [0.0] * len(features)}])
    assert read_given(path).scores(TEXT, None, features).sum() == 0
    written(tmp_path, [{"text": TEXT, "scores": [1.0] * len(features)}])
    assert read_given(path).scores(TEXT, None, features).sum() == len(features)
