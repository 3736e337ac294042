"""Labels of a column as classes of a model: one rule for the whole column, and a question where it does not hold."""

from __future__ import annotations

import csv
import gzip
import json
import shlex
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyarrow import parquet

from explainlab.data import LEFT_OUT, Classes, misfit, preview, proposed, read_dataset, survey
from explainlab.data.labels import Unclear, options
from explainlab.declared import assignments
from explainlab.errors import DataError
from explainlab.training import Examples
from explainlab.training.start import class_names, settings_for

BINARY = ("negative", "positive")
STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
NUMBERED = ("1", "2", "3")
UNNAMED = ("LABEL_0", "LABEL_1")


def write(path: Path, labels: list[Any]) -> Path:
    """Write a file with a text for each label, as CSV or JSONL."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        if path.suffix == ".csv":
            csv.writer(stream).writerows([("text", "label"), *(("a film", label) for label in labels)])
        else:
            stream.writelines(json.dumps({"text": "a film", "label": label}) + "\n" for label in labels)
    return path


def read(path: Path, names: tuple[str, ...], **how: Any) -> list[str | None]:
    return [row.label for row in read_dataset(path, names, **how).rows]


# Columns that are read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "labels", "classes"),
    [
        (BINARY, ["0", "1", "01", "0.0", "1e0", "-0"], [0, 1, 1, 0, 1, 0]),
        (BINARY, ["1", "1.0"], [1, 1]),
        (BINARY, ["negative", "POSITIVE", " Posi tive ", "1"], [0, 1, 1, 1]),
        (BINARY, ['"negative"', '"positive"', "1", "0", '"1"'], [0, 1, 1, 0, 1]),
        (BINARY, ["LABEL_0", "label_1", "1"], [0, 1, 1]),
        (UNNAMED, ["0", "1"], [0, 1]),
        (UNNAMED, ["LABEL_1", "label_0"], [1, 0]),
        (UNNAMED[::-1], ["LABEL_1", "LABEL_0"], [0, 1]),
        (STARS, ["0", "4"], [0, 4]),
        (STARS, ["4", "4.0", "LABEL_4"], [4, 4, 4]),
        (STARS, ["LABEL_4", "LABEL_1"], [4, 1]),
        (NUMBERED, ["LABEL_2", "label_0"], [2, 0]),
        (STARS, ["1 star", "2STARS", "5  stars"], [0, 1, 4]),
        (NUMBERED, ["1", "3"], [0, 2]),
        (NUMBERED, ["1.0", "2.0", "03"], [0, 1, 2]),
        ((" negative", "positive\t"), ["negative", "positive"], [0, 1]),
        (("New York", "Sci/Tech"), ["newyork", "Sci / Tech"], [0, 1]),
        (("x", "X", "y"), ["X", "x", "y"], [1, 0, 2]),
        (('"a"', "a"), ["a", '"a"'], [1, 0]),
        (("0", "positive"), ["-0.0", "positive"], [0, 1]),
        (("a=b", "c"), ["A=B", "c"], [0, 1]),
    ],
)
def test_a_column_is_read(tmp_path: Path, names: tuple[str, ...], labels: list[str], classes: list[int]) -> None:
    path = write(tmp_path / "rows.csv", labels)
    assert read(path, names) == [names[place] for place in classes]
    assert misfit(path, names) is None
    assert survey(path, names).mismatched == ()


@pytest.mark.parametrize(
    ("names", "labels", "meant"),
    [
        (BINARY, ["1", "2"], "1=negative 2=positive"),
        (BINARY, ["-1", "1"], "-1=negative 1=positive"),
        (BINARY, ["1", "-1", "0"], "1=positive -1= 0=negative"),
        (BINARY, ["0", "4"], "0=negative 4=positive"),
        (BINARY, ["0", "1", "2"], "0=negative 1=positive 2="),
        (BINARY, ["0.5", "1"], "0.5=negative 1=positive"),
        (BINARY, ["LABEL_1", "LABEL_2"], "LABEL_1=negative LABEL_2=positive"),
        (STARS, ["1.0", "5.0", "3.0"], "'1.0=1 star' '5.0=5 stars' '3.0=3 stars'"),
        (STARS, ["1", "2", "3", "4"], "'1=1 star' '2=2 stars' '3=3 stars' '4=4 stars'"),
        (STARS, ["LABEL_1", "2"], "'LABEL_1=1 star' '2=2 stars'"),
        (NUMBERED, ["0", "1", "2"], "0=1 1=2 2=3"),
        (NUMBERED, ["1", "2", "3", "9"], "1=1 2=2 3=3 9="),
        (NUMBERED, ["1", "2", "9"], "1=1 2=2 9="),
        (("0", "1"), ["1", "2"], "1=0 2=1"),
        (UNNAMED, ["1", "2"], "1=LABEL_0 2=LABEL_1"),
        (("no", "maybe", "yes"), ["-1", "0", "1", "2"], "-1= 0=no 1=maybe 2=yes"),
        (("a=b", "c"), ["1", "2"], "1=0 2=c"),
        (BINARY, ["pos", "1", "2"], "pos=positive 1=negative 2=positive"),
    ],
)
def test_numbers_that_may_be_other_classes_are_asked_for(
    tmp_path: Path, names: tuple[str, ...], labels: list[str], meant: str
) -> None:
    """The pasted line reads or leaves out every row as proposed; without it nothing is read or skipped."""
    path = write(tmp_path / "rows.csv", labels)
    for how in ({}, {"skip_bad": True}, {"skip_bad": True, "limit": 1}, {"skip_bad": True, "limit": 2, "seed": 0}):
        with pytest.raises(DataError) as refused:
            read(path, names, **how)
        assert "is not a class of the model" in str(refused.value)
        line = str(refused.value).partition(" --label ")[2]
        assert shlex.split(f"--label {line}") == [part for one in shlex.split(meant) for part in ("--label", one)]
    classes = assignments(shlex.split(meant), "--label")
    assert misfit(path, names, classes=classes) is None
    found = survey(path, names)
    assert {one.label for one in found.mismatched} == set(labels)
    wanted = [names[int(name)] if name == "0" and name not in names else name for name in classes.values() if name]
    assert proposed(labels, names) == dict(zip(labels, [*_with_left_out(classes, wanted)], strict=True))
    assert read(path, names, classes=classes) == wanted


def _with_left_out(classes: dict[str, str], wanted: list[str]) -> list[str]:
    names = iter(wanted)
    return [next(names) if name else LEFT_OUT for name in classes.values()]


@pytest.mark.parametrize(
    ("names", "labels", "line"),
    [
        (BINARY, ["pos", "neg"], "--label pos=positive --label neg=negative"),
        (BINARY, ["True", "False"], "--label True=positive --label False=negative"),
        (BINARY, ["x=positi", "the  negat"], "--label x=positi=positive --label 'the negat=negative'"),
        (("World", "Sports"), ["sport", "worlds", "world"], "--label sport=Sports --label worlds=World"),
        (BINARY, ["pos", "unsure"], "--label pos=positive --label unsure="),
    ],
)
def test_names_that_are_no_class_are_matched_with_the_nearest(
    tmp_path: Path, names: tuple[str, ...], labels: list[str], line: str
) -> None:
    path = write(tmp_path / "rows.csv", labels)
    with pytest.raises(DataError) as refused:
        read(path, names)
    assert str(refused.value).endswith(f"by {line}")
    assert read(path, names, classes=assignments(shlex.split(line.replace("--label ", "")), "--label"))


def test_where_nothing_is_near_the_classes_are_named(tmp_path: Path) -> None:
    for labels in (["zzz"], ["World", "Sports"], [f"pos {i}" for i in range(40)]):
        with pytest.raises(DataError, match="Use negative or positive, or an index from 0 to 1; or match"):
            read(write(tmp_path / "rows.csv", labels), BINARY)
    with pytest.raises(DataError, match="Give every row a label; or skip bad rows"):
        read(write(tmp_path / "rows.csv", [""]), BINARY)


def test_numbers_that_can_only_be_indexes_are_proposed_as_indexes() -> None:
    assert proposed(["0", "2", "4"], "12345") == {"0": "1", "2": "3", "4": "5"}
    assert proposed(["1", "2", "5"], "12345") == {"1": "1", "2": "2", "5": "5"}


def test_the_whole_column_decides_also_of_the_first_rows(tmp_path: Path) -> None:
    """The first of 5,000 rows alone would be read as an index."""
    path = write(tmp_path / "rows.csv", [1] * 4_999 + [2])
    assert misfit(path, BINARY) is None, "it looks at the first 1,000 rows"
    for limit in (1, 100, None):
        with pytest.raises(DataError, match=r"Row 1 .* \(1, 2\) are neither names nor indexes from 0 to 1"):
            read(path, BINARY, limit=limit, skip_bad=True)
    write(path, [1] * 4_999 + [0, 0])
    assert read(path, BINARY, limit=2) == ["positive", "positive"], "a changed file is read anew"


def test_a_damaged_column_of_numbers_ends_the_reading_and_of_names_does_not(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"

    def write_damaged(label: str) -> None:
        path.write_bytes(gzip.compress("\n".join(["text,label", *[f"a film,{label}"] * 50, "a film"]).encode()))

    write_damaged("1")
    for skip_bad in (False, True):
        with pytest.raises(DataError, match=r"^Line 52 of"):
            read(path, BINARY, limit=9, skip_bad=skip_bad)
    write_damaged("positive")
    assert len(read(path, BINARY, limit=9)) == 9
    write_damaged("pos")
    with pytest.raises(DataError, match=r"^Row 1 of .* 'pos' is not a class of the model\. Use negative or positive"):
        read(path, BINARY, limit=9)


def test_numbers_that_somebody_has_matched_leave_the_others_unread(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", ["1", "2", "3"])
    meant = {"1": "negative", "3": "positive"}
    data = read_dataset(path, BINARY, skip_bad=True, classes=meant)
    assert [row.label for row in data.rows] == ["negative", "positive"]
    assert [number for number, _ in data.skipped] == [2]
    assert read(write(path, ["2", "0", "1"]), BINARY, classes={"2": LEFT_OUT}) == ["negative", "positive"]
    assert read(write(path, ["1", "2"]), BINARY, skip_bad=True, classes={"2": "positive"}) == ["positive"]
    with pytest.raises(DataError, match=r"--label -1=negative$"):
        read(write(path, ["1", "-1"]), BINARY, classes={"1": "positive"})


def test_a_reader_may_mean_a_class_by_its_index(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", ["good", "bad"])
    assert read(path, BINARY, classes={"good": "1", "bad": "0.0"}) == ["positive", "negative"]
    assert read(path, NUMBERED, classes={"good": "1", "bad": "3"}) == ["1", "3"]
    for name in ("0", "4", "-1"):
        with pytest.raises(DataError, match=f"'{name}' is not a class"):
            read(path, NUMBERED, classes={"good": name})


# The names that a file itself gives -----------------------------------------------------------------------------------


def named_file(path: Path, labels: pa.Array, feature: Any) -> Path:
    """Write a Parquet file whose schema has what the library datasets writes into it."""
    features = {"text": {"dtype": "string", "_type": "Value"}, "label": feature}
    schema = pa.schema([("text", pa.string()), ("label", labels.type)])
    schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    parquet.write_table(pa.table([["a film"] * len(labels), labels], schema=schema), path)
    return path


@pytest.mark.parametrize(
    ("written", "names", "labels"),
    [
        ([0, 1, 0], ["positive", "negative"], ["positive", "negative", "positive"]),
        ([0, 1], ["Negative", "Positive"], ["negative", "positive"]),
        ([1, 2], ["none", "positive", "negative"], ["positive", "negative"]),
        ([0, 1], ["1", "0"], ["positive", "negative"]),
        ([3, 2], ["a", "b", "LABEL_0", "LABEL_1"], ["positive", "negative"]),
    ],
)
def test_numbers_with_names_are_these_names(
    tmp_path: Path, written: list[int], names: list[str], labels: list[str]
) -> None:
    path = named_file(tmp_path / "rows.parquet", pa.array(written), {"names": names, "_type": "ClassLabel"})
    assert read(path, BINARY) == labels
    packed = tmp_path / "rows.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed, BINARY) == labels
    assert [row.label for row in read_dataset(path).rows] == [names[number] for number in written]
    assert preview(path).records[0]["label"] == names[written[0]]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_numbers_in_lists_are_these_names_too(tmp_path: Path, kind: Callable[[pa.DataType], pa.DataType]) -> None:
    feature = {"feature": {"names": ["positive", "negative"], "_type": "ClassLabel"}, "_type": "List"}
    labels = pa.array([[0], [1], [-1], [], None, [0, 1]], kind(pa.int64()))
    data = read_dataset(named_file(tmp_path / "rows.parquet", labels, feature), BINARY, skip_bad=True)
    assert [row.label for row in data.rows] == ["positive", "negative"]
    assert [row for row, _ in data.skipped] == [3, 4, 5, 6]
    assert data.skipped[-1] == (6, "The label has 2 labels.")


def test_names_of_a_file_that_are_no_class_are_asked_for(tmp_path: Path) -> None:
    path = named_file(tmp_path / "rows.parquet", pa.array([0, 1]), {"names": ["pos", "neg"], "_type": "ClassLabel"})
    assert misfit(path, BINARY).problem == "No class of the model is called 'pos' or 'neg'."
    with pytest.raises(DataError, match=r"--label pos=positive --label neg=negative$"):
        read(path, BINARY, skip_bad=True)


def test_a_number_without_a_name_is_no_label_or_stays_a_number(tmp_path: Path) -> None:
    feature = {"names": ["positive", "negative"], "_type": "ClassLabel"}
    path = named_file(tmp_path / "rows.parquet", pa.array([0, -1, None]), feature)
    data = read_dataset(path, BINARY, skip_bad=True)
    assert [row.label for row in data.rows] == ["positive"]
    assert [reason for _, reason in data.skipped] == ["The label is missing."] * 2
    path = named_file(tmp_path / "more.parquet", pa.array([0, 7]), feature)
    assert [row.label for row in read_dataset(path).rows] == ["positive", "7"]


@pytest.mark.parametrize(
    "feature",
    [
        None,
        [],
        {"_type": "Value", "names": ["positive", "negative"]},
        {"_type": "ClassLabel"},
        {"_type": "ClassLabel", "names": "ab"},
        {"_type": "ClassLabel", "names": [1, 2]},
    ],
)
def test_a_schema_that_names_nothing_leaves_numbers(tmp_path: Path, feature: Any) -> None:
    assert read(named_file(tmp_path / "rows.parquet", pa.array([0, 1]), feature), BINARY) == [*BINARY]


@pytest.mark.parametrize("metadata", [b"", b"no JSON", b"[" * 100_000, b"[]", b'{"info": null}', b'{"info": {}}'])
def test_metadata_of_another_kind_are_left_alone(tmp_path: Path, metadata: bytes) -> None:
    schema = pa.schema([("text", pa.string()), ("label", pa.int64())]).with_metadata({"huggingface": metadata})
    parquet.write_table(pa.table([["a film"], [1]], schema=schema), tmp_path / "rows.parquet")
    assert read(tmp_path / "rows.parquet", BINARY) == ["positive"]


def test_names_are_for_numbers_only(tmp_path: Path) -> None:
    feature = {"names": ["positive", "negative"], "_type": "ClassLabel"}
    assert read(named_file(tmp_path / "a.parquet", pa.array(["negative"]), feature), BINARY) == ["negative"]
    assert read(named_file(tmp_path / "b.parquet", pa.array([1], pa.uint8()), feature), BINARY) == ["negative"]
    assert read(named_file(tmp_path / "c.parquet", pa.array([1.0]), feature), BINARY) == ["positive"]


def test_a_column_of_json_has_its_values(tmp_path: Path) -> None:
    """The library datasets (5.2) stores labels of several types so; the schema says that they are JSON."""
    cells = pa.array(['"negative"', "1", '"positive"', "0", None, "damaged"], pa.string())
    labels = pa.ExtensionArray.from_storage(pa.json_(), cells)
    path = named_file(tmp_path / "rows.parquet", labels, {"_type": "Json"})
    assert [row.label for row in read_dataset(path).rows] == ["negative", "1", "positive", "0", None, "damaged"]
    assert read(path, BINARY, skip_bad=True) == ["negative", "positive", "positive", "negative"]


# Examples to learn from ----------------------------------------------------------------------------------------------


def test_labels_in_memory_are_read_by_the_same_rule() -> None:
    texts = ["a", "b"]
    assert Examples(texts, ["1", "0"]).classes(BINARY).tolist() == [1, 0]
    assert Examples(texts, ["Positive", "neg ative"]).classes(BINARY).tolist() == [1, 0]
    assert Examples(texts, ["1", "3"]).classes(NUMBERED).tolist() == [0, 2]
    for names, labels in ((NUMBERED, ["0", "1"]), (STARS, ["1", "2"]), (BINARY, ["1", "2"])):
        with pytest.raises(DataError, match="unknown label"):
            Examples(texts, labels).classes(names)
    train = Examples(["a", "b", "c"], ["0", "1", "2"])
    assert Examples(texts, ["1", "2"]).classes(("no", "maybe", "yes"), train).tolist() == [1, 2]


def test_a_base_names_the_classes_only_if_it_names_all_labels() -> None:
    """The labels of the embedded model are negative and positive."""
    base, settings = "embedded:bert-mini-sst2", settings_for("embedded:bert-mini-sst2")
    for labels, names in (
        (["0", "1"], BINARY),
        (["Negative", "positive"], BINARY),
        (["1", "2"], ("1", "2")),
        (["neg", "pos"], ("neg", "pos")),
        (["-1", "1"], ("-1", "1")),
    ):
        assert class_names(base, Examples(["a", "b"], labels), settings) == names


# The rule as a slow loop ----------------------------------------------------------------------------------------------


def plainest(name: str) -> object:
    """The form that two ways to write one name share: its number, or its letters."""
    text = name.strip(" ")
    if text[:1] == text[-1:] == '"' and len(text) > 1:
        text = text[1:-1]
    text = text.replace(" ", "").lower()
    digits = text.removeprefix("-").replace(".", "", 1)
    return Decimal(text) if digits.isdigit() and not text.endswith(".") else text


def slowly(labels: list[str], names: list[str]) -> dict[str, str | None] | None:
    """The class of each label, or None; nothing where a number has no clear meaning."""
    found: dict[str, str | None] = {}
    for label in labels:
        found[label] = None
        alike = [name for name in names if plainest(name) == plainest(label)]
        if label in names:
            found[label] = label
        elif len(alike) == 1:
            found[label] = alike[0]
    values: dict[str, Decimal] = {}
    for label in labels:
        form = plainest(label)
        if isinstance(form, str) and form.startswith("label_") and form[6:].isdigit():
            values[label] = Decimal(form[6:])
        elif isinstance(form, Decimal):
            values[label] = form
    if all(found[label] is not None for label in values):
        return found
    for value in values.values():
        if value != int(value) or value < 0 or value >= len(names):
            return None
    plain = any(isinstance(plainest(label), Decimal) for label in labels)
    if plain and any(isinstance(plainest(name), Decimal) for name in names):
        return None
    if plain and len({*values.values()}) > 1 and all(value != 0 for value in values.values()):
        return None
    for label, value in values.items():
        found[label] = names[int(value)]
    return found


NAMES = st.lists(
    st.sampled_from([
        "negative", "Negative", "positive", "very good", "verygood", "a=b", "1 star", "0", "1", "2", "1.0", "LABEL_0",
        "LABEL_1", '"1"', "été", "sci/tech",
    ]),
    min_size=2, max_size=5, unique=True,
)  # fmt: skip
NUMBERS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "0", "LABEL_", "label_"]),
    st.sampled_from([0, 1, 2, 3, 4, 7]),
    st.sampled_from(["", "", ".0", ".5"]),
)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """The names of classes, and a column: of these in other ways to write them, of numbers, of others, or mixed."""
    names = draw(NAMES)
    change = st.sampled_from([
        str, str.upper, str.title, '"{}"'.format, " {} ".format, lambda name: name.replace(" ", ""), " ".join,
    ])  # fmt: skip
    written = st.builds(lambda name, how: how(name), st.sampled_from(names), change)
    kinds = [NUMBERS, st.sampled_from(range(len(names))).map(str), written, st.sampled_from(["unsure", "n/a"])]
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))
    labels = draw(st.lists(st.one_of(chosen), min_size=1, max_size=6))
    return names, [" ".join(label.split()) for label in labels]


@given(columns())
@hypothesis_settings(max_examples=200, deadline=None)
def test_the_rule_is_that_of_a_slow_loop(column: tuple[list[str], list[str]]) -> None:
    names, labels = column
    slow = slowly(labels, names)
    classes = Classes(names, {}, lambda: labels)
    if slow is not None:
        assert {label: classes.find(label) for label in labels} == slow
        return
    numbers = [label for label in labels if classes.doubt(label)]
    assert numbers
    for label in numbers:
        with pytest.raises(Unclear):
            classes.match(label)


@given(columns())
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_file_is_read_by_the_rule_of_a_slow_loop_or_refused(column: tuple[list[str], list[str]]) -> None:
    names, labels = column
    slow = slowly(labels, names) or {}
    good = [name for label in labels if (name := slow.get(label)) is not None]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "rows.jsonl", labels)
        if good:
            assert read(path, tuple(names), skip_bad=True) == good
            assert read(path, tuple(names), limit=1, skip_bad=True) == good[:1]
        else:
            with pytest.raises(DataError):
                read(path, tuple(names), skip_bad=True)


@given(columns())
@hypothesis_settings(max_examples=120, deadline=None)
def test_a_proposal_is_pasted_as_it_is(column: tuple[list[str], list[str]]) -> None:
    """Each label that has no class then is the proposed one, or is left out."""
    names, labels = column
    likely = proposed(labels, names)
    pasted = assignments(shlex.split(options(likely, names))[1::2], "--label")
    if any("=" in name for name in likely.values()) and any(isinstance(plainest(name), Decimal) for name in names):
        return  # such a class has neither a name nor an index for the command line
    classes = Classes(names, pasted, lambda: labels)
    for label, name in likely.items():
        assert label in classes.left_out if name == LEFT_OUT else classes.match(label) == name
