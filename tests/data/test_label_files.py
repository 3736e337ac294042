"""Files of labelled texts from libraries and tools: they are read as written, or refused in one line.

Three ambiguous kinds of file are left out: a text between tabs with a tab and a line end, if all its lines have the
same number of tabs; marks that are characters if all of them enclose whole texts with a comma, as Excel does; and
doubled backslashes without a mark.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainlab.data import misfit, read_dataset, survey
from explainlab.errors import DataError
from tests.fuzz import bounded, inputs

FOLDER, NUMBERS = TemporaryDirectory(), count()
CLASSES = ("negative", "positive")
WORDS = (
    "a",
    "lovely",
    "film,",
    "dull",
    "mess;",
    "it's",
    '5"',
    '"No"',
    "é",
    "😀",
    "|",
    "#1",
    "[x]",
    "{y}",
    "\\",
    "NA",
    "0",
)
ODD = ('"', ",", ";", "\t", "\n", "\r\n", "\u2028", "\x85", "\ufeff", '""', "\\n", "'", " ")
SHAPES: dict[str, tuple[list[Any], dict[str, str]]] = {
    "index": ([0, 1], {}),
    "written index": (["0", "1"], {}),
    "float": ([0.0, 1.0], {}),
    "name": (["negative", "positive"], {}),
    "case": (["Negative", "POSITIVE"], {}),
    "other": (["bad, really", "good"], {"bad, really": "negative", "good": "positive"}),
    "stars": ([1, 5], {"1": "negative", "5": "positive"}),
    "truth": ([False, True], {"False": "negative", "True": "positive", "false": "negative", "true": "positive"}),
    "list": ([["negative"], ["positive"]], {}),
}
"""By name what a file writes for each class, and what the reader says that it means."""


ORIENTS = ("columns", "index", "split", "table", "records")
"""Forms in which pandas writes a table as JSON, with the names of its columns."""


class Content(NamedTuple):
    """The rows of a file: ``records`` with the columns in their order, and how a reader names them."""

    records: list[dict[str, Any]]
    columns: dict[str, str]
    meant: dict[str, str]
    expected: list[tuple[str, str]]


def content(rng: Random, shape: str, without: str = "", flat: bool = False) -> Content:
    """Draw rows whose texts are ``without`` these characters; ``flat`` cells are no lists."""
    values, meant = SHAPES[shape]
    if flat and shape == "list":
        values = [value[0] for value in values]
    text, label = rng.choice([("text", "label"), ("sentence", "gold"), ("Review Text", "Sentiment")])
    records, expected = [], []
    more = rng.sample(["id", "rationale", "text_b", "note", "Unnamed: 0"], rng.randint(0, 3))
    for number in range(rng.randint(2, 8)):
        place = rng.randrange(2)
        words = "fine enough" if number == 0 else drawn_text(rng, without)
        cells = {
            "id": number,
            "rationale": "it says so",
            "text_b": "",
            "note": drawn_text(rng, without),
            "Unnamed: 0": 7,
        }
        record = {text: words, label: values[place], **{name: cells[name] for name in more}}
        records.append(record)
        expected.append((words, CLASSES[place]))
    order = rng.sample([*records[0]], len(records[0]))
    columns = {role: name for role, name in (("text", text), ("label", label)) if role != name}
    return Content([{name: record[name] for name in order} for record in records], columns, meant, expected)


def drawn_text(rng: Random, without: str) -> str:
    words, odd = ([piece for piece in pieces if not set(piece) & set(without)] for pieces in (WORDS, ODD))
    while True:
        pieces = [rng.choice(words if rng.random() < 0.7 else odd) for _ in range(rng.randint(1, 7))]
        text = (" " if rng.random() < 0.8 else "").join([*pieces, "so"][:: rng.choice((1, -1))])
        if not ("\t" in text and ("\n" in text or "\r" in text)) and not (text[0] == text[-1] == '"' and "," in text):
            return text


def pandas_separated(rng: Random, found: Content) -> tuple[str, str]:
    """Pandas, as also the library datasets calls it (5.2.0: commas, without the index; and ``to_json`` in lines).

    It encloses no line feed where lines end otherwise, unless it encloses all texts.
    """
    name, separator = rng.choice([("csv", ","), ("csv", ";"), ("csv", "\t"), ("csv", "|"), ("tsv", "\t")])
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    end = rng.choice(["\n", "\r\n"] if quoting == csv.QUOTE_MINIMAL else ["\n", "\r\n", "\r"])
    frame = pd.DataFrame(found.records)
    return name, frame.to_csv(index=rng.random() < 0.2, sep=separator, quoting=quoting, lineterminator=end)


def as_they_are(rng: Random, found: Content) -> tuple[str, str]:
    """A script of a shared task: cells between tabs."""
    lines = [[*found.records[0]], *(map(str, record.values()) for record in found.records)]
    return rng.choice(["tsv", "csv"]), "".join("\t".join(line) + "\n" for line in lines)


def escaped(rng: Random, found: Content) -> tuple[str, str]:
    """The csv module with backslashes, as databases write."""
    stream = io.StringIO()
    name, separator = rng.choice([("csv", ","), ("tsv", "\t")])
    writer = csv.writer(stream, delimiter=separator, doublequote=False, escapechar="\\", quoting=csv.QUOTE_ALL)
    writer.writerows([[*found.records[0]], *(record.values() for record in found.records)])
    return name, stream.getvalue()


def polars_separated(rng: Random, found: Content) -> tuple[str, str]:
    """Polars' ``write_csv``, byte by byte as 2.1.0 writes it; it takes 181 MB, too much for these tests."""
    name, separator = rng.choice([("csv", ","), ("csv", ";"), ("tsv", "\t"), ("csv", "\t"), ("csv", "|")])
    style, end = rng.choice(["necessary", "always", "non_numeric"]), rng.choice(["\n", "\r\n"])
    lines = [[*found.records[0]], *(record.values() for record in found.records)]
    text = end.join(separator.join(polars_cell(cell, separator, style) for cell in line) for line in lines)
    return name, text + end


