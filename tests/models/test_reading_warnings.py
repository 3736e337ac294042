"""Warnings about the reading of a text: each appears under its condition, and nowhere else."""

from __future__ import annotations

import copy
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from explainlab.cli import main
from explainlab.models.classifier import Classifier
from explainlab.models.reading_warnings import LEAST_LABEL_SHARE, reading_warnings, row_warnings, share_words
from tests.conftest import Zoo, loaded

ARABIC = "هذا الفيلم جميل جدا وقصته ممتعة للغاية."


def told(classifier: Classifier, text: str, label_share: float | None = None) -> list[str]:
    return reading_warnings(classifier, classifier.encode(text), label_share)


def test_nothing_is_told_of_a_text_that_is_read(encoder: Classifier) -> None:
    assert told(encoder, "a good film") == []
    assert told(encoder, "a good film", LEAST_LABEL_SHARE) == []


def test_a_cut_is_told(encoder: Classifier) -> None:
    assert told(encoder, "film " * 50) == [
        "The model reads 48 tokens; the last 4 of the text were cut and have no score."
    ]


def test_a_cut_at_the_beginning_is_told(encoder: Classifier) -> None:
    kept_end = copy.deepcopy(encoder.tokenizer)
    kept_end.truncation_side = "left"
    assert told(replace(encoder, tokenizer=kept_end), "film " * 50) == [
        "The model reads 48 tokens; the first 4 of the text were cut and have no score."
    ]


def test_a_text_in_an_unknown_script_is_told() -> None:
    (warning,) = told(loaded("embedded:bert-mini-sst2"), ARABIC)
    assert warning.startswith("The model cannot read this text")
    assert "tokens are unknown to it ([UNK])" in warning


@pytest.mark.parametrize(("unknown", "known"), [(1, 4), (2, 8), (0, 3)])
def test_up_to_a_fifth_of_the_tokens_may_be_unknown(encoder: Classifier, unknown: int, known: int) -> None:
    text = "☃ " * unknown + "film " * known
    assert told(encoder, text) == []
    (warning,) = told(encoder, f"☃ {text}")
    assert f"{unknown + 1} of its {unknown + known + 1} tokens" in warning


def test_bytes_are_always_known(zoo: Zoo) -> None:
    for name in ("gpt2", "roberta", "llama"):
        assert told(zoo(name), "☃ ☃ film") == []


def test_padding_is_no_token(encoder: Classifier) -> None:
    encoding = encoder.encode("☃ film film film film")
    assert reading_warnings(encoder, encoding.padded(40, encoder.tokenizer.unk_token_id), None) == []


def test_label_words_that_are_hardly_said_are_told(encoder: Classifier) -> None:
    (warning,) = told(encoder, "a good film", 0.00684)
    assert "label words together hold 0.7%" in warning


@pytest.mark.parametrize(
    ("share", "words"), [(1.0, "100.0%"), (0.0684, "6.8%"), (0.0005, "0.1%"), (1e-9, "less than 0.1%")]
)
def test_shares_in_words(share: float, words: str) -> None:
    assert share_words(share) == words


def test_the_command_line_tells_the_label_share_and_counts_the_prompt_apart(
    speaker: Zoo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier = speaker("gpt2")
    monkeypatch.setattr(sys, "argv", ["explainlab", "predict", "--model", classifier.id, "--text", "a film", "--json"])
    with pytest.raises(SystemExit):
        main()
    said, encoding = json.loads(capsys.readouterr().out), classifier.encode("a film")
    assert said["label_share"] == pytest.approx(classifier.label_share(encoding), rel=1e-4)
    assert said["tokens"] == len(encoding)
    assert said["prompt_tokens"] == len(encoding) - int(encoding.content.sum())
    assert "label words" in said["warnings"][0]


def test_of_a_data_set_the_median_is_that_of_the_texts_with_a_low_share() -> None:
    shares = np.array([0.02, 0.04, 0.05, 0.9, 0.91, 0.92, 0.93])
    (warning,) = row_warnings(7, 0, shares)
    assert warning.startswith("For 3 of the 7 texts the label words")
    assert "(median 4.0%)" in warning
    assert not row_warnings(2, 0, np.array([np.nan, 0.1]))
    (warning,) = row_warnings(2, 1, np.array([np.nan, np.nan]))
    assert warning.startswith("The model cannot read 1 of the 2 texts: more than 20%")
