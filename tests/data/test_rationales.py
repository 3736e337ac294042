"""Rationales as people and tools write them: accepted forms, and other units, which are reported or refused."""

from __future__ import annotations

import csv
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import explainlab
from explainlab import cli
from explainlab.data import read_dataset
from explainlab.data.files import read_spans
from explainlab.errors import DataError
from explainlab.models.classifier import Classifier

TEXT = "this is a truly lovely film about choirs"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def marked(spans: Any, text: str = TEXT) -> list[str]:
    return [text[start:end] for start, end in read_spans(spans, "rationale", text) or ()]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ([[16, 22]], ["lovely"]),
        ("[[10, 15], [16, 22]]", ["truly", "lovely"]),
        ([], []),
        ("[]", []),
        ([16, 17, 18, 19, 20, 21], ["lovely"]),
        ("[16, 17, 18, 19, 20, 21, 23, 24, 25, 26]", ["lovely", "film"]),
        ([0, 1, 2, 3], ["this"]),
        ([8], ["a"]),
        ([39], ["s"]),
        ([{"start": 16, "end": 22, "text": "lovely", "labels": ["WHY"]}], ["lovely"]),
        ([{"start": 16, "end": 22}, {"end": 15, "start": 10, "text": None}], ["lovely", "truly"]),
        ('[{"start": 16, "end": 22, "label": "WHY", "token_start": 4, "token_end": 4}]', ["lovely"]),
        ([[16, 22], {"start": 10, "end": 15}], ["lovely", "truly"]),
    ],
)
def test_every_plain_form_gives_the_marked_words(cell: Any, words: list[str]) -> None:
    assert marked(cell) == words


@pytest.mark.parametrize("cell", [None, ""])
def test_an_empty_cell_is_not_annotated(cell: Any) -> None:
    assert read_spans(cell, "rationale", TEXT) is None


@pytest.mark.parametrize("gap", [1, 2, 7])
def test_places_are_the_characters_that_they_count(gap: int) -> None:
    places = [place for place in range(2, len(TEXT)) if place % gap or place < 8]
    spans = read_spans(places, "rationale", TEXT) or ()
    assert [place for start, end in spans for place in range(start, end)] == places
    assert all(after[0] > before[1] for before, after in pairwise(spans))


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ([0, 0, 0, 0, 1, 0, 0, 0], "a mark, 0 or 1, for each word"),
        ("[0, 1]", "a mark, 0 or 1, for each word"),
        ([1], "a mark, 0 or 1, for each word"),
        ([[0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0]], "a mark, 0 or 1, for each word"),
        ([16, 22], "neither a list of spans nor places"),
        ([22, 16, 17], "neither a list of spans nor places"),
        ([16, 16, 17], "neither a list of spans nor places"),
        ([38, 39, 40], "is not inside the text of 40"),
        (["lovely"], "is not a list of spans"),
        ([{"start": 16}], "is not a list of spans"),
        ([{"start": "16", "end": "22"}], "is not a list of spans"),
        ([{"begin": 16, "end": 22}], "is not a list of spans"),
        ([[16, 22, "WHY"]], "is not a list of spans"),
        ([16.0, 17.0, 18.0], "is not a list of spans"),
        ({"start": 16, "end": 22}, "is not a list of spans"),
        ([{"start": 17, "end": 23, "text": "lovely"}], "is 'ovely ', and its record says 'lovely'"),
        ("lovely", "is not JSON"),
    ],
)
def test_another_form_is_refused_in_a_line(cell: Any, problem: str) -> None:
    with pytest.raises(DataError, match=problem) as caught:
        read_spans(cell, "rationale", TEXT)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


# ---- other units

TEXTS = [
    "😀 this is a truly lovely film 👍 about choirs today",
    "the plot was a boring and dull mess today",
    "a warm and funny 😀 story of two sisters today",
    "such a stupid 🙄 waste of a good evening",
]
WORDS = [["lovely", "choirs"], ["boring"], ["funny", "sisters"], ["waste", "good"]]


def in_characters(text: str, word: str) -> list[int]:
    return [text.index(word), text.index(word) + len(word)]


def in_words(text: str, word: str) -> list[int]:
    return [text.split().index(word), text.split().index(word) + 1]