def polars_cell(cell: Any, separator: str, style: str) -> str:
    """Return a cell with marks around separators, marks, line ends and empty strings, or around more by the style."""
    written = str(cell).lower() if isinstance(cell, bool) else str(cell)
    needs = not written or bool({*written} & {separator, '"', "\r", "\n"})
    if style == "always" or needs or (style == "non_numeric" and (isinstance(cell, str | bool))):
        return '"' + written.replace('"', '""') + '"'
    return written


def polars_json(rng: Random, found: Content) -> tuple[str, str]:
    """Polars' ``write_json`` and ``write_ndjson``, byte by byte as 2.1.0 writes them."""
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in found.records]
    if rng.random() < 0.5:
        return rng.choice(["ndjson", "jsonl"]), "".join(f"{line}\n" for line in lines)
    return "json", f"[{','.join(lines)}]"


def json_lines(rng: Random, found: Content) -> tuple[str, str]:
    ascii_only = rng.random() < 0.5
    lines = [json.dumps(record, ensure_ascii=ascii_only) for record in found.records]
    return rng.choice(["jsonl", "ndjson", "json"]), rng.choice(["\n", "\r\n", "\n\n"]).join(lines)


def json_list(rng: Random, found: Content) -> tuple[str, str]:
    """Label Studio's JSON-MIN, and pandas."""
    indent = rng.choice([None, 1, "\t"])
    return rng.choice(["json", "jsonl"]), json.dumps(found.records, ensure_ascii=rng.random() < 0.5, indent=indent)


def pandas_json(rng: Random, found: Content) -> tuple[str, str]:
    """Pandas' ``to_json`` in every form that names its columns, and its dictionary of columns."""
    frame, indent = pd.DataFrame(found.records), rng.choice([None, 0, 2])
    if rng.random() < 0.2:
        return "json", json.dumps(frame.to_dict("list"), indent=indent)
    orient: Any = rng.choice(ORIENTS)
    if orient != "index" and rng.random() < 0.3:  # an object by row with names for rows could be one by column
        frame.index = pd.Index([f"r{number}" for number in frame.index])
    return rng.choice(["json", "jsonl"]), frame.to_json(orient=orient, indent=indent, force_ascii=rng.random() < 0.5)


def doccano(rng: Random, found: Content) -> tuple[str, str]:
    names = {role: found.columns.get(role, role) for role in ("text", "label")}
    lines = []
    for number, record in enumerate(found.records):
        label = record[names["label"]]
        own = {
            "id": number,
            names["text"]: record[names["text"]],
            "Comments": [],
            names["label"]: label if isinstance(label, list) else [label],
        }
        lines.append(json.dumps(own, ensure_ascii=False))
    return "jsonl", "\n".join(lines) + "\n"


