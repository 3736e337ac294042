"""Reading data files: every format, every role, and every way a file can be bad."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import tempfile
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from explainlab.data import EXAMPLES, Row, preview, read_dataset, rows_digest, source_digest, sources, survey
from explainlab.data.files import OPTIONAL_COLUMNS
from explainlab.errors import DataError
from explainlab.guard import Reading, Tell, guarded
from explainlab.limits import MAX_RECORD_BYTES, Limits
from explainlab.reader import Reader
from tests import guarded as readings

LABELS = ("negative", "positive")
FORMATS = ("csv", "tsv", "jsonl", "parquet")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

RECORDS = [
    {"text": 'He said "no", twice', "label": "1", "text_b": "café 😀", "rationale": "[[3, 7]]", "rationale_b": "[]"},
    {"text": "NA", "label": "negative", "text_b": "null", "rationale": "", "rationale_b": "[[0, 1], [1, 4]]"},
    {"text": "two\nlines,\tone tab", "label": "POSITIVE", "text_b": "<b>&amp;</b>", "rationale": "", "rationale_b": ""},
]
ROWS = (
    Row(1, 'He said "no", twice', "café 😀", "positive", ((3, 7),), ()),
    Row(2, "NA", "null", "negative", None, ((0, 1), (1, 4))),
    Row(3, "two\nlines,\tone tab", "<b>&amp;</b>", "positive", None, None),
)


def write(path: Path, records: list[dict]) -> Path:
    """Write records in the format that the path's ending names, gzipped if it ends in .gz."""
    frame, ending = pd.DataFrame(records), path.name.removesuffix(".gz").rpartition(".")[2]
    plain = path.with_name(f"plain.{ending}")
    if ending == "parquet":
        frame.to_parquet(plain)
    elif ending == "jsonl":
        plain.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    else:
        frame.to_csv(plain, sep="," if ending == "csv" else "\t", index=False)
    path.write_bytes(gzip.compress(plain.read_bytes()) if path.suffix == ".gz" else plain.read_bytes())
    return path


