"""The dialects of files of separated fields: marks that enclose or are characters, separators, line ends, no names."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from explainlab.analyses.registry import complete, new_request, request_key
from explainlab.data import Row, misfit, preview, read_dataset, survey
from explainlab.data.budget import Budget
from explainlab.data.formats import records
from explainlab.errors import DataError
from explainlab.reader import ANYBODY

LABELS = ("negative", "positive")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
Make = Callable[[str, str | bytes], Path]


@pytest.fixture
def file(tmp_path: Path) -> Make:
    """A function that writes text or bytes to a file of the given name."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        raw = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return make


def pairs(path: Path, **options: object) -> list[tuple[str, str | None]]:
    return [(row.text, row.label) for row in read_dataset(path, **options).rows]


# ---- quotation marks between tabs

AS_THEY_ARE = [
    [('"Great fun from start to end', "1"), ('A dull and lifeless film"', "0"), ("lovely and warm", "1")],
    [('"No", she said', "0"), ("fine", "1")],
    [('she said "no"', "0"), ("fine", "1")],
    [('5" of snow', "0"), ('a 7" single', "1"), ("fine", "1")],
    [('"', "0"), ("fine", "1")],
    [('say ""', "0"), ('"" say', "0"), ("fine", "1")],
    [("fine", "1"), ("good", "1"), ('"Great film"', "0")],
    [("fine", "1"), ("good", "1"), ('"Great, film"', "0"), ('"Another"', "1")],
    [('"a" and "b"', "0"), ('"c', "1"), ("fine", "1")],
    [("'quoted'", "0"), ("fine\\", "1"), ('back\\ "slash"', "1")],
    [("no marks", "0"), ("at all", "1")],
]


@pytest.mark.parametrize("rows", AS_THEY_ARE)
@pytest.mark.parametrize("order", [("text", "label"), ("label", "text"), ("id", "text", "label")])
@pytest.mark.parametrize("name", ["data.tsv", "data.tsv.gz", "data.csv"])
def test_marks_of_a_file_that_encloses_nothing_are_characters(file: Make, rows: list, order: tuple, name: str) -> None:
    cells = [dict(zip(("text", "label", "id"), (*row, "7"), strict=True)) for row in rows]
    lines = ["\t".join(order), *("\t".join(row[column] for column in order) for row in cells)]
    for end in ("\n", "\r\n"):
        path = file(name, end.join(lines) + end)
        assert pairs(path) == rows
        frame = pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False, dtype=str)
        assert [*frame[["text", "label"]].itertuples(index=False, name=None)] == rows


HARD = ['He said "no", twice', "two\nlines", "a\ttab", '"quoted"', 'ends with "', "plain", "", "a,b;c|d", "é 😀", "'"]


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("order", [["text", "label"], ["label", "text"], ["note", "text", "label"]])
def test_marks_of_a_file_that_pandas_wrote_enclose(file: Make, quoting: int, end: str, order: list[str]) -> None:
    frame = pd.DataFrame({"text": [f"{text}." for text in HARD], "label": [i % 2 for i in range(len(HARD))]})
    frame["note"] = HARD[::-1]
    written = frame[order].to_csv(sep="\t", index=False, quoting=quoting, lineterminator=end)
    path = file("data.tsv", written)
    assert pairs(path) == list(zip(frame.text, map(str, frame.label), strict=True))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not here")
@pytest.mark.parametrize("order", [["text", "label"], ["label", "text"]])
def test_12284_real_tweets_are_read_from_both_kinds_of_file(tmp_path: Path, order: list[str]) -> None:
    frame = pd.read_csv(SHARED / "tweeteval_sentiment" / "test.csv.gz", keep_default_na=False, dtype=str)
    frame["text"] = frame.text.str.replace(r"[\t\r\n]", " ", regex=True)
    assert (len(frame), frame.text.str.contains('"').sum()) == (12_284, 801)
    rows = [*frame[["text", "label"]].itertuples(index=False, name=None)]
    (tmp_path / "raw.tsv").write_text(
        "\n".join("\t".join(cells) for cells in [order, *frame[order].to_numpy()]), "utf-8"
    )
    frame[order].to_csv(tmp_path / "enclosed.tsv", sep="\t", index=False)
    assert pairs(tmp_path / "raw.tsv") == pairs(tmp_path / "enclosed.tsv") == rows