def label_studio(rng: Random, found: Content) -> tuple[str, str]:
    """The whole export, whose texts are deep inside."""
    tasks = [{"id": i, "data": record, "annotations": [{"result": []}]} for i, record in enumerate(found.records)]
    return "json", json.dumps(tasks)


def without_names(rng: Random, found: Content) -> tuple[str, str]:
    separator, name = rng.choice([(",", "csv"), (";", "csv"), ("|", "csv"), ("\t", "tsv"), ("\t", "csv")])
    return name, pd.DataFrame(found.records).to_csv(index=False, header=False, sep=separator)


def excel(rng: Random, found: Content) -> tuple[str, str]:
    """Tools that write for Excel, with a first line that names the separator."""
    separator = rng.choice([",", ";", "\t", "|", "^"])
    text = pd.DataFrame(found.records).to_csv(index=False, sep=separator, lineterminator="\r\n")
    return rng.choice(["csv", "tsv"]), f"sep={separator}\r\n{text}"


def bare_names(rng: Random, found: Content) -> tuple[str, str]:
    """A database that encloses all cells, below names that it does not."""
    separator, name = rng.choice([(",", "csv"), (";", "csv"), ("\t", "tsv"), ("\t", "csv")])
    frame = pd.DataFrame(found.records)
    body = frame.to_csv(index=False, header=False, sep=separator, quoting=csv.QUOTE_ALL)
    return name, f"{separator.join(frame.columns)}\n{body}"


Writer = Callable[[Random, Content], tuple[str, str]]
WRITERS: Sequence[Writer] = (
    pandas_separated,
    as_they_are,
    escaped,
    polars_separated,
    polars_json,
    json_lines,
    json_list,
    pandas_json,
    doccano,
    label_studio,
    without_names,
    excel,
    bare_names,
)
MAY_REFUSE = {escaped, label_studio}
FLAT = {pandas_separated, as_they_are, escaped, polars_separated, without_names, excel, bare_names}
WITHOUT = {as_they_are: "\t\r\n", escaped: "\\"}


@given(
    st.sampled_from(WRITERS),
    st.sampled_from(sorted(SHAPES)),
    st.integers(0, 2**63),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]),
)
@inputs(60)
def test_a_file_is_read_as_it_was_written_or_refused(
    writer: Writer, shape: str, seed: int, packed: bool, encoding: str
) -> None:
    rng = Random(seed)
    beyond = "😀\u2028\x85\ufeff" if encoding == "cp1252" else ""
    found = content(rng, shape, WITHOUT.get(writer, "") + beyond, writer in FLAT)
    ending, text = writer(rng, found)
    raw = text.encode(encoding)
    columns = found.columns
    if writer is without_names:
        places = [*found.records[0]]
        columns = {role: str(places.index(columns.get(role, role)) + 1) for role in ("text", "label")}
    path = Path(FOLDER.name) / f"{next(NUMBERS)}.{ending}{'.gz' * packed}"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    data, refused = None, ""
    try:
        with bounded():
            data = read_dataset(path, CLASSES, columns=columns, classes=found.meant)
    except DataError as error:
        refused = str(error)
    if data is None:
        cut = writer is without_names and text.count("\n") > len(found.records)  # its first line may be half a row
        unsure = writer in FLAT and ("\r" in text or '\\"' in text)
        assert writer in MAY_REFUSE or cut or unsure, f"{refused}\n{text!r}"
        assert len(refused.splitlines()) == 1
    else:
        assert [(row.text, row.label) for row in data.rows] == found.expected, repr(text)
        assert len(data.notes) == (encoding == "cp1252" and not text.isascii())
        assert survey(path, CLASSES, columns, found.meant).rows == len(found.expected)
        assert misfit(path, CLASSES, columns, found.meant) is None
    path.unlink()


@pytest.mark.parametrize("kind", ["parquet", "lines", *ORIENTS, "list"])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_typed_files_keep_the_labels_of_every_shape(tmp_path: Path, shape: str, kind: str) -> None:
    found = content(Random(shape), shape)
    path, frame = tmp_path / f"rows.{kind if kind == 'parquet' else 'json'}", pd.DataFrame(found.records)
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "list":
        path.write_text(json.dumps(frame.to_dict("list")))
    else:
        frame.to_json(path, orient="records" if kind == "lines" else kind, lines=kind == "lines")
    data = read_dataset(path, CLASSES, columns=found.columns, classes=found.meant)
    assert [(row.text, row.label) for row in data.rows] == found.expected