@pytest.fixture
def file(tmp_path):
    """A function that writes bytes or text to a file of the given name."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def problem(path, *args, **options) -> str:
    """The message of the DataError that reading raises; it has a remedy and fits on one line."""
    with pytest.raises(DataError) as caught:
        read_dataset(path, *args, **options)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- good files


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_rows(tmp_path, ending, packed):
    dataset = read_dataset(write(tmp_path / f"data.{ending}{packed}", RECORDS), LABELS)
    assert dataset.name == f"data.{ending}{packed}"
    assert dataset.rows == ROWS
    assert dataset.skipped == ()


def test_digest_follows_the_rows_not_the_format(tmp_path):
    digests = {read_dataset(write(tmp_path / f"data.{ending}", RECORDS), LABELS).digest for ending in FORMATS}
    assert len(digests) == 1
    assert read_dataset(write(tmp_path / "fewer.csv", RECORDS[:2]), LABELS).digest not in digests


def test_upper_case_ending_and_string_path(tmp_path):
    path = write(tmp_path / "data.csv", RECORDS)
    assert read_dataset(str(path.rename(tmp_path / "DATA.CSV")), LABELS).rows == ROWS


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_typed_cells(tmp_path, ending):
    records = [{"text": "a film", "label": 1, "rationale": [[0, 1], [2, 6]]}, {"text": "b", "label": 0}]
    first, second = read_dataset(write(tmp_path / f"data.{ending}", records), LABELS).rows
    assert first == Row(1, "a film", None, "positive", ((0, 1), (2, 6)))
    assert second == Row(2, "b", None, "negative")


@pytest.mark.parametrize(
    ("written", "label"),
    [("0", "zero"), ("01", "one"), ("1.0", "one"), (" One ", "one"), ("ZERO", "zero")],
)
def test_label_is_a_name_or_else_an_index(file, written, label):
    path = file("data.csv", f'text,label\nfine,"{written}"\n')
    assert read_dataset(path, ("zero", "one")).rows[0].label == label


def test_exact_name_wins_over_case_and_name_over_index(file):
    path = file("data.csv", "text,label\na,X\nb,x\nc,1\n")
    assert [row.label for row in read_dataset(path, ("x", "X", "1")).rows] == ["X", "x", "1"]


def test_without_class_names_labels_stay_as_written_or_none(file):
    path = file("data.csv", "text,label\na,whatever\nb,\n")
    assert [row.label for row in read_dataset(path).rows] == ["whatever", None]
    assert read_dataset(file("texts.csv", "text\nonly text\n")).rows == (Row(1, "only text"),)


def test_columns_maps_roles(file):
    path = file("data.csv", "premise,hypothesis,gold,text\na cat,an animal,0,other\n")
    columns = {"text": "premise", "text_b": "hypothesis", "label": "gold"}
    assert read_dataset(path, LABELS, columns=columns).rows == (Row(1, "a cat", "an animal", "negative"),)


def test_byte_order_mark_windows_line_ends_and_blank_lines(file):
    path = file("data.csv", b"\xef\xbb\xbftext,label\r\n\r\nfine,1\r\n\r\nbad,0\r\n")
    assert [(row.number, row.text) for row in read_dataset(path, LABELS).rows] == [(1, "fine"), (2, "bad")]
    path = file("data.jsonl", b'\xef\xbb\xbf{"text": "fine"}\r\n\r\n{"text": "bad"}\r\n')
    assert [row.text for row in read_dataset(path).rows] == ["fine", "bad"]


def test_limit_ends_the_reading(file):
    path = file("data.jsonl", '{"text": "a"}\n{"text": "b"}\nnot read\n')
    assert [row.text for row in read_dataset(path, limit=2).rows] == ["a", "b"]
    assert "Line 3" in problem(path, limit=3)


def test_embedded_id_is_a_path():
    dataset = read_dataset("embedded:sentiment", LABELS, limit=4)
    assert dataset.name == "embedded:sentiment"
    assert len(dataset.rows) == 4


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=5))
@hypothesis_settings(max_examples=60)
def test_any_text_survives_csv_and_jsonl(texts):
    texts = [text for text in texts if text.strip()] or ["x"]
    with tempfile.TemporaryDirectory() as folder:
        comma, lines = Path(folder) / "data.csv", Path(folder) / "data.jsonl"
        with comma.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["text"], *([text] for text in texts)])
        lines.write_text("\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts), encoding="utf-8")
        for path in (comma, lines):
            assert [row.text for row in read_dataset(path).rows] == texts


@given(st.binary(max_size=200), st.sampled_from([f"x.{e}{z}" for e in FORMATS for z in ("", ".gz")]))
@hypothesis_settings(max_examples=80)
def test_any_bytes_are_read_or_refused(content, name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with suppress(DataError):
            assert read_dataset(path).rows


# ---- bad files


def test_missing_file_names_the_nearest(file):
    path = file("reviews.csv", "text\nfine\n")
    assert "Did you mean reviews.csv?" in problem(path.with_name("review.csv"))
    assert "Check the path" in problem(path.with_name("zzz.csv"))
    assert "no data file" in problem(path.parent / "nowhere" / "reviews.csv")
    assert "no data file" in problem("a whole review instead of a path " * 200)


def test_folder_is_no_file(tmp_path):
    assert "is a folder" in problem(tmp_path)


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.gz", "data.txt.gz", "csv"])
def test_unknown_format_lists_the_known(file, name):
    assert ".csv, .tsv, .jsonl, .ndjson, .json, .parquet" in problem(file(name, "text\nfine\n"))


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.jsonl"])
@pytest.mark.parametrize("content", ["", "\n\n", "text\n"])
def test_empty_file(file, name, content):
    if name == "data.jsonl":
        content = content.replace("text", "")
    assert "no data rows" in problem(file(name, content))


def test_empty_parquet(tmp_path):
    pd.DataFrame({"text": pd.Series([], dtype=str)}).to_parquet(tmp_path / "data.parquet")
    assert "no data rows" in problem(tmp_path / "data.parquet")
    (tmp_path / "empty.parquet").write_bytes(b"")
    assert "not a readable Parquet" in problem(tmp_path / "empty.parquet")


def test_missing_columns_name_what_was_found(file):
    message = problem(file("data.csv", "sentence,gold\nfine,1\n"))
    assert "no column 'text'; the columns found are 'sentence', 'gold'" in message
    assert "no column 'label'" in problem(file("data.csv", "text\nfine\n"), LABELS)
    assert "no column 'premise'" in problem(file("data.csv", "text\nfine\n"), columns={"text": "premise"})
    assert "no column 'rationale'" in problem(file("data.csv", "text\nx\n"), columns={"rationale": "rationale"})
    assert "found are none" in problem(file("data.jsonl", "{}\n"))


def test_unknown_role(file):
    assert "no column role 'title'" in problem(file("data.csv", "text\nfine\n"), columns={"title": "text"})


def test_repeated_column(file):
    assert "two columns 'text'" in problem(file("data.csv", "text,label,text\na,1,b\n"))


@pytest.mark.parametrize("line", ["one,0,extra", "only one"])
def test_wrong_number_of_fields_names_the_line(file, line):
    assert "Line 4" in problem(file("data.csv", f'text,label\n"two\nlines",1\n{line}\n'))


@pytest.mark.parametrize("line", ['"never closed,1', '"closed" too early,1'])
def test_malformed_quotes_name_the_line(file, line):
    message = problem(file("data.csv", f"text,label\nfine,1\n{line}\n"))
    assert "Line 3" in message
    assert "malformed" in message


@pytest.mark.parametrize("line", ["{", '{"text": "a"} {}', "[1]", "7", "[" * 200_000, "9" * 5_000])
def test_malformed_json_names_the_line(file, line):
    assert "Line 2" in problem(file("data.jsonl", f'{{"text": "fine"}}\n{line}\n'))


LISTS = [
    ('[{"text": "a"}, {"text": "b"}]', ["a", "b"]),
    (' \n[\n {"text": "a"}\n,{"text": "b"}\n]\n\n', ["a", "b"]),
    ('\ufeff[{"text": "a"},{"text": "[b, {c}]"}]', ["a", "[b, {c}]"]),
    ('[{"text": "a\u2028b", "n": [{"m": [1]}]}]', ["a\u2028b"]),
    (
        json.dumps([{"text": f"{i} {'long ' * 30_000}".strip()} for i in range(9)]),
        [f"{i} {'long ' * 30_000}".strip() for i in range(9)],
    ),
    (json.dumps([{"text": f"é{i}"} for i in range(30_000)], ensure_ascii=False), [f"é{i}" for i in range(30_000)]),
]


@pytest.mark.parametrize(("content", "texts"), LISTS, ids=range(len(LISTS)))
@pytest.mark.parametrize("name", ["data.json", "data.jsonl", "data.json.gz"])
def test_a_list_of_objects_is_read_as_lines_are(file, name, content, texts):
    reader = Reader(limits=Limits(max_characters=200_000))
    content = gzip.compress(content.encode()) if name.endswith(".gz") else content
    assert [row.text for row in read_dataset(file(name, content), reader=reader).rows] == texts


@pytest.mark.parametrize(
    "content",
    [
        '[{"text": "a"}',
        '[{"text": "a"},]',
        '[{"text": "a"} {"text": "b"}]',
        '[{"text": "a"}[{"text": "b"}]',
        '[,{"text": "a"}]',
        '[{"text": "a"}]]',
        '[{"text": "a"}[]',
        '[{"text": "a"}] x',
        '[[{"text": "a"}]]',
        '[{"text": "a"}, 7]',
        '["text"]',
        "[1",
        "[" * 200_000,
        '[{"text": "a", "n": ' + "[" * 200_000,
    ],
)
def test_a_list_that_is_none_is_refused(file, content):
    assert "Record 1 of" in problem(file("a.json", content)) or "Record 2 of" in problem(file("a.json", content))


@pytest.mark.parametrize(
    "content",
    [
        '{"text": {"0": "a", "1": "b"}, "label": {"0": 1, "1": 0}}',
        '\ufeff {\n"label": {"7": 1, "3": 0},\n"text": {"7": "a", "3": "b"}}\n\n',
        '{"0": {"text": "a", "label": 1}, "1": {"text": "b", "label": 0}}',
        '{"columns": ["text", "label"], "index": [0, 1], "data": [["a", 1], ["b", 0]]}',
        '{"schema": {"fields": []}, "data": [{"index": 0, "text": "a", "label": 1}, {"text": "b", "label": 0}]}',
        '{"text": ["a", "b"], "label": [1, 0]}',
        '{"meta": {"by": "me"}, "text": "a", "label": 1}\n{"text": "b", "label": 0}',
        '{"label": [1], "text": "a"}\n{"text": "b", "label": 0}',
    ],
)
@pytest.mark.parametrize("name", ["data.json", "data.jsonl.gz"])
def test_one_object_with_all_rows_is_read_as_pandas_writes_it(file, name, content):
    raw = content.encode()
    dataset = read_dataset(file(name, gzip.compress(raw) if name.endswith("gz") else raw), LABELS)
    assert [(row.text, row.label) for row in dataset.rows] == [("a", "positive"), ("b", "negative")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"text": {"0": "a", "1": "b"}, "label": {"0": 1}}', "not a string but dict"),
        ('{"text": ["a", "b"], "label": [1]}', "not a string but list"),
        ('{"columns": ["text", "text"], "index": [0], "data": [["a", "b"]]}', "has no column 'text'"),
        ('{"columns": ["text"], "index": [0], "data": [["a", 1]]}', "has no column 'text'"),
        ('{"schema": {}, "data": [3]}', "Row 1 of data.json is not a JSON object"),
        ('{"text": {"0": "a"', "Line 1 of data.json is not JSON"),
        ('{"text": {"0": "a"}} {"text": "b"}', "Line 1 of data.json is not JSON"),
        ('{"text": {"0": ' + "[" * 100_000, "Line 1 of data.json is not JSON"),
        ('{"text": {"0": "' + "a" * 2**20 + '"}}', "a cell of over 1,000,000 characters"),
        ('{"text": {"0": ' + '"a",' * 5_000_000, 'to_json(path, orient="records", lines=True)'),
    ],
    ids=lambda value: value[:24],
)
def test_one_object_that_holds_no_rows_is_refused(file, content, told):
    assert told in problem(file("data.json", content))


def test_a_list_without_objects_has_no_rows_and_other_bytes_are_told(file):
    for content in ("[]", " [ \n] "):
        assert "no data rows" in problem(file("data.json", content))
    long = json.dumps([{"text": "fine " * 20_000}]).encode()
    damaged = long[:9] + "é".encode() + long[9:-9] + b"\xff" + long[-9:]
    assert f"not UTF-8: byte {len(long) - 7}" in problem(file("data.json", damaged))
    assert "byte 4 in line 1" in problem(file("data.csv", b"\xef\xbb\xbft\xff\n"))


@pytest.mark.parametrize("ending", FORMATS)
def test_damaged_gzip(tmp_path, ending):
    whole = write(tmp_path / f"data.{ending}.gz", RECORDS * 200).read_bytes()
    flipped = whole[:20] + bytes(255 - byte for byte in whole[20:60]) + whole[60:]
    for content in (b"plain text", whole[:-30], flipped):
        (tmp_path / f"bad.{ending}.gz").write_bytes(content)
        assert "not a whole gzip" in problem(tmp_path / f"bad.{ending}.gz")


def test_endless_line_is_refused(file):
    content = gzip.compress(b"text\n" + b"a" * (MAX_RECORD_BYTES + 1))
    assert "Line 2" in problem(file("data.csv.gz", content))


# ---- bad rows

BAD_ROWS = [
    ('{"text": "", "label": 1}', "text is empty"),
    ('{"text": " \\n", "label": 1}', "text is empty"),
    ('{"text": null, "label": 1}', "text is empty"),
    ('{"label": 1}', "text is empty"),
    ('{"text": 7, "label": 1}', "not a string but int"),
    ('{"text": "half \\ud83d", "label": 1}', "surrogate"),
    ('{"text": "a", "label": 1, "text_b": 7}', "text_b is not a string but int"),
    ('{"text": "123456789012", "label": 1}', "12 characters; the limit is 11"),
    ('{"text": "a", "label": 1, "text_b": "123456789012"}', "12 characters; the limit is 11"),
    ('{"text": "a", "label": "neutral"}', "'neutral' is not a class"),
    ('{"text": "a", "label": ""}', "label is missing"),
    ('{"text": "a", "label": []}', "label is missing"),
    ('{"text": "a", "label": [" "]}', "label is missing"),
    ('{"text": "a", "label": [0, 1]}', "label has 2 labels"),
    ('{"text": "a", "label": ["positive", "positive"]}', "label has 2 labels"),
    ('{"text": "a", "label": [["positive"]]}', "is not a class"),
    ('{"text": "a", "label": true}', "by --label True=positive"),
    ('{"text": "a", "label": "FALSE"}', "by --label FALSE=negative"),
    ('{"text": "a"}', "label is missing"),
    ('{"text": "a", "label": 1, "rationale": "[[0, 1"}', "rationale is not JSON"),
    ('{"text": "a", "label": 1, "rationale": "nice"}', "rationale is not JSON"),
    ('{"text": "a", "label": 1, "rationale": {"a": 1}}', "not a list of spans"),
    ('{"text": "a", "label": 1, "rationale": "[0, 1]"}', "mark, 0 or 1, for each word"),
    ('{"text": "a", "label": 1, "rationale": [[0, 1, 2]]}', "not a list of spans"),
    ('{"text": "a", "label": 1, "rationale": [[0.0, 1.0]]}', "not a list of spans"),
    ('{"text": "a", "label": 1, "rationale": [[false, true]]}', "not a list of spans"),
    ('{"text": "a", "label": 1, "rationale": [[0, 2]]}', r"[0, 2) is not inside the text of 1 "),
    ('{"text": "a", "label": 1, "rationale": [[-1, 1]]}', "is not inside"),
    ('{"text": "a", "label": 1, "rationale": [[1, 1]]}', "is not inside"),
    ('{"text": "a", "label": 1, "text_b": "b", "rationale_b": [[0, 5]]}', "rationale_b span [0, 5)"),
    ('{"text": "abc", "label": 1, "rationale_b": [[0, 1]]}', "rationale_b span [0, 1)"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_ROWS)
def test_bad_row_is_named_or_skipped_with_its_reason(file, line, reason):
    reader = Reader(limits=Limits(max_characters=11))
    path = file("data.jsonl", f'{{"text": "fine", "label": 1}}\n{line}\n{{"text": "also", "label": 0}}\n')
    message = problem(path, LABELS, reader=reader, marks=OPTIONAL_COLUMNS)
    assert message.startswith("Row 2 of data.jsonl: ")
    assert reason in message
    dataset = read_dataset(path, LABELS, skip_bad=True, reader=reader, marks=OPTIONAL_COLUMNS)
    assert [row.number for row in dataset.rows] == [1, 3]
    assert [number for number, _ in dataset.skipped] == [2]
    assert dataset.skipped[0][1] in message


@pytest.mark.parametrize("cell", ["the word fine is praise", "[[0", [0, 0, 1], [[0, 99]], {"a": 1}, 7, "[7, 3]"])
def test_a_rationale_that_no_question_needs_never_matters(file, cell):
    path = file("data.jsonl", json.dumps({"text": "fine", "label": 1, "rationale": cell, "rationale_b": cell}))
    assert read_dataset(path, LABELS).rows == (Row(1, "fine", None, "positive"),)
    assert "Row 1 of data.jsonl: The rationale" in problem(path, LABELS, marks=OPTIONAL_COLUMNS)


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.jsonl", "data.parquet"])
@pytest.mark.parametrize("empty", ["", " ", None])
def test_an_empty_second_text_is_none(tmp_path, name, empty):
    records = [{"text": "fine", "label": "1", "text_b": empty}, {"text": "bad", "label": "0", "text_b": "so bad"}]
    rows = read_dataset(write(tmp_path / name, records), LABELS).rows
    assert [row.text_pair for row in rows] == [None, "so bad"]


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", ["data.jsonl", "data.ndjson", "data.json"])
def test_a_record_without_a_label_is_one_bad_row_wherever_it_is(file, name, place):
    records = [{"text": f"text {i}", "label": i % 2} for i in range(3)]
    del records[place]["label"]
    text = json.dumps(records) if name == "data.json" else "\n".join(map(json.dumps, records))
    dataset = read_dataset(file(name, text), LABELS, skip_bad=True)
    assert [row.number for row in dataset.rows] == [i + 1 for i in range(3) if i != place]
    assert dataset.skipped == ((place + 1, "The label is missing."),)


def test_a_column_that_no_record_has_is_told_with_all_that_some_have(file):
    path = file("data.jsonl", '{"text": "a"}\n{"text": "b", "gold": 1}\n')
    assert "no column 'label'; the columns found are 'text', 'gold'" in problem(path, LABELS)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("truths", [(0, 1), (0.0, 1.0), (False, True), ("false", "TRUE"), ("", "1")])
def test_a_label_may_have_a_column_for_each_class(tmp_path, ending, truths):
    no, yes = truths
    records = [
        {"text": "a", "negative": yes, "positive": no},
        {"text": "b", "negative": no, "positive": yes},
        {"text": "c", "negative": no, "positive": no},
        {"text": "d", "negative": yes, "positive": yes},
    ]
    path, columns = write(tmp_path / f"data.{ending}", records), {"label": "negative|positive"}
    data = read_dataset(path, LABELS, skip_bad=True, columns=columns)
    assert [(row.text, row.label) for row in data.rows] == [("a", "negative"), ("b", "positive")]
    assert data.skipped == ((3, "The label is missing."), (4, "The negative|positive has 2 labels."))
    found = survey(path, LABELS, columns)
    assert (found.rows, found.bad, len(found.labels)) == (2, 2, 4)
    meant = {"positive": "negative", "negative": "positive"}
    other = read_dataset(path, LABELS, skip_bad=True, columns=columns, classes=meant)
    assert [row.label for row in other.rows] == ["positive", "negative"]


def test_columns_of_classes_that_are_no_truths_or_not_there(file):
    path = file("data.csv", "text,no,yes,no|yes\na,0.3,0.7,yes\n")
    assert "no column 'no|maybe'" in problem(path, columns={"label": "no|maybe"})
    assert read_dataset(path, columns={"label": "no|yes"}).rows[0].label == "yes", "a column of this very name"
    path = file("data.csv", "text,no,yes\na,0.3,0.7\nb,2,0\n")
    assert "has 2 labels" in problem(path, columns={"label": "no|yes"})
    assert read_dataset(path, columns={"label": "no|yes"}, skip_bad=True).rows[0].label == "no=2"


ANSWERS = [("accept", True), ("reject", False), ("ignore", False), (None, True), (["reject"], True)]


def test_rows_whose_label_no_annotator_accepts_are_left_out(file):
    records = [{"text": f"a {i}", "label": "positive", "answer": answer} for i, (answer, _) in enumerate(ANSWERS)]
    dataset = read_dataset(file("data.jsonl", "\n".join(map(json.dumps, records))), LABELS)
    assert [row.number for row in dataset.rows] == [i for i, (_, kept) in enumerate(ANSWERS, 1) if kept]
    assert dataset.skipped == (
        (2, "Its answer is reject: the annotator did not accept its label."),
        (3, "Its answer is ignore: the annotator did not accept its label."),
    )


@pytest.mark.parametrize("other", ["42", "Reject", "yes", True, "a reply of many words. " * 20])
@pytest.mark.parametrize("place", [0, 1_500])
def test_answers_of_another_kind_leave_nothing_out(file, other, place):
    answers = ["accept", "reject", "ignore"] * 600
    answers[place] = other
    records = [{"text": f"a {i}", "label": "positive", "answer": answer} for i, answer in enumerate(answers)]
    path = file("data.jsonl", "\n".join(map(json.dumps, records)))
    for limit in (None, 5):
        dataset = read_dataset(path, LABELS, limit=limit)
        assert (len(dataset.rows), dataset.skipped) == (limit or len(records), ())


def test_an_answer_may_be_the_label_itself(file):
    path = file("data.csv", "text,answer\na,reject\nb,accept\n")
    assert [row.label for row in read_dataset(path, columns={"label": "answer"}).rows] == ["reject", "accept"]
    nothing = file("none.csv", "text,label,answer\na,1,reject\n")
    assert "No row of none.csv can be used; row 1: Its answer is reject" in problem(nothing, LABELS)


def test_unknown_label_lists_the_classes(file):
    message = problem(file("data.csv", "text,label\na,good\n"), LABELS)
    assert "negative or positive, or an index from 0 to 1" in message


def test_messages_quote_long_cells_briefly(file):
    assert len(problem(file("data.csv", f"text,label\na,{'very ' * 500}good\n"), LABELS)) < 250
    assert len(problem(file("text.csv", f"{'no header ' * 500}\nfine\n"))) < 250


def test_limit_counts_good_rows(file):
    path = file("data.csv", "text,label\na,1\nb,?\nc,0\nd,?\n")
    dataset = read_dataset(path, LABELS, limit=2, skip_bad=True)
    assert [row.number for row in dataset.rows] == [1, 3]
    assert [number for number, _ in dataset.skipped] == [2]


def test_only_bad_rows(file):
    message = problem(file("data.csv", "text,label\na,?\nb,?\n"), LABELS, skip_bad=True)
    assert "row 1: The label '?' is not a class" in message


def test_too_many_rows(file):
    reader = Reader(limits=Limits(max_rows=2))
    path = file("data.csv", "text\na\nb\nc\n")
    assert "more than 2 rows" in problem(path, reader=reader)
    assert len(read_dataset(path, limit=2, reader=reader).rows) == 2


@pytest.mark.parametrize("limit", [0, -1])
def test_limit_below_one(file, limit):
    assert "leaves no data" in problem(file("data.csv", "text\na\n"), limit=limit)


# ---- digests of files


def test_a_source_is_known_by_its_content(file, monkeypatch):
    path = file("data.csv", "text\na\n")
    first = source_digest(path)
    assert first == hashlib.sha256(b"text\na\n").hexdigest() == source_digest(file("copy.tsv", "text\na\n"))
    monkeypatch.chdir(path.parent)
    assert source_digest("data.csv") == first
    file("data.csv", "text\nchanged\n")
    assert source_digest(path) == source_digest("data.csv") != first
    sets = [source_digest(example) for example in EXAMPLES]
    assert len(set(sets)) == len(sets) == 2


def test_the_rows_of_one_content_are_known_by_its_format_too(file):
    content = 'text\tlabel\n"a\t1\nb"\t0\n'
    names = ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.ndjson", "a.parquet", "b.TSV", "b.csv"]
    digests = {name: rows_digest(file(name, content)) for name in names}
    assert digests["a.csv"] == digests["b.csv"]
    assert digests["a.tsv"] == digests["b.TSV"]
    assert len(set(digests.values())) == 6, "names of two files have the format of another one"


@pytest.mark.parametrize("source", ["no/such.csv", "embedded:nothing", ".", "a\0b.csv", ""])
def test_a_source_that_is_not_there_has_no_digest(source):
    with pytest.raises(DataError):
        source_digest(source)


# ---- real data sets


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not here")
@pytest.mark.parametrize("name", ["sst2/dev", "ag_news/test", "esnli/dev", "babi_qa1/test", "movie_rationales/test"])
def test_real_data_set(name):
    names = tuple(json.loads((SHARED / name).with_name("labels.json").read_text()).values())
    dataset = read_dataset(SHARED / f"{name}.csv.gz", names, limit=500)
    frame = pd.read_csv(SHARED / f"{name}.csv.gz", keep_default_na=False, nrows=500)
    assert [row.text for row in dataset.rows] == frame.text.tolist()
    assert [names.index(row.label) for row in dataset.rows] == frame.label.tolist()
    if "rationale" in frame:
        assert [json.dumps(row.rationale) for row in dataset.rows] == frame.rationale.tolist()


def test_only_our_own_files_are_read_without_the_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []

    def seen(reading: Reading, arguments: dict[str, list[str]], watch: Tell) -> object:
        read.append(arguments["files"])
        return guarded(reading, arguments, watch)

    monkeypatch.setattr(sources, "guarded", seen)
    path = tmp_path / "embedded:sentiment.csv"
    path.write_text("text,label\na film,1\n")
    assert len(read_dataset(path).rows) == 1
    assert read_dataset("embedded:sentiment").rows
    assert read == [[str(path)]]


@pytest.mark.parametrize(
    ("reading", "told"),
    [
        (readings.grows, r"^rows\.csv takes more than 500 MB of memory to read\. Save it again"),
        (readings.panics, r"^rows\.csv fails in the library that reads it \(there is no such byte\)\. Save it again"),
    ],
)
def test_a_file_that_its_library_cannot_bear_is_told(
    reading: Reading, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na film,1\n")
    monkeypatch.setattr(sources, "read_parts", reading)
    with pytest.raises(DataError, match=told):
        read_dataset(path)
    monkeypatch.undo()
    assert len(read_dataset(path).rows) == 1


def test_bytes_are_no_text_and_decimals_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"text": [b"\xff"], "label": [Decimal("1.50")]}).to_parquet(path)
    assert preview(path).records == ({"text": "b'\\xff'", "label": "1.50"},)
    with pytest.raises(DataError, match="is not a string but bytes"):
        read_dataset(path)
