"""Rows as files: a reader finds the written rows, part by part; no file is overwritten or half written."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from explainlab.errors import RequestError, ResourceError
from explainlab.figures.rows import write_rows

PARTS: list[list[dict[str, Any]]] = [
    [{"row": 1, "text": "=1+1", "pair": None, "value": 0.5, "values": {"a": [1, None]}}],
    [{"row": 2, "text": "é\n\u2028", "pair": "b", "value": 1, "values": {}}],
]
FLAT = [{**row, "values": json.dumps(row["values"])} for part in PARTS for row in part]


def test_parquet_is_what_was_given(tmp_path: Path) -> None:
    assert write_rows(lambda: PARTS, tmp_path / "new" / "a.parquet") == 2
    found = pd.read_parquet(tmp_path / "new" / "a.parquet").astype(object)
    assert found.where(found.notna(), None).to_dict("records") == FLAT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.parquet"]


def test_json_lines_are_what_was_given(tmp_path: Path) -> None:
    write_rows(lambda: PARTS, tmp_path / "a.jsonl")
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().split(b"\n")[:-1]] == [*chain(*PARTS)]


def test_no_text_of_a_table_is_a_formula(tmp_path: Path) -> None:
    write_rows(lambda: PARTS, tmp_path / "a.csv")
    found = pd.read_csv(tmp_path / "a.csv")
    assert found["text"].tolist() == ["'=1+1", "é\n\u2028"]
    assert found["values"].tolist() == [row["values"] for row in FLAT]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    for name, parts, words in (
        ("a.xlsx", PARTS, "no known ending"),
        ("there.csv", PARTS, "exists"),
        ("a.csv", [], "no rows"),
    ):
        with pytest.raises(RequestError, match=words):
            write_rows(lambda parts=parts: parts, tmp_path / name)
    with pytest.raises(ResourceError, match="cannot be written"):
        write_rows(lambda: PARTS, tmp_path / "there.csv" / "a.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    given = iter([PARTS, [*PARTS, [{"row": object()}]]])
    with pytest.raises(TypeError):
        write_rows(lambda: next(given), tmp_path / "a.jsonl")
    assert not [*tmp_path.iterdir()]
