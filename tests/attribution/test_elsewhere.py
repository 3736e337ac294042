"""Maps of the classifier's own tokens: equal scores come back from every spelling, by every tokenizer."""

from __future__ import annotations

import copy
import csv
import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from explainlab import Attribution, ExplainLabError, evaluate, explain
from explainlab.attribution.given import GivenMap
from explainlab.models.classifier import Classifier
from explainlab.text.units import group
from tests.conftest import Zoo
from tests.toys import Linear, toy
from tests.zoo import MAX_TOKENS, tokenizer_of

REAL = ("bert-base-cased", "bert-base-uncased", "gpt2", "roberta-base", "t5-base")
TEXTS = {
    "plain": "a good film",
    "apostrophe": "We don’t mind the rain",
    "emoji": "so good 😀😀 again",
    "joined": "the 👩‍👩‍👧 film",
    "blanks": "two  blanks   here",
    "tabs": "a\tfilm \t\n it\u00a0is\u3000",
    "around": " \n a film  ",
    "accents": "cafe\u0301 noir a\u0323\u0307",
    "ligatures": "ﬁne … ½ İ",
    "unknown": "中文 the 中",
    "special": "a [MASK] b </s> c <|endoftext|> d [SEP] <unk> e",
    "marks": "the ## ▁ Ġ of",
    "dropped": "a\u200bfilm \ufeffwon",
    "cut": "the ’ film 😀 " * MAX_TOKENS,
}


def classifier_of(tokenizer: PreTrainedTokenizerFast, side: str = "right") -> Classifier:
    """Make a classifier with a tokenizer that cuts long texts on one side."""
    own = copy.deepcopy(tokenizer)
    own.truncation_side = side
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return toy(Linear(), own)


def expected(own: Attribution) -> np.ndarray:
    """Return the scores of a map, without those of special tokens."""
    return np.where(own.content, own.scores, 0.0)


def summed(own: Attribution, unit: str, classifier: Classifier) -> np.ndarray:
    """Return the scores of a map by token, added up by walking through the tokens of each feature."""
    scores, at = [], 0
    for feature in group(classifier.encode(own.request.single_text), unit).features:
        scores.append(sum(expected(own)[at : at + len(feature.pieces)]))
        at += len(feature.pieces)
    assert at == len(own.scores)
    return np.array(scores)


def spellings(own: Attribution, classifier: Classifier) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """Yield the tokens of a map as their tokenizer calls them: with special ones, and without."""
    pieces = np.array(classifier.encode(own.request.single_text).pieces, dtype=object)
    yield tuple(pieces), own.scores
    yield tuple(pieces[own.content]), own.scores[own.content]


def check_all_come_back(classifier: Classifier, text: str) -> None:
    """Assert that a map by token, and one by each coarser unit, comes back from all that it can be written as."""
    own = explain(classifier, text, "random")
    assert "".join(own.to_shap().data) == text
    again = Attribution.from_scores(own.to_shap(), classifier)
    assert again.request.single_text == text
    np.testing.assert_array_equal(again.scores, expected(own))
    for tokens, scores in spellings(own, classifier):
        again = Attribution.from_scores(scores, classifier, text, tokens=tokens)
        np.testing.assert_array_equal(again.scores, expected(own))
    record = GivenMap.model_validate_json(json.dumps(own.to_json()))
    np.testing.assert_array_equal(record.fitted(own.features, "maps"), expected(own))
    for unit in ("word", "sentence"):
        whole, coarse = summed(own, unit, classifier), explain(classifier, text, "random", unit=unit)
        assert "".join(coarse.to_shap().data) == text
        np.testing.assert_allclose(record.fitted(coarse.features, "maps"), whole, atol=1e-12)
        again = Attribution.from_scores(own.to_shap(), classifier, unit=unit)
        np.testing.assert_allclose(again.scores, whole, atol=1e-12)
        again = Attribution.from_scores(coarse.to_shap(), classifier, unit=unit)
        np.testing.assert_array_equal(again.scores, expected(coarse))


def shaps(own: Attribution, classifier: Classifier) -> Any:
    """Return the scores of a map, special ones too, as those of the segments of SHAP's masker."""
    import shap  # takes 70 MB

    segments = shap.maskers.Text(classifier.tokenizer).data_transform(own.request.single_text)[0]
    return shap.Explanation(values=own.scores, base_values=0.0, data=segments)


def check_shaps_own_comes_back(classifier: Classifier, text: str) -> bool:
    """Assert that a map with SHAP's segments comes back with its text; return whether also without it."""
    own = explain(classifier, text, "random")
    given = shaps(own, classifier)
    np.testing.assert_array_equal(Attribution.from_scores(given, classifier, text).scores, expected(own))
    try:
        again = Attribution.from_scores(given, classifier)
    except ExplainLabError as error:
        if "may repeat a character" not in str(error):
            raise
        return False
    assert text.startswith(again.request.single_text), "SHAP drops what its last token does not have"
    np.testing.assert_array_equal(again.scores, expected(own))
    return True


CASES = [(text, "right") for text in TEXTS] + [("cut", "left")]
BY_SHAP = {"apostrophe", "blanks", "tabs", "ligatures", "unknown", "special", "plain", "around", "dropped"}
"""The texts whose segments say for every tokenizer which text they are."""


