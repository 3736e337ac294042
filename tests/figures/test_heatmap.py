"""Payloads: the text flows exactly, scales are honest, conflicts and agreement are right, nothing odd leaks."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from explainlab.attribution.records import Completeness, Target
from explainlab.errors import RequestError
from explainlab.figures.heatmap import (
    Token,
    agreement,
    heatmap,
    heatmaps,
    limit,
    number,
    opposite,
    spelled,
    sum_words,
)
from explainlab.request import Request


def flow(drawn, part=0):
    """The text that a paragraph shows."""
    own = [t for t in drawn.tokens if t.part == part and not t.special]
    return "".join(t.before + t.shown for t in own) + drawn.paragraphs[part].tail


def test_the_text_flows_exactly(attribution):
    text = " A  stirring,\n<br /> film 👨‍👩‍👧 שלום\u200b \u202eevil  "
    assert flow(heatmap(attribution(text))) == text


def test_overlapping_and_blank_tokens_stay_visible(attribution):
    drawn = heatmap(attribution("🙂 a\n\u200b", spans=[(0, 1), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]))
    assert [t.shown for t in drawn.tokens if not t.special] == ["🙂", "◌", "·", "a", "⏎\n", "◌"]
    assert [t.name for t in drawn.tokens if not t.special] == ["🙂", "🙂", "space", "a", "U+000A", "U+200B"]


def test_tokens_of_one_word_are_joined(attribution):
    drawn = heatmap(attribution("unreal, I", spans=[(0, 2), (2, 6), (6, 7), (8, 9)]))
    assert [t.joined for t in drawn.tokens if not t.special] == [False, True, False, False]


def test_direction_controls_are_isolated(attribution):
    drawn = heatmap(attribution("good \u202eevil\u202c end"))
    assert [t.isolated for t in drawn.tokens] == [False, False, True, False, False]


def test_a_pair_is_two_paragraphs_each_closed_by_its_separator(attribution):
    drawn = heatmap(attribution("good film", pair="bad end"))
    assert [t.part for t in drawn.tokens] == [0, 0, 0, 0, 1, 1, 1]
    assert (flow(drawn, 0), flow(drawn, 1)) == ("good film", "bad end")


def test_the_prompt_is_told_apart(attribution):
    result = attribution("a b")
    asked = replace(result.features[0], text="film: ", prompt=True)
    drawn = heatmap(replace(result, features=(asked, *result.features[1:])))
    assert [t.prompt for t in drawn.tokens] == [True, False, False, False]
    assert [t.special for t in drawn.tokens] == [True, False, False, True]
    assert drawn.tokens[0].shown == "film: "
    assert flow(drawn) == "a b"


def test_the_cut_is_told_and_its_text_kept(attribution):
    drawn = heatmap(attribution("read this but not this", spans=[(0, 4), (5, 9)], cut=3))
    assert "3 more tokens were cut" in drawn.cut
    assert "1 more token was cut" in heatmap(attribution("read", cut=1)).cut
    assert drawn.paragraphs[0].cut
    assert drawn.paragraphs[0].tail == " but not this"
    assert not heatmap(attribution("read this ")).paragraphs[0].cut


def test_a_text_that_lost_its_beginning_keeps_it_apart(attribution):
    drawn = heatmap(attribution("not this but this", spans=[(9, 12), (13, 17)], cut=2))
    assert (drawn.paragraphs[0].unread, drawn.paragraphs[0].tail) == ("not this ", "")
    assert not drawn.paragraphs[0].cut
    assert flow(drawn) == "but this"
    assert [token.start for token in drawn.tokens if not token.special] == [9, 13]
    whole = heatmap(attribution("  read this", spans=[(2, 6), (7, 11)]))
    assert (whole.paragraphs[0].unread, flow(whole)) == ("", "  read this")


def test_limit_counts_content_and_clips_special_tokens(attribution):
    result = attribution("a b", [3, -1, 0.5, 0])
    drawn = heatmap(result)
    assert limit([result]) == drawn.limit == 1
    assert [t.strength for t in drawn.tokens] == [1, 1, 0.5, 0]
    assert [t.clipped for t in drawn.tokens] == [True, False, False, False]
    assert drawn.special_share == pytest.approx(3 / 4.5)


def test_share_and_rank_count_content(attribution):
    tokens = heatmap(attribution("a b", [3, -1, 0.5, 0])).tokens
    assert [t.rank for t in tokens] == [None, 1, 2, None]
    assert tokens[1].share == pytest.approx(2 / 3)


def test_what_is_not_drawn_is_named(attribution):
    result = attribution("a b")
    asked, *rest = result.features
    assert heatmap(result).special_name == "Special tokens"
    both = replace(result, features=(replace(asked, prompt=True), *rest))
    assert heatmap(both).special_name == "The prompt and special tokens"
    assert heatmap(replace(both, features=(*both.features[:-1], replace(rest[-1], prompt=True)))).special_name == (
        "The prompt"
    )


@pytest.mark.parametrize(
    ("sums", "words"),
    [
        (Completeness(0.578, 0.578 * (1 + 8.7e-16), 8.7e-16), "sum +0.578, as it should be"),
        (Completeness(0.5, 0.4, 0.25), "sum +0.500, should be +0.400 (off by 25%)"),
        (Completeness(0.5, 0.0, None), "sum +0.500, should be 0"),
        (None, ""),
    ],
)
def test_a_sum_is_told_beside_what_it_should_be(attribution, sums, words):
    assert sum_words(attribution("a b", completeness=sums)) == words


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["A", "A"], "A gives the opposite sign"),
        (["A", "B", "C", "A"], "A, B and C give the opposite sign"),
    ],
)
def test_contradicting_methods_in_words(names, words):
    assert opposite(names) == words


def test_all_zero_scores_have_no_strength(attribution):
    drawn = heatmap(attribution("a b", [0, 0, 0, 0]))
    assert drawn.limit == 0
    assert {t.strength for t in drawn.tokens} == {0.0}
    assert drawn.tokens[1].value == "0"


def test_maps_share_a_scale_by_kind(attribution):
    results = [attribution("a b", [0, 1, 2, 0]), attribution("a b", [0, 4, 1, 0])]
    results.append(attribution("a b", [0, 9, 8, 0], signed=False))
    assert [m.limit for m in heatmaps(results)] == [2, 4, 9]
    assert [m.limit for m in heatmaps(results, shared=True)] == [4, 4, 9]
    logits = replace(results[0], request=results[0].request.model_copy(update={"output": "logit"}))
    assert [m.limit for m in heatmaps([logits, *results[1:]], shared=True)] == [limit([logits]), limit(results[1:2]), 9]


def test_unsigned_values_have_no_sign(attribution):
    drawn = heatmap(attribution("a b", [0, 0.15, 0.2, 0], signed=False))
    assert drawn.tokens[1].value == "0.150"


def test_conflicts_are_marked_where_they_are_with_who_contradicts(attribution):
    def by(method, *scores, **fields):
        request = Request(model="tiny", text="a b c", question=method)
        return attribution("a b c", [0, *scores, 0], request=request, **fields)

    results = [by("lime", 1, -1, 0.05), by("occlusion", -1, -1, -1), by("kernel_shap", -1, 1, 1)]
    assert [pair.conflicts for pair in agreement(results)] == [[1], [1, 2], [2, 3]]
    drawn = heatmaps(results)
    assert [token.conflict for token in drawn[0].tokens] == [
        "", "Occlusion and KernelSHAP give the opposite sign", "KernelSHAP gives the opposite sign", "", ""
    ]  # fmt: skip
    assert drawn[0].mark == "Occlusion or KernelSHAP gives the opposite sign"
    assert [bool(token.conflict) for token in drawn[1].tokens] == [False, True, True, True, False]
    assert drawn[1].tokens[3].conflict == "KernelSHAP gives the opposite sign"


def test_a_map_of_another_class_or_without_signs_contradicts_nothing(attribution):
    first = attribution("a b", [0, 1, -1, 0])
    other = attribution("a b", [0, -1, 1, 0], target=Target(0, "negative"))
    magnitude = attribution("a b", [0, 1, 1, 0], signed=False)
    for drawn in heatmaps([first, other, magnitude]):
        assert not drawn.has_conflicts
        assert drawn.mark == ""
    against = attribution("a b", [0, -1, -1, 0])
    marked = heatmaps([first, against, other, magnitude])
    assert [[bool(token.conflict) for token in drawn.tokens] for drawn in marked] == [
        [False, True, False, False], [False, True, False, False], [False] * 4, [False] * 4
    ]  # fmt: skip


def test_special_tokens_and_unsigned_maps_never_conflict(attribution):
    special = [attribution("a", [1, 1, 1]), attribution("a", [-1, 1, -1])]
    assert agreement(special)[0].conflicts == []
    unsigned = [attribution("a", [0, -1, 0]), attribution("a", [0, 1, 0], signed=False)]
    assert agreement(unsigned)[0].conflicts == []


def test_rank_correlation(attribution):
    signed = attribution("a b c", [9, 1, 2, -3, 9])
    assert agreement([signed, signed])[0].rank_correlation == pytest.approx(1)
    magnitude = attribution("a b c", [0, 1, 2, 3, 0], signed=False)
    assert agreement([signed, magnitude])[0].rank_correlation == pytest.approx(1)
    constant = attribution("a b c", [1, 2, 2, 2, 0])
    assert agreement([signed, constant])[0].rank_correlation is None
    assert [(p.first, p.second) for p in agreement([signed, magnitude, constant])] == [(0, 1), (0, 2), (1, 2)]


def test_maps_of_other_features_are_not_compared(attribution):
    results = [attribution("a b"), attribution("a c")]
    with pytest.raises(RequestError, match="different features"):
        agreement(results)
    assert not any(m.has_conflicts for m in heatmaps(results))


def test_payload_is_plain_json(attribution):
    drawn = heatmap(attribution("a b", errors=np.full(4, 0.01)), scale=np.float32(2))
    body = drawn.model_dump(mode="json")
    assert json.loads(json.dumps(body, allow_nan=False)) == body
    kinds = {type(value) for token in body["tokens"] for value in token.values()}
    assert kinds <= {str, bool, int, float, list, type(None)}
    assert {type(i) for token in body["tokens"] for i in token["ids"]} == {int}
    assert type(body["limit"]) is float


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_must_be_finite(attribution, bad):
    with pytest.raises(ValueError, match="not finite"):
        heatmap(attribution("a b", [0, bad, 1, 0]))
    token = heatmap(attribution("a b")).tokens[1].model_dump()
    with pytest.raises(ValidationError):
        Token(**{**token, "error": bad})


@pytest.mark.parametrize(
    ("value", "signed", "expected"),
    [
        (0.15, True, "+0.150"),
        (-0.15, True, "−0.150"),
        (0.15, False, "0.150"),
        (0, True, "0"),
        (0.9999, True, "+1.00"),
        (1234.5, False, "1230"),
        (123.456, False, "123"),
        (-1.206e-5, True, "−1.21e−5"),
        (2.5e7, True, "+2.50e7"),
    ],
)
def test_numbers(value, signed, expected):
    assert number(value, signed) == expected


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_numbers_keep_three_figures(value):
    assert float(number(value, signed=False).replace("−", "-")) == pytest.approx(value, rel=0.00501)


def test_invisible_characters_are_spelled_out():
    assert spelled("a\u200bb\u202e\n\x00") == "aU+200BbU+202EU+000AU+0000"
    assert (spelled(" "), spelled("   "), spelled("a b")) == ("space", "3 spaces", "a b")


@pytest.mark.parametrize(
    ("text", "name"), [("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"), ("a\u200db", "aU+200Db"), ("👧\u200d", "👧U+200D")]
)
def test_what_joins_pictures_is_no_hidden_character(text, name):
    assert spelled(text) == name


# The spread of an ensemble -------------------------------------------------------------------------------------------


def test_the_spread_is_a_share_of_the_scale(attribution):
    drawn = heatmap(attribution("a b c", [0, 0.5, 0.25, 0, 0], spread=np.array([0, 0.1, 0.75, 0, 0]), signed=False))
    assert [token.band for token in drawn.tokens] == [None, 0.2, 1.0, 0.0, None]
    assert [token.spread_value for token in drawn.tokens] == [None, "0.100", "0.750", "0", None]
    assert "a full bar is 0.500" in drawn.spread_label
    wider = heatmap(attribution("a", [0, 0.5, 0], spread=np.array([0, 0.1, 0])), scale=1)
    assert wider.tokens[1].band == pytest.approx(0.1)


def test_other_methods_have_no_spread(attribution):
    drawn = heatmap(attribution("a b"))
    assert drawn.spread_label == ""
    assert all(token.band is None and token.spread_value is None for token in drawn.tokens)


def test_scores_that_are_all_zero_have_empty_bars(attribution):
    drawn = heatmap(attribution("a", [0, 0, 0], spread=np.zeros(3)))
    assert drawn.tokens[1].band == 0


def test_the_features_of_highest_score_are_framed_special_tokens_never(attribution):
    drawn = heatmap(attribution("a b c d", [9, 0.2, -1, 0.5, 0.2, 9]), top_k=3)
    assert [token.top for token in drawn.tokens] == [0, 2, 0, 1, 3, 0]
    assert "the 3 tokens" in drawn.top_label
    assert "the 1 token " in heatmap(attribution("a"), top_k=5).top_label
    plain = heatmap(attribution("a b c d"))
    assert not plain.top_label
    assert not any(token.top for token in plain.tokens)