@pytest.mark.parametrize(
    "text",
    [
        'text\tlabel\n"a text"\t1\n"another"\t0\n',  # all of a column enclosed, by hand
        '"text"\t"label"\n"a text"\t1\nanother\t0\n',  # the names enclosed
        'text\tlabel\n"a text"\t1\n\n"another"\t0',
    ],
)
def test_marks_around_all_of_a_column_enclose(file: Make, text: str) -> None:
    assert pairs(file("data.tsv", text)) == [("a text", "1"), ("another", "0")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('"Great fun\t1\nfine\t0\n', [('"Great fun', "1"), ("fine", "0")]),
        ('"a ""b""\tc"\t1\n"d\te"\t0\n', [('a "b"\tc', "1"), ("d\te", "0")]),
        ('"a\tb"\t1\nfine\t0\n', [("a\tb", "1"), ("fine", "0")]),
        ('5" of snow\t1\n"\t0\n', [('5" of snow', "1"), ('"', "0")]),
    ],
)
def test_the_first_line_of_a_file_without_names_decides_too(file: Make, text: str, rows: list) -> None:
    assert pairs(file("data.tsv", text), columns={"text": "1", "label": "2"}) == rows


@pytest.mark.parametrize(
    "texts", [["plain"], ["plain", "a, b"], ["a, b", "", "plain"], ['say "no"', "plain"], ["a\tb", "c"]]
)
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("order", [["text", "label"], ["label", "text"]])
def test_names_alone_may_lack_marks(file: Make, texts: list[str], quoting: int, order: list[str]) -> None:
    frame = pd.DataFrame({"text": [f"{text}." for text in texts], "label": [1] * len(texts)})[order]
    body = frame.to_csv(sep="\t", index=False, header=False, quoting=quoting)
    assert pairs(file("data.tsv", "\t".join(order) + "\n" + body)) == [(text, "1") for text in frame.text]


def test_marks_of_a_single_column_enclose(file: Make) -> None:
    assert [row.text for row in read_dataset(file("data.tsv", 'text\n"a\nb"\n"c"\n')).rows] == ["a\nb", "c"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('text\tlabel\n"he said \\"no\\""\t1\nfine\t0\n', "escapes quotation marks by backslashes"),
        ('text\tlabel\nhe said \\"no\\"\t1\nfine\t0\n', "escapes quotation marks by backslashes"),
        ('text\tlabel\n5" of snow\t0\n7"\t1\na\tb\t1\n', "Line 4 of data.tsv has 3 fields, the first has 2. Its"),
        ('text\tlabel\n5" of snow\t0\nno label\n7"\t1\n', "Line 3 of data.tsv has 1 fields, the first has 2. Its"),
        ('text\tlabel\n"never closed\nx\ny\t0\n', "malformed"),
        ("text\tlabel\nfine\t1\ttoo many\n", "Line 2 of data.tsv has 3 fields, the first has 2. Put"),
    ],
)
def test_a_file_that_fits_no_dialect_is_refused(file: Make, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_dataset(file("data.tsv", text))


def test_a_mark_far_down_decides_too(file: Make) -> None:
    rows = [(f"text {i}", str(i % 2)) for i in range(5_000)] + [('"Great', "1"), ('film"', "0")]
    path = file("data.tsv", "text\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
    assert pairs(path) == rows
    assert survey(path, LABELS).rows == len(rows)
    assert len(preview(path).records) == 5
    assert misfit(path, LABELS) is None


def test_an_answer_of_one_format_is_none_of_another(file: Make) -> None:
    content = 'text\tlabel\n"Great\t1\nfilm"\t0\n'
    keys = set()
    for name in ("rows.tsv", "rows.csv", "rows.jsonl"):
        asked = new_request(question="predictions", model="m", data=str(file(name, content)))
        keys.add(request_key(complete(asked), "d" * 64))
    assert len(keys) == 3


# ---- separators and line ends


@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.csv.gz"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_a_separator_and_a_line_end_are_known_from_the_first_lines(
    file: Make, name: str, separator: str, end: str
) -> None:
    rows = [("fine, very; fine", "1"), ('"so|so"', "0"), ("a text", "1")]
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator=end).writerows([("text", "label"), *rows])
    assert pairs(file(name, stream.getvalue())) == rows
    assert pairs(file(name, stream.getvalue().rstrip("\r\n"))) == rows


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("text,label;x\na,1\n", ("text", "label;x")),
        ("text;label,x\na;1\n", ("text", "label,x")),
        ("text;label,x\na\n", ("text;label", "x")),
        ("text;score;label\ngood, but;0,5;1\nbad;1,5;0\n", ("text", "score", "label")),
        ("text\nHello; world\n", ("text",)),
        ('"a;b",label\nx,1\n', ("a;b", "label")),
        ("text;label\n", ()),
        ('text;label\n"two\nlines; or so";1\n', ("text", "label")),
    ],
)
def test_another_separator_divides_all_records_alike(file: Make, text: str, columns: tuple[str, ...]) -> None:
    path = file("data.csv", text)
    if text.endswith("\na\n"):  # no separator divides all records alike
        with pytest.raises(DataError, match=r"Line 2 of data\.csv has 1 fields, the first has 2"):
            preview(path)
    else:
        assert preview(path).columns == columns


