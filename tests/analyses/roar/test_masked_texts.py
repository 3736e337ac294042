"""The texts behind the slider hold every character of the texts, and all that is known of their masks."""

from __future__ import annotations

import csv
import io

from explainlab.analyses.roar.figures import masked_texts
from explainlab.analyses.roar.result import RoarText, TokenSpan
from tests.analyses.roar.bodies import TEXT, roar_body


def test_pieces_make_the_text_and_tokens_keep_their_places() -> None:
    body = roar_body(recursive=(True, False))
    drawn = masked_texts(body)
    assert drawn.measures[-1] == "Random"
    assert drawn.measures[:2] == ["Attention, last layer, Recursive ROAR", "Gradient (one-hot), Recursive ROAR"]
    assert drawn.ratios[:2] + drawn.ratios[-1:] == ["0%", "10%", "all tokens"]
    for text, own in zip(body.texts, drawn.texts, strict=True):
        assert "".join(piece.text for piece in own.pieces) == text.text
        named = {piece.token: piece.text for piece in own.pieces if piece.token is not None}
        assert named == {i: text.text[t.start : t.end] for i, t in enumerate(text.tokens)}
        assert len(own.masks) == len(drawn.measures)


def test_tokens_that_share_characters_or_leave_some_out_make_the_text() -> None:
    body = roar_body()
    spans = [TokenSpan(start=2, end=5), TokenSpan(start=4, end=8), TokenSpan(start=4, end=8)]
    text = RoarText(row=1, text="  whole text", text_pair="pair", label=0, tokens=spans, masked=[])
    drawn = masked_texts(body.model_copy(update={"texts": [text]})).texts[0]
    assert "".join(piece.text for piece in drawn.pieces) == "  whole text"
    assert [(piece.text, piece.token) for piece in drawn.pieces] == [
        ("  ", None), ("who", 0), ("le ", 1), ("", 2), ("text", None),
    ]  # fmt: skip
    assert drawn.pair == "pair"


def test_a_token_that_no_ratio_masks_is_masked_at_the_last() -> None:
    body = roar_body()
    text = body.texts[0]
    masks = [own.model_copy(update={"at": [None] * len(text.tokens)}) for own in text.masked]
    drawn = masked_texts(body.model_copy(update={"texts": [text.model_copy(update={"masked": masks})]}))
    assert {place for mask in drawn.texts[0].masks for place in mask.at} == {10}


def test_the_table_has_a_row_for_every_mask() -> None:
    body = roar_body()
    rows = list(csv.DictReader(io.StringIO(masked_texts(body).to_csv())))
    assert len(rows) == 4 * 4 * 11
    assert rows[0]["text"] == TEXT
    assert rows[10]["text"] == " ".join(["[MASK]"] * len(TEXT.split(" ")))
    assert rows[0]["predicted"] == "positive"
    assert masked_texts(roar_body(done=0)).to_csv().count("\r\n") == 4 * 4 * 11 + 1


def test_without_texts_there_is_nothing_to_draw() -> None:
    drawn = masked_texts(roar_body().model_copy(update={"texts": []}))
    assert (drawn.texts, drawn.measures) == ([], [])
