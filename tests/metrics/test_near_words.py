"""Replaceable words and their replacements: near words of the word table, by a slow search."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.metrics.edits import Neighbours, cased_as, casing, lettered, single
from explainlab.models.classifier import Classifier
from tests.conftest import loaded


@pytest.fixture(scope="module")
def trained() -> Classifier:
    return loaded("embedded:bert-mini-sst2")


def test_words_of_one_token_with_a_letter_may_be_replaced(trained: Classifier) -> None:
    text = "A funny film, 12 unfathomablenesses!"
    encoding = trained.encode(text, "Good film")
    found = [(word.part, encoding.part_text(word.part)[word.start : word.end]) for word in single(encoding)]
    assert found == [(0, "A"), (0, "funny"), (0, "film"), (1, "Good"), (1, "film")]
    assert [encoding.pieces[word.place] for word in single(encoding)] == ["a", "funny", "film", "good", "film"]
    assert lettered(encoding) == 6


@pytest.mark.parametrize("word", ["funny", "film"])
def test_the_nearest_whole_words_are_found(trained: Classifier, word: str) -> None:
    """Against cosines in float64, and a rule of its own for what a word is: letters without WordPiece's marks."""
    tokenizer, table = trained.tokenizer, trained.model.word_embeddings.weight.double().numpy()
    own = tokenizer.convert_tokens_to_ids(word)
    cosines = table @ table[own] / np.maximum(np.linalg.norm(table, axis=1), 1e-12) / np.linalg.norm(table[own])
    expected: list[str] = []
    for i in np.argsort(-cosines, kind="stable").tolist():
        piece = tokenizer.convert_ids_to_tokens(i)
        if piece.isalpha() and piece != word:
            expected.append(piece)
    found = [near for _, near in Neighbours(trained, 5).of(own)]
    assert found == expected[:5]


def test_words_keep_their_blank_and_their_casing(decoder: Classifier) -> None:
    """GPT-2's tokens spell the blank before a word; its vocabulary knows case."""
    tokenizer = decoder.tokenizer
    near = Neighbours(decoder, 50).of(tokenizer.convert_tokens_to_ids("Ġfilm"))
    assert near
    for token, word in near:
        assert tokenizer.convert_ids_to_tokens(token) == f"Ġ{word}"
        assert word.islower()


def test_casing() -> None:
    assert [casing(word) for word in ("film", "Film", "FILM", "iPhone")] == ["lower", "title", "upper", "mixed"]
    assert [cased_as("plot", other) for other in ("film", "Film", "FILM", "iPhone")] == ["plot", "Plot", "PLOT", "plot"]