@pytest.mark.parametrize(
    ("separator", "texts"),
    [
        (";", ("Great, film", "Dull, really", "so, so")),  # one comma in each
        (";", ("Great,film", "Dull,really", "so,so")),
        (";", ("for 1,5 hours", "7,9 of 10", "8,0")),
        (";", ("Great, big, film", "Dull, long, film", "a, b, c")),
        (",", ("Great; film", "Dull; really", "so; so")),
        (",", ("Great | film", "Dull | really", "so | so")),
        ("|", ("Great, film", "Dull, really", "so, so")),
        ("\t", ("Great,film;", "Dull,really;", "so,so;")),
    ],
)
@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
@pytest.mark.parametrize("columns", [{"text": "2", "label": "1"}, {"text": "1", "label": "2"}])
def test_the_separator_of_a_file_without_names_is_not_what_each_text_has(
    file: Make, separator: str, texts: tuple[str, ...], name: str, columns: dict[str, str]
) -> None:
    rows = [(text, str(place % 2)) for place, text in enumerate(texts)]
    lines = [separator.join(row if columns["text"] == "1" else row[::-1]) for row in rows]
    assert pairs(file(name, "\n".join(lines)), columns=columns) == rows


@pytest.mark.parametrize("name", ["data.csv", "data.tsv.gz"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "^"])
@pytest.mark.parametrize("line", ["sep={}", '"sep={}"', "SEP={}", "\ufeffsep={}"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_that_names_the_separator_is_no_row(file: Make, name: str, separator: str, line: str, end: str) -> None:
    rows = [("fine, very; fine", "1"), ('"so|so"', "0"), ("a ^ b", "1")]
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator=end).writerows([("text", "label"), *rows])
    content = line.format(separator) + end + stream.getvalue()
    assert pairs(file(name, content)) == rows
    assert pairs(file(name, content), columns={"text": "1", "label": "2"}) == [("text", "label"), *rows]
    with pytest.raises(DataError, match=r"Line 6 of data\.\S+ has 1 fields, the first has 2"):
        read_dataset(file(name, content + "fine" + end))


def test_a_line_end_alone_within_a_field_is_a_character(file: Make) -> None:
    path = file("data.csv", b'text,label\n"old\rmac",1\n"two\r\nlines",0\n')
    assert pairs(path) == [("old\rmac", "1"), ("two\r\nlines", "0")]
    path = file("data.csv", b'text,label\r"new\nline",1\ra,0\r')
    assert pairs(path) == [("new\nline", "1"), ("a", "0")]


@pytest.mark.parametrize("content", [b"text,label\na,1\rb,0\n", b"text,label\na\rb,0\n", b"text,label\ra\nb,0\r"])
def test_lines_that_end_in_two_ways_are_told(file: Make, content: bytes) -> None:
    with pytest.raises(DataError, match=r"Line 2 of data\.csv has a line end within a field\. Let all lines"):
        read_dataset(file("data.csv", content))


@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
def test_a_look_at_the_dialect_counts_nothing_twice(file: Make, name: str) -> None:
    path = file(f"{name}.gz", "text\tlabel\n" + "a text\t1\n" * 300_000)
    budget = Budget("data", ANYBODY)
    assert sum(1 for _ in records(path, budget)) == 300_000
    assert budget.bytes == 11 + 9 * 300_000


# ---- files without a line of names

BARE = "1\tpositive\tlovely and warm\n2\tnegative\tbad and boring\n"


@pytest.mark.parametrize(("name", "text"), [("a.tsv", BARE), ("a.csv", BARE.replace("\t", ","))])
def test_columns_are_named_by_numbers(file: Make, name: str, text: str) -> None:
    data = read_dataset(file(name, text), LABELS, columns={"text": "3", "label": "2"})
    assert data.rows == (Row(1, "lovely and warm", None, "positive"), Row(2, "bad and boring", None, "negative"))
    assert data.notes == ()
    frame = pd.read_csv(file(name, text), sep=None, engine="python", header=None)
    assert [row.text for row in data.rows] == frame[2].tolist()


def test_a_number_in_the_first_row_is_no_name_if_another_is_not_there(file: Make) -> None:
    path = file("a.csv", "2,lovely\n1,bad\n")
    assert pairs(path, columns={"label": "1", "text": "2"}) == [("lovely", "2"), ("bad", "1")]
    with pytest.raises(DataError, match="no column '4'; the columns found are '1', '2'"):
        read_dataset(path, columns={"label": "1", "text": "4"})
    with pytest.raises(DataError, match="no column 'label'; the columns found are '1', '2'"):
        read_dataset(path, LABELS, columns={"text": "1"})
    assert survey(path, None, {"label": "1", "text": "2"}).rows == 2
    assert misfit(path, None, {"label": "1", "text": "2"}) is None


def test_numbers_that_are_names_are_names(file: Make) -> None:
    path = file("a.csv", pd.DataFrame([["lovely", 1], ["bad", 0]]).to_csv(index=False))
    data = read_dataset(path, LABELS, columns={"text": "0", "label": "1"})
    assert [(row.text, row.label) for row in data.rows] == [("lovely", "positive"), ("bad", "negative")]
    assert data.notes == ()


@pytest.mark.parametrize(
    ("text", "columns", "doubted"),
    [
        (BARE, {"label": "positive", "text": "lovely and warm"}, True),
        ("x\tPositive\na\tnegative\n", {"label": "Positive", "text": "x"}, True),
        ("x\t4\na\t1\nb\t2\n", {"label": "4", "text": "x"}, True),
        ("x\tspam\na\tham\nb\tspam\n", {"label": "spam", "text": "x"}, True),
        ("x\tpositive\na\t1\nb\t0\n", {"label": "positive", "text": "x"}, False),
        ("x\tgold\na\tpositive\n", {"label": "gold", "text": "x"}, False),
        ("text\tlabel\na\tpositive\n", {}, False),
    ],
)
def test_names_that_look_like_a_row_are_told(file: Make, text: str, columns: dict[str, str], doubted: bool) -> None:
    labels = None if columns.get("label") in ("4", "spam") else LABELS
    notes = read_dataset(file("a.tsv", text), labels, columns=columns).notes
    assert bool(notes) == doubted
    if doubted:
        assert (
            f"The first line of a.tsv may be a row: the column of its labels is called {columns['label']!r}."
            in notes[0]
        )


def test_labels_of_a_file_without_names_are_those_of_their_own_column(tmp_path: Path) -> None:
    """A cell of the first line that equals the number of the column of labels makes no name of it."""
    path = tmp_path / "plain.csv"
    path.write_text("3,great film,1\n0,bad film,0\n1,good,1\n")
    for columns in ({"text": "2", "label": "3"}, {"text": 2, "label": 3}):
        rows = read_dataset(path, ["negative", "positive"], columns=columns).rows
        assert [row.label for row in rows] == ["positive", "negative", "positive"]
    path.write_text("3,great film,1\n0,bad film,2\n")
    with pytest.raises(DataError, match="from 0 or from 1"):
        read_dataset(path, ["negative", "neutral", "positive"], columns={"text": "2", "label": "3"})


@pytest.mark.parametrize("records", [20, 40, 400])
def test_a_head_may_end_within_a_field(records: int, tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text("text;label\n" + '"first line\nsecond line";positive\n' * records)
    dataset = read_dataset(path)
    assert [row.text for row in dataset.rows] == ["first line\nsecond line"] * records


@pytest.mark.parametrize("text", [" leading blank", "trailing blank ", "old\rline", "new\nline"])
def test_what_some_library_encloses_is_enclosed(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.tsv"
    path.write_text(f'text\tlabel\n"{text}"\tpositive\nplain\tnegative\n', newline="")
    assert [row.text.strip() for row in read_dataset(path).rows] == [text.strip(), "plain"]


def test_a_name_that_is_like_a_label_is_no_doubt_where_the_file_surely_has_names(tmp_path: Path) -> None:
    path = tmp_path / "spam.jsonl"
    path.write_text('{"text": "buy", "spam": "spam"}\n{"text": "hello", "spam": "ham"}\n')
    assert read_dataset(path, columns={"label": "spam"}).notes == ()
    path = tmp_path / "toxic.csv"
    path.write_text("text,toxic\nbad,toxic\ngood,clean\n")
    assert read_dataset(path, columns={"label": "toxic"}).notes == ()