def in_utf16(text: str, word: str) -> list[int]:
    return [len(text[:edge].encode("utf-16-le")) // 2 for edge in in_characters(text, word)]


def in_utf8(text: str, word: str) -> list[int]:
    return [len(text[:edge].encode()) for edge in in_characters(text, word)]


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        (in_characters, ""),
        (in_words, r"Of 7 marked spans [4-7] begin or end within a word"),
        (in_utf16, r"Of 5 marked spans behind an emoji 5 begin or end within a word"),
        (in_utf8, r"Of 7 marked spans 4 begin or end within a word"),
    ],
)
def test_other_units_are_told(tmp_path: Path, unit: Any, told: str) -> None:
    rows = [(text, json.dumps([unit(text, word) for word in words])) for text, words in zip(TEXTS, WORDS, strict=True)]
    rows += [(TEXTS[1], "[[4, 8]]")] * (8 if unit is in_utf16 else 0)  # most spans are in texts without emoji
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "rationale"), *rows])
    notes = read_dataset(path, marks=["rationale"]).notes
    assert bool(notes) == bool(told)
    assert re.match(told, "".join(notes))
    assert read_dataset(path).notes == (), "no question needs them"


@pytest.mark.parametrize("words", [["lovely"], ["truly", "lovely"]])
@pytest.mark.parametrize(
    ("unit", "told"), [(in_characters, False), (in_words, True), (in_utf16, True), (in_utf8, True)]
)
def test_one_or_two_spans_of_other_units_are_told(tmp_path: Path, unit: Any, told: bool, words: list[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": TEXTS[0], "rationale": [unit(TEXTS[0], word) for word in words]}))
    notes = read_dataset(path, marks=["rationale"]).notes
    assert [note.split(" begin")[0] for note in notes] == [f"All marked spans ({len(words)})"] * told


@pytest.mark.parametrize("spans", [[[13, 16]], [[4, 8], [12, 16]], [[22, 26], [24, 28]], [[37, 40]]])
def test_one_or_two_spans_inside_words_are_no_doubt_where_no_other_unit_fits(
    tmp_path: Path, spans: list[list[int]]
) -> None:
    """People mark parts of words as well, and one span is no pattern."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": TEXTS[1], "rationale": spans}))
    assert read_dataset(path, marks=["rationale"]).notes == ()


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("不错的电影，值得看。", [[0, 2], [3, 5], [6, 8]]),  # words without blanks
        ("don't go, it's bad", [[0, 5], [10, 14], [15, 18]]),
        ("well-made film, 3.5 stars", [[5, 9], [16, 19], [20, 25]]),
        ("  two  blanks  ", [[2, 5], [0, 5], [5, 13]]),
        ("ภาพยนตร์ดีมาก", [[0, 8], [8, 10], [10, 13]]),
    ],
)
def test_spans_at_the_edges_of_words_are_no_doubt(tmp_path: Path, text: str, spans: list[list[int]]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"text": text, "rationale": spans}), encoding="utf-8")
    assert read_dataset(path, marks=["rationale"]).notes == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not here")
@pytest.mark.parametrize("name", ["esnli/dev", "movie_rationales/test"])
def test_real_rationales_are_no_doubt(name: str) -> None:
    assert read_dataset(SHARED / f"{name}.csv.gz", limit=300, marks=["rationale"]).notes == ()


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return explainlab.load_model("embedded:bert-mini-sst2", device="cpu")


def test_the_forms_have_one_value_and_other_units_are_told_with_it(
    classifier: Classifier, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["this is a truly lovely film", "the plot was boring and dull", "such a stupid waste"]
    words = [["lovely"], ["boring", "dull"], ["stupid"]]

    def write(name: str, cells: list[Any]) -> str:
        records = [
            {"text": text, "label": i == 0, "rationale": cell}
            for i, (text, cell) in enumerate(zip(texts, cells, strict=True))
        ]
        pd.DataFrame(records).astype({"label": int}).to_json(tmp_path / name, orient="records", lines=True)
        return str(tmp_path / name)

    spans = [[in_characters(text, word) for word in own] for text, own in zip(texts, words, strict=True)]
    forms = {
        "spans": spans,
        "places": [[place for start, end in own for place in range(start, end)] for own in spans],
        "records": [[{"start": start, "end": end} for start, end in own] for own in spans],
    }
    found = set()
    for name, cells in forms.items():
        result = explainlab.evaluate(
            classifier, write(f"{name}.jsonl", cells), ["occlusion"], ["token_f1"], unit="word"
        )
        assert result.warnings == ()
        found.add(next(row.mean for row in result.body.rows if row.method == "occlusion"))
    assert len(found) == 1
    assert found.pop() > 0.5
    path = write(
        "words.jsonl", [[in_words(text, word) for word in own] for text, own in zip(texts, words, strict=True)]
    )
    result = explainlab.evaluate(classifier, path, ["occlusion"], ["token_f1"], unit="word")
    assert result.warnings[0].startswith(
        "Of 4 marked spans 4 begin or end within a word, or mark a blank. They must count characters"
    )
    asked = f"--model {classifier.id} --methods occlusion --metrics token_f1 --unit word --device cpu --data"
    monkeypatch.setattr("sys.argv", ["explainlab", "evaluate", *asked.split(), path])
    with pytest.raises(SystemExit):
        cli.main()
    assert result.warnings[0] in capsys.readouterr().out