@pytest.mark.parametrize(("text", "side"), CASES)
def test_equal_scores_come_back(tokenizing: Classifier, text: str, side: str) -> None:
    check_all_come_back(classifier_of(tokenizing.tokenizer, side), TEXTS[text])


def test_equal_scores_come_back_from_a_text_in_a_prompt(speaker: Zoo) -> None:
    for text in ("apostrophe", "emoji", "around"):
        check_all_come_back(speaker("gpt2"), TEXTS[text])


@pytest.mark.parametrize("text", [text for text in TEXTS if text != "cut"])
def test_equal_scores_come_back_from_the_segments_of_shap(tokenizing: Classifier, text: str) -> None:
    assert check_shaps_own_comes_back(classifier_of(tokenizing.tokenizer), TEXTS[text]) or text not in BY_SHAP


@pytest.mark.parametrize("tokenizer", ["roberta", "gpt2", "t5"])
def test_shaps_own_map_comes_back(tokenizer: str) -> None:
    import shap  # takes 70 MB

    classifier = classifier_of(tokenizer_of(tokenizer))

    def ask(texts: list[str]) -> np.ndarray:
        return np.array(
            [list(classifier.predict(classifier.encode(str(text))).probabilities.values()) for text in texts]
        )

    explainer = shap.Explainer(ask, shap.maskers.Text(classifier.tokenizer), output_names=list(classifier.labels))
    text = "two 😀 it’s"
    given = explainer([text], max_evals=60, silent=True)
    assert len("".join(given.data[0])) > len(text), "tokens share a character"
    for result in (Attribution.from_scores(given, classifier), Attribution.from_scores(given, classifier, text)):
        assert result.request.single_text == text
        wanted = given.values[0][:, result.target.index]
        np.testing.assert_array_equal(result.scores, np.where(result.content, wanted, 0.0))
        assert np.count_nonzero(result.scores) > 3


@pytest.mark.parametrize("output", ["file", "memory"])
def test_what_explain_prints_is_judged_as_the_map_itself(output: str, zoo: Zoo, tmp_path: Path) -> None:
    classifier, texts = zoo("gpt2"), [TEXTS["apostrophe"], TEXTS["emoji"], TEXTS["blanks"]]
    data, file = tmp_path / "data.csv", tmp_path / "theirs.jsonl"
    with data.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([("text", "label"), *((text, "positive") for text in texts)])
    own = [explain(classifier, text, "occlusion") for text in texts]
    file.write_text("\n".join(json.dumps(one.to_json()) for one in own), encoding="utf-8")
    given = [str(file)] if output == "file" else [
        Attribution.from_scores(one.to_shap(), classifier, method="theirs") for one in own
    ]  # fmt: skip
    table = evaluate(classifier, str(data), ["occlusion"], ["comprehensiveness"], attributions=given)
    means = {row.method: row.mean for row in table.body.rows}
    assert means["theirs"] == means["occlusion"] != means["random"]


@pytest.mark.parametrize(
    ("tokenizer", "pieces"),
    [
        ("gpt2", ["😀", "😀", "😀", "😀", "😀"]),
        ("gpt2", ["’", "’", "a", "a"]),
        ("t5", ["x x ", "a", "a"]),
        ("bert", ["the film ", "the film ", "good"]),
    ],
)
def test_pieces_that_may_spell_several_texts_need_the_text(tokenizer: str, pieces: list[str]) -> None:
    import shap  # takes 70 MB

    given = shap.Explanation(values=np.ones(len(pieces)), base_values=0.0, data=pieces)
    with pytest.raises(ExplainLabError, match="may repeat a character") as told:
        Attribution.from_scores(given, classifier_of(tokenizer_of(tokenizer)))
    assert "text=" in told.value.remedy


def test_tokens_beyond_the_cut_are_refused() -> None:
    classifier = classifier_of(tokenizer_of("gpt2"))
    own = classifier.tokenizer.tokenize(TEXTS["cut"])
    with pytest.raises(ExplainLabError, match="Token"):
        Attribution.from_scores(np.ones(len(own)), classifier, TEXTS["cut"], tokens=own)


@pytest.mark.full("100 tweets, read in 20 ways, take 6 s a tokenizer")
@pytest.mark.parametrize("tokenizer", REAL)
def test_tweets_come_back_by_real_tokenizers(tokenizer: str, shared_models: Path, shared_data: Path) -> None:
    with gzip.open(shared_data / "tweeteval_sentiment" / "test.csv.gz", "rt", encoding="utf-8") as lines:
        tweets = [row["text"] for row in islice(csv.DictReader(lines), 100)]
    real = AutoTokenizer.from_pretrained(shared_models / "tokenizers" / tokenizer)
    for side in ("right", "left"):
        classifier = classifier_of(real, side)
        for text in (*TEXTS.values(), *tweets):
            check_all_come_back(classifier, text)
    read = [tweet for tweet in tweets if not classifier.encode(tweet).cut]
    known = sum(check_shaps_own_comes_back(classifier, text) for text in read)
    assert known > 0.8 * len(read) > 50
