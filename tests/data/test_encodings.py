"""Text files in other encodings than UTF-8 are read as Windows-1252, and damaged ones are refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explainlab.data import preview, read_dataset, survey
from explainlab.errors import DataError

LABELS = ("negative", "positive")
NOTE = "is not UTF-8 and was read as Windows-1252"
ROWS = [("fine", "1"), ("un café “très” bon… 5 €", "1"), ("naïf, déjà vu\x81", "0"), ("Spaß…", "0")]
Write = Callable[[list[dict[str, str]]], str]


def separated(by: str) -> Write:
    return lambda records: "".join(f"{by.join(cells)}\n" for cells in (["text", "label"], *map(dict.values, records)))


def lines(records: list[dict[str, str]]) -> str:
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in records)


def in_a_list(records: list[dict[str, str]]) -> str:
    return json.dumps(records, ensure_ascii=False)


FILES: dict[str, Write] = {
    "a.csv": separated(";"),
    "a.tsv": separated("\t"),
    "a.csv.gz": separated("|"),
    "a.jsonl": lines,
    "a.json": lines,
    "list.json": in_a_list,
}


def windows(text: str) -> bytes:
    """Encode ``text`` as Windows-1252, and what that does not define as Latin-1."""
    return b"".join(letter.encode("latin-1" if "\x80" <= letter < "\xa0" else "cp1252") for letter in text)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("before", [0, 100, 3_000])
def test_a_file_that_is_not_utf8_is_read_as_windows_1252(tmp_path: Path, name: str, before: int) -> None:
    rows = [("plain text", "1")] * before + ROWS
    content = FILES[name]([{"text": text, "label": label} for text, label in rows])
    path = written(tmp_path / name, windows(content))
    for _ in range(2):  # the dialect is remembered, the warning is not
        data = read_dataset(path)
        assert [(row.text, row.label) for row in data.rows] == rows
        assert data.notes == (f"{name} {NOTE}. Save it as UTF-8 if letters look wrong.",)
    assert survey(path, LABELS).rows == len(rows)
    is_near = before == 0 or (before == 100 and name == "list.json")  # a list is read in larger parts
    assert bool(preview(path).notes) == is_near


@pytest.mark.parametrize("name", FILES)
def test_a_file_in_utf8_has_no_such_warning(tmp_path: Path, name: str) -> None:
    content = FILES[name]([{"text": text, "label": label} for text, label in ROWS])
    for mark in ("", "\ufeff"):
        data = read_dataset(written(tmp_path / name, (mark + content).encode()))
        assert [row.text for row in data.rows] == [text for text, _ in ROWS]
        assert data.notes == ()


def test_rows_before_the_first_such_byte_have_no_warning(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", windows("text\tlabel\nfine\t1\ncafé\t0\n"))
    assert [read_dataset(path, limit=limit).notes != () for limit in (1, 2, 1)] == [False, True, False]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0, 3, 9])
def test_utf8_with_a_damaged_byte_is_refused(tmp_path: Path, name: str, place: int) -> None:
    texts = ["très bon"] * place + ["damaged \x00"] + ["très bon"] * (9 - place)
    content = FILES[name]([{"text": text, "label": "1"} for text in texts])
    raw = content.encode().replace(b"\\u0000", b"\xff").replace(b"\0", b"\xff")
    where = raw.index(b"\xff")
    with pytest.raises(DataError, match=f"{name} is not UTF-8: byte {where}[ .].*Save it as UTF-8"):
        read_dataset(written(tmp_path / name, raw))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_widths_are_refused(tmp_path: Path, name: str, encoding: str) -> None:
    content = FILES[name]([{"text": text, "label": label} for text, label in ROWS[1:3]])
    path = written(tmp_path / name, content.encode(encoding))
    with pytest.raises(DataError):
        read_dataset(path)
    if encoding == "utf-16":
        with pytest.raises(DataError, match="is not UTF-8: byte 0"):
            read_dataset(path)


def test_the_mark_of_utf8_is_believed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="byte 15 in line 2"):
        read_dataset(written(tmp_path / "a.csv", b"\xef\xbb\xbftext\nfine, a\xff\n"))
