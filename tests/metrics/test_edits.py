"""Edits: the changed words of a text, and the rest, which stays."""

from __future__ import annotations

import pytest

from explainlab.metrics.edits import EDITS, Editor
from explainlab.text.units import words
from tests.conftest import Zoo

TEXT = "I did not like this film at all. It isn't funny, and the acting is worse than the plot!"


def edited(zoo: Zoo, name: str, kind: str, text: str = TEXT, samples: int = 6, pair: str | None = None) -> list:
    return Editor(zoo(name)).edited(zoo(name).encode(text, pair), [kind], samples, 3)


def changed(text: str, other: str) -> list[tuple[str, str]]:
    """The words that differ between two texts of as many words."""
    pairs = zip(words(text), words(other), strict=True)
    both = [(text[a:b], other[c:d]) for (a, b), (c, d) in pairs]
    return [(mine, theirs) for mine, theirs in both if mine != theirs]


def test_case_changes_a_word_or_its_first_letter(zoo: Zoo) -> None:
    for text, _ in edited(zoo, "bert", "case", samples=40):
        ((before, after),) = changed(TEXT, text)
        assert before.casefold() == after.casefold()
        assert after in (before.upper(), before.lower(), before[0].swapcase() + before[1:])


def test_a_typo_exchanges_two_inner_letters_of_a_long_word(zoo: Zoo) -> None:
    texts = edited(zoo, "bert", "typo", samples=100)
    for text, _ in texts:
        ((before, after),) = changed(TEXT, text)
        assert (before[0], before[-1], sorted(before)) == (after[0], after[-1], sorted(after))
        assert sum(map(str.isalpha, before)) >= 4
        first, second = [i for i in range(len(before)) if before[i] != after[i]]
        assert second == first + 1
    assert len(set(texts)) == len(texts) == 12  # i-k, h-i, i-l, s-n, u-n twice, c-t-i-n, o-r-s, h-a


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_synonym_changes_one_token_into_a_near_word(zoo: Zoo, name: str) -> None:
    classifier = zoo(name)
    original = classifier.encode(TEXT)
    texts = edited(zoo, name, "synonym", samples=8)
    assert len(set(texts)) == len(texts) > 2
    table = classifier.model.word_embeddings.weight / classifier.model.word_embeddings.weight.norm(dim=1, keepdim=True)
    for text, _ in texts:
        ids = classifier.encode(text).ids
        (place,) = (ids != original.ids).nonzero()[0]
        ((before, after),) = changed(TEXT, text)
        assert before.casefold() != after.casefold()
        assert (before.islower(), before.istitle()) == (after.islower(), after.istitle())
        nearer = (table @ table[original.ids[place]] > table[ids[place]] @ table[original.ids[place]]).sum()
        assert nearer < len(table) - 1


def test_more_samples_keep_the_first_and_a_pair_is_edited_in_both_texts(zoo: Zoo) -> None:
    few, many = (edited(zoo, "bert", "typo", samples=n, pair="The team won on Monday") for n in (3, 9))
    assert many[:3] == few
    assert {(text != TEXT, pair != "The team won on Monday") for text, pair in many} == {(True, False), (False, True)}


@pytest.mark.parametrize("kind", EDITS)
def test_a_text_that_cannot_be_edited_has_no_versions(zoo: Zoo, kind: str) -> None:
    assert edited(zoo, "bert", kind, "... !") == []


def test_words_that_the_model_does_not_read_stay(zoo: Zoo) -> None:
    text = "film " * 60 + "wonderful"
    assert all(other.endswith("wonderful") for other, _ in edited(zoo, "bert", "typo", text, samples=100))
