"""Encodings: special tokens, exact offsets, pairs, truncation, padding, and texts that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explainlab.errors import TextError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.text.encoding import encode
from tests.conftest import Zoo
from tests.zoo import MAX_TOKENS

TRICKY = "A  good\tfilm, isn't it?\n\n<br />é 日👩‍👧 end "


def test_only_added_tokens_are_special(encoder: Classifier) -> None:
    encoding = encoder.encode("a [SEP] film [MASK] 😀")
    assert encoding.pieces == ("[CLS]", "a", "[SEP]", "film", "[MASK]", "[UNK]", "[SEP]")
    assert encoding.special.tolist() == [True, False, False, False, False, False, True]
    assert encoding.ids[2] == encoding.ids[-1]


@pytest.mark.parametrize("name", ["bert", "roberta", "t5", "gpt2", "llama"])
def test_offsets_point_into_the_original_text(zoo: Zoo, name: str) -> None:
    encoding = zoo(name).encode(TRICKY)
    offsets = encoding.offsets[encoding.content]
    assert encoding.cut == 0
    assert (offsets >= 0).all()
    assert (offsets <= len(TRICKY)).all()
    assert (offsets[:, 0] <= offsets[:, 1]).all()
    assert (np.diff(offsets[:, 0]) >= 0).all()
    covered = np.zeros(len(TRICKY), dtype=bool)
    for start, end in offsets:
        covered[start:end] = True
    assert all(covered[i] or c.isspace() for i, c in enumerate(TRICKY))
    for piece, (start, end) in zip(np.array(encoding.pieces)[encoding.content], offsets, strict=True):
        plain = piece.removeprefix("##").removeprefix("Ġ").removeprefix("▁")
        if TRICKY[start:end].isascii() and plain.isascii() and plain.isalpha():
            assert TRICKY[start:end].strip().lower() == plain.lower()


def test_a_pair_keeps_both_texts_apart(tokenizing: Classifier) -> None:
    encoding = tokenizing.encode("a good film", "the plot")
    content = encoding.parts[encoding.content]
    assert sorted(set(content.tolist())) == [0, 1]
    assert (np.diff(content) >= 0).all()
    second = encoding.content & (encoding.parts == 1)
    assert encoding.part_text(1)[encoding.offsets[second, 0].min() : encoding.offsets[second, 1].max()] == "the plot"
    assert (encoding.types[second] == (1 if "token_type_ids" in _returned(tokenizing) else 0)).all()


def _returned(classifier: Classifier) -> list[str]:
    """The fields for segments in tokenizers of the BERT kind."""
    return ["token_type_ids"] if classifier.tokenizer("a", "a").get("token_type_ids", [0])[-1] else []


def test_a_long_text_is_cut_and_counted(tokenizing: Classifier) -> None:
    encoding = tokenizing.encode("film " * 100)
    whole = len(tokenizing.tokenizer("film " * 100)["input_ids"])
    assert len(encoding) == MAX_TOKENS
    assert encoding.cut == whole - MAX_TOKENS
    short = tokenizing.encode("film")
    assert short.cut == 0
    assert (encoding.special[-1], encoding.special[0]) == (short.special[-1], short.special[0])


def test_of_a_pair_the_longer_text_is_cut(encoder: Classifier) -> None:
    encoding = encoder.encode("a good film", "plot " * 100)
    assert len(encoding) == MAX_TOKENS
    assert (encoding.content & (encoding.parts == 0)).sum() == 3


def test_padding_adds_special_tokens_without_attention(encoder: Classifier) -> None:
    encoding = encoder.encode("a good film")
    padded = encoding.padded(len(encoding) + 3, encoder.pad_id)
    assert len(padded) == len(encoding) + 3
    assert padded.ids[-3:].tolist() == [encoder.pad_id] * 3
    assert padded.special[-3:].all()
    assert not padded.attention[-3:].any()
    np.testing.assert_array_equal(padded.offsets[:-3], encoding.offsets)
    assert encoding.padded(2, encoder.pad_id) is encoding


def test_blank_texts_are_refused(tokenizing: Classifier) -> None:
    for text in ("", "  ", "\n\t", "\u00a0"):
        with pytest.raises(TextError, match="text is empty"):
            tokenizing.encode(text)
        with pytest.raises(TextError, match="second text is empty"):
            tokenizing.encode("a film", text)


def test_half_a_surrogate_pair_is_refused(tokenizing: Classifier) -> None:
    with pytest.raises(TextError, match="surrogate"):
        tokenizing.encode("a film \ud83d")


def test_a_text_over_the_limit_is_refused_with_the_limit(encoder: Classifier) -> None:
    few, many = Limits(max_characters=4), Limits(max_characters=1000)
    assert encode(encoder.tokenizer, "film", None, 48, few).cut == 0
    with pytest.raises(TextError, match=r"1,005 characters.* limit is 1,000; give other limits"):
        encode(encoder.tokenizer, "film " * 201, None, 48, many)
    with pytest.raises(TextError, match="second text has 5"):
        encode(encoder.tokenizer, "film", "films", 48, few)


def test_who_can_raise_the_limit_is_told(encoder: Classifier) -> None:
    limited = replace(encoder, limits=Limits(max_characters=4, changed_by="the host"))
    for text in ("films", "good films"):
        with pytest.raises(TextError, match="EXPLAINLAB_MAX_CHARACTERS"):
            limited.encode(text)


@pytest.mark.parametrize("text", ["[SEP]", "[CLS] [SEP] [PAD]", "[MASK]", "\u200b"])
def test_a_text_of_special_tokens_alone_is_refused(encoder: Classifier, text: str) -> None:
    with pytest.raises(TextError, match="no token to explain"):
        encoder.encode(text)


def test_unknown_words_can_be_explained(encoder: Classifier) -> None:
    assert encoder.encode("😀").content.tolist() == [False, True, False]


class PanicException(BaseException):
    """An error of the name that those of libraries in Rust have."""


def test_a_panic_of_the_tokenizer_is_told(encoder: Classifier) -> None:
    class Panicking:
        def __call__(self, *_: object, **options: object) -> None:
            raise PanicException("byte index 1 is not a char boundary")

    broken = replace(encoder, tokenizer=Panicking())
    with pytest.raises(TextError, match=r"^The library of the tokenizer fails on this text\. Remove"):
        broken.encode("a good film")
