"""A planted data set: its file, its draws, its counts, and its errors."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as thoroughness
from hypothesis import strategies as st

import explainlab
from explainlab.cli import main
from explainlab.data import Row, read_dataset
from explainlab.data.plant import WORD, best_accuracy, is_planted
from explainlab.errors import DataError, RequestError, ResourceError

TEXTS = ["a good film", "a Positive, warm one", "plain", "  wide  blanks ", "the <b>last</b> & 'best'"]


def write(path: Path, texts: list[str], **columns: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *columns])
        writer.writerows(zip(texts, *columns.values(), strict=True))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "rows.csv", TEXTS)


def planted(source: Path | str, out: Path, **parameters: Any) -> tuple[Row, ...]:
    explainlab.plant(source, out, **parameters)
    return read_dataset(out).rows


@pytest.mark.parametrize("position", ["end", "start", "random"])
def test_the_word_of_the_label_is_the_rationale_and_the_rest_is_the_text(
    source: Path, tmp_path: Path, position: str
) -> None:
    for number, (text, row) in enumerate(
        zip(TEXTS, planted(source, tmp_path / "out.csv", position=position), strict=True), start=1
    ):
        ((start, end),) = row.rationale or ()
        assert (row.number, row.text[start:end]) == (number, row.label)
        before, after = row.text[:start], row.text[end:]
        if position == "end" or (not any(character.isspace() for character in text) and position == "random"):
            assert (before, after) == (f"{text} ", "")
        elif position == "start":
            assert (before, after) == ("", f" {text}")
        else:
            assert before[-1].isspace()
            assert before + after.removeprefix(" ") == text


def test_labels_are_uniform_and_places_are_drawn_from_all_blanks(tmp_path: Path) -> None:
    source = write(tmp_path / "many.csv", ["one two three four"] * 3_000, label=["7"] * 3_000)
    rows = planted(source, tmp_path / "out.csv", words="x,y,z", position="random")
    labels = Counter(row.label for row in rows)
    assert set(labels) == {"x", "y", "z"}
    assert all(900 < count < 1100 for count in labels.values())
    starts = Counter(row.rationale[0][0] for row in rows if row.rationale)
    assert set(starts) == {4, 8, 14}
    assert all(900 < count < 1100 for count in starts.values())


def test_a_share_plants_in_so_many_rows_and_the_best_possible_is_reached_by_reading_the_word(tmp_path: Path) -> None:
    source = write(tmp_path / "many.csv", ["a text"] * 4_000)
    told = explainlab.plant(source, tmp_path / "out.csv", words=("a1", "b1", "c1", "d1"), share=0.6)
    rows = read_dataset(told.out).rows
    assert told.rows == 4_000
    assert told.planted == sum(bool(row.rationale) for row in rows) == pytest.approx(2_400, abs=120)
    assert told.best_accuracy == best_accuracy(0.6, 4) == pytest.approx(0.7)
    right = [row.text.split()[-1] == row.label if row.rationale else row.label == "a1" for row in rows]
    assert np.mean(right) == pytest.approx(told.best_accuracy, abs=0.03)
    assert all(row.rationale is not None for row in rows), "where nothing is planted nothing is marked"


def test_equal_arguments_give_equal_bytes_and_a_larger_share_plants_in_the_same_rows(tmp_path: Path) -> None:
    source = write(tmp_path / "many.csv", ["some text here"] * 300)
    files = [tmp_path / f"{i}.csv" for i in range(5)]
    explainlab.plant(source, files[0], share=0.3, seed=4)
    explainlab.plant(source, files[1], share=0.3, seed=4)
    assert files[0].read_bytes() == files[1].read_bytes()
    small, large = read_dataset(files[0]).rows, planted(source, files[2], share=0.8, seed=4, position="random")
    assert [row.label for row in small] == [row.label for row in large]
    assert {row.number for row in small if row.rationale} < {row.number for row in large if row.rationale}
    assert planted(source, files[3], share=0.3, seed=5) != small
    assert not any(row.rationale for row in planted(source, files[4], share=0))


def test_rows_in_which_a_word_stands_are_kept_and_counted(tmp_path: Path) -> None:
    texts = ["so POSITIVE!", "positively", "a negative and a positive", "nonnegative", "fine"]
    source = write(tmp_path / "rows.csv", texts, text_b=["x", "x", "x", "x", "how negative"])
    told = explainlab.plant(source, tmp_path / "out.csv")
    assert (told.rows, told.already) == (5, 3)
    assert [row.text_pair for row in read_dataset(told.out).rows] == ["x", "x", "x", "x", "how negative"]


def test_old_rationales_and_labels_are_gone(tmp_path: Path) -> None:
    old = {"label": ["3"], "rationale": ["[[0, 1]]"], "rationale_b": ["[[0, 1]]"], "text_b": ["second"]}
    (row,) = planted(write(tmp_path / "rows.csv", ["a film"], **old), tmp_path / "out.csv", share=0)
    assert (row.rationale, row.rationale_pair, row.label in ("negative", "positive")) == ((), None, True)


def test_any_source_is_read(tmp_path: Path) -> None:
    assert len(planted("embedded:news", tmp_path / "news.csv")) == len(read_dataset("embedded:news").rows)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"review": "a \\"quoted\\", odd\\r\\nfilm"}\n', encoding="utf-8")
    (row,) = planted(path, tmp_path / "out.csv", columns={"text": "review"}, words=["ja", "nein"])
    assert row.text == f'a "quoted", odd\r\nfilm {row.label}'


@thoroughness(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
def test_what_is_written_is_read_again(tmp_path: Path, text: str) -> None:
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.csv"
    source.write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
    out.unlink(missing_ok=True)
    (row,) = planted(source, out)
    assert row.text == f"{text} {row.label}"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"words": "good,Good"}, "A word is given twice"),
        ({"words": "good"}, "two words or more"),
        ({"words": ""}, "nothing but blanks"),
        ({"words": "good,  "}, "nothing but blanks"),
        ({"words": ["good", " \t"]}, "nothing but blanks"),
        ({"words": []}, "two words or more"),
        ({"share": 1.01}, "share = 1.01"),
        ({"share": -0.1}, "share = -0.1"),
        ({"share": "all"}, "share = 'all'"),
        ({"position": "middle"}, "position = 'middle'"),
        ({"places": 1}, "places"),
        ({"held_out": 1}, "held_out = 1"),
    ],
)
def test_parameters_that_are_not_accepted(source: Path, tmp_path: Path, parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        explainlab.plant(source, tmp_path / "out.csv", **parameters)
    assert not (tmp_path / "out.csv").exists()


def test_no_file_is_written_over_and_only_csv(source: Path, tmp_path: Path) -> None:
    before = source.read_bytes()
    with pytest.raises(DataError, match="exists already"):
        explainlab.plant(source, source)
    assert source.read_bytes() == before
    with pytest.raises(DataError, match="is not the name of a CSV file"):
        explainlab.plant(source, tmp_path / "out.parquet")
    with pytest.raises(ResourceError, match="cannot be written"):
        explainlab.plant(source, source / "out.csv")
    with pytest.raises(DataError, match="no data file"):
        explainlab.plant(tmp_path / "none.csv", tmp_path / "out.csv")


def test_rows_held_out_are_in_a_second_file_and_in_no_other(tmp_path: Path) -> None:
    source = write(tmp_path / "many.csv", [f"text {i}" for i in range(200)])
    whole = planted(source, tmp_path / "whole.csv", share=0.5)
    told = explainlab.plant(source, tmp_path / "part.csv", share=0.5, held_out=0.25)
    assert told.held_out == str(tmp_path / "part-held-out.csv")
    learn, held_out = (read_dataset(path).rows for path in (told.out, told.held_out))
    assert (told.rows, len(learn) + len(held_out)) == (200, 200)
    kinds = Counter((row.label, bool(row.rationale)) for row in held_out)
    for planted_too in (True, False):
        assert kinds["negative", planted_too] == kinds["positive", planted_too] == pytest.approx(12.5, abs=2)
    assert {(row.text, row.label) for row in [*learn, *held_out]} == {(row.text, row.label) for row in whole}
    (tmp_path / "part.csv").unlink()
    with pytest.raises(DataError, match="exists already"):
        explainlab.plant(source, tmp_path / "part.csv", held_out=0.25)
    with pytest.raises(DataError, match="single row"):
        explainlab.plant(write(tmp_path / "row.csv", ["a"]), tmp_path / "out.csv", held_out=0.5)
    few = explainlab.plant(write(tmp_path / "two.csv", ["a", "b"]), tmp_path / "few.csv", held_out=0.9)
    assert [len(read_dataset(path).rows) for path in (few.out, few.held_out or "")] == [1, 1]


def test_a_planted_file_says_so_and_which_word_is_where(source: Path, tmp_path: Path) -> None:
    explainlab.plant(source, tmp_path / "out.csv", share=0.5, words=["<b>,x", 'say "no"'])
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    for record, row in zip(records, read_dataset(tmp_path / "out.csv").rows, strict=True):
        assert record[WORD] == "".join(row.text[start:end] for start, end in row.rationale or ())
    assert is_planted(tmp_path / "out.csv", {"text": "text"})
    assert not is_planted(source, {})
    assert not is_planted("embedded:sentiment", {})


def test_words_that_stand_in_many_texts_are_told(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.csv", ["a positive film"] * 2 + ["a film"] * 18)
    told = explainlab.plant(source, tmp_path / "out.csv").lines()
    assert any("In 2 of 20 texts a word of the list stood before" in line for line in told)
    assert len(explainlab.plant(source, tmp_path / "rare.csv", words="x1,x2").lines()) == 1


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_line(source: Path, tmp_path: Path, monkeypatch, capsys, as_json: bool) -> None:
    out = tmp_path / "out.csv"
    arguments = ["plant", "--data", source, "--out", out, "--set", "words=a,b", "--set", "share=0.5", "--seed", "3"]
    monkeypatch.setattr(sys, "argv", ["explainlab", *map(str, arguments), *(["--json"] if as_json else [])])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    said = capsys.readouterr().out
    rows = read_dataset(out).rows
    count = sum(bool(row.rationale) for row in rows)
    if as_json:
        told = {"out": str(out), "rows": 5, "planted": count, "already": 3, "best_accuracy": 0.75}
        assert json.loads(said) == told, "'a' or 'b' is a word of three texts"
    else:
        assert "5 rows" in said
        assert "75.0%" in said
