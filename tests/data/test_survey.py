"""A look at data before use: columns, first rows, labels matched to a model's classes, bad rows counted and listed."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest

from explainlab.data import EXAMPLES, Misfit, misfit, nearest, preview, read_dataset, sources, survey
from explainlab.data.survey import LISTED, MOST_LABELS
from explainlab.errors import DataError
from explainlab.guard import guarded

LABELS = ("negative", "positive")


@pytest.fixture
def file(tmp_path):
    """A JSONL file of records."""

    def make(records, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
        return path

    return make


RECORDS = [
    {"review": "good", "stars": "5", "id": 1},
    {"review": "bad", "stars": "1"},
    {"review": "", "stars": "5"},
    {"review": "so so", "stars": "3"},
    {"review": "nothing said"},
    {"review": "fine", "stars": " 5 "},
]
COLUMNS = {"text": "review", "label": "stars"}
CLASSES = {"5": "positive", "1": "NEGATIVE"}


def test_a_preview_has_columns_and_cells_as_text(file) -> None:
    found = preview(file(RECORDS), 2)
    assert (found.name, found.columns) == ("data.jsonl", ("review", "stars", "id"))
    assert found.records == ({"review": "good", "stars": "5", "id": "1"}, {"review": "bad", "stars": "1"})
    assert len(preview(file(RECORDS), 50).records) == 6
    assert preview(file([])).columns == ()


def test_a_preview_reads_no_further(tmp_path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"text,label\n" + "é,1\n".encode() * 100_000 + b"\xff,1\n")
    assert len(preview(path).records) == 5
    with pytest.raises(DataError, match="not UTF-8"):
        survey(path, LABELS)


def test_a_survey_counts_what_can_be_used(file) -> None:
    path = file(RECORDS)
    found = survey(path, LABELS, COLUMNS, CLASSES)
    good = read_dataset(path, LABELS, skip_bad=True, columns=COLUMNS, classes=CLASSES)
    assert (found.rows, found.bad) == (len(good.rows), len(good.skipped)) == (3, 3)
    assert found.skipped == good.skipped
    assert [row.label for row in good.rows] == ["positive", "negative", "positive"]
    assert {one.label: (one.rows, one.names) for one in found.labels} == {
        "5": (3, "positive"), "1": (1, "negative"), "3": (1, None), "": (1, None),
    }  # fmt: skip
    assert found.labels[0].label == "5"
    assert {one.label for one in found.mismatched} == {"3", ""}


def test_without_classes_the_mismatches_are_told(file) -> None:
    found = survey(file(RECORDS), LABELS, COLUMNS)
    assert {one.label: one.names for one in found.labels} == dict.fromkeys(("5", "1", "3", ""))
    assert found.rows == 0, "not all numbers are indexes"


@pytest.mark.parametrize("examples", EXAMPLES.values(), ids=lambda examples: examples.id)
def test_the_embedded_examples_match(examples) -> None:
    with examples.path.open(encoding="utf-8", newline="") as stream:
        counts = Counter(record["label"] for record in csv.DictReader(stream))
    found = survey(examples.id, examples.labels)
    assert {one.label: one.rows for one in found.labels} == counts
    assert (found.rows, found.bad, found.mismatched) == (sum(counts.values()), 0, ())


def test_a_class_must_be_one_of_the_models(file) -> None:
    for read in (survey, read_dataset):
        with pytest.raises(DataError, match="'wonderful' is not a class"):
            read(file(RECORDS), LABELS, columns=COLUMNS, classes={"5": "wonderful"})


def test_without_a_model_classes_rename(file) -> None:
    rows = read_dataset(file(RECORDS), columns=COLUMNS, classes=CLASSES, skip_bad=True).rows
    assert [row.label for row in rows] == ["positive", "NEGATIVE", "3", None, "positive"]


def test_a_column_that_holds_no_classes_and_one_that_is_not_there(file) -> None:
    path = file([{"text": "a", "label": str(i)} for i in range(MOST_LABELS + 1)])
    with pytest.raises(DataError, match="different labels"):
        survey(path, LABELS)
    with pytest.raises(DataError, match="no column 'review', 'stars'"):
        survey(path, LABELS, COLUMNS)
    with pytest.raises(DataError, match="no column role 'texts'"):
        survey(path, LABELS, {"texts": "text"})


def test_bad_rows_are_all_counted_and_the_first_listed(file) -> None:
    found = survey(file([{"text": "", "label": 1}] * (LISTED + 5) + [{"text": "a", "label": 1}]), LABELS)
    assert (found.rows, found.bad, len(found.skipped)) == (1, LISTED + 5, LISTED)


# Names that do not fit -----------------------------------------------------------------------------------------------


def test_a_missing_column_is_told_with_the_nearest_name(file) -> None:
    path = file([{"Texts": "fine", "Labels": "1", "id": 3}])
    found = misfit(path, LABELS)
    assert found == Misfit("data.jsonl has no column 'text' or 'label'.", {"text": "Texts", "label": "Labels"}, False)
    assert misfit(path, LABELS, found.columns) is None
    assert misfit(path, None, {"text": "Texts"}) is None, "a label is not needed where it names nothing"
    assert misfit(file([{"review": "fine", "stars": "1"}]), LABELS).columns == {}
    assert misfit(file([]), LABELS) is None


def test_no_column_is_the_nearest_for_two_roles(file) -> None:
    found = misfit(file([{"text label": "fine", "other": 1}]), LABELS)
    assert [*found.columns.values()].count("text label") == 1


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"text": "fine"}, None),
        ({"text": "fine", "level": "high"}, None),
        ({"text": "fine", "label": "economy"}, None),
        ({"text": "fine", "label": 7}, None),
        ({"text": "fine", "label": ""}, None),
        ({"text": "fine", "Labels": ""}, None),
        ({"text": "fine", "label": "positive"}, None),
        (
            {"text": "fine", "Labels": "Positive"},
            Misfit("data.jsonl has no column 'label'.", {"label": "Labels"}, False),
        ),
        ({"text": "fine", "label": "pos"}, Misfit("No class of the model is called 'pos'.", {}, True)),
        ({"Texts": "fine", "level": "high"}, Misfit("data.jsonl has no column 'text'.", {"text": "Texts"}, False)),
    ],
)
def test_a_page_that_needs_no_label_asks_only_for_likely_ones(record, found, file) -> None:
    assert misfit(file([record]), LABELS, needs_label=False) == found


def test_labels_that_a_reader_names_are_needed(file) -> None:
    path = file([{"text": "fine", "level": "high"}])
    assert misfit(path, LABELS, {"label": "level"}, needs_label=False) is not None
    assert misfit(path, LABELS, {}, {"other": "positive"}, needs_label=False) is not None


def test_labels_that_are_no_class_are_told(file) -> None:
    records = [{"text": "fine", "Label": label} for label in ("pos", "neg", "1", "", None, "positive")]
    found = misfit(file(records), LABELS)
    assert found == Misfit(
        "data.jsonl has no column 'label'. No class of the model is called 'pos' or 'neg'.", {"label": "Label"}, True
    )
    columns = {"label": "Label"}
    assert misfit(file(records), LABELS, columns).columns == {}
    assert misfit(file(records), LABELS, columns, {"pos": "positive", "neg": "negative"}) is None
    many = misfit(file([{"text": "fine", "label": f"label {i}"} for i in range(9)]), LABELS)
    assert many.problem.endswith("'label 4' or others.")


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("pos", LABELS, "positive"),
        ("NEG", LABELS, "negative"),
        ("sport", ("World", "Sports"), "Sports"),
        ("good", LABELS, None),
        ("text", (), None),
        ("text", ("TEXT", "Text"), "TEXT"),
    ],
)
def test_the_nearest_name_in_any_case(name: str, known: tuple[str, ...], near: str | None) -> None:
    assert nearest(name, known) == near


@pytest.mark.parametrize("written", [("1", "0"), ("Positive", "negative"), ("1", "5")])
def test_names_of_columns_that_numbers_name_are_found(tmp_path, written) -> None:
    path, numbers = tmp_path / "data.csv", {"text": "2", "label": "1"}
    path.write_text("My gold,review\n" + "".join(f"{label},fine\n" for label in written * 5))
    names = {"text": "review", "label": "My gold"}
    with pytest.raises(DataError, match=r"by --column text=review --column 'label=My gold'$"):
        read_dataset(path, LABELS, columns=numbers)
    found = misfit(path, LABELS, numbers)
    assert found.columns == names
    assert found.problem.startswith("The first line of data.csv has the names of its columns.")
    assert found.of_labels == (written == ("1", "5"))
    if found.of_labels:
        with pytest.raises(DataError, match="by --label 1=negative --label 5=positive"):
            read_dataset(path, LABELS, columns=names)
    else:
        assert misfit(path, LABELS, names) is None
        assert len(read_dataset(path, LABELS, columns=names).rows) == 10


@pytest.mark.parametrize("labels", [("spam", "1", "ham"), ("spam", "spam"), ("1", "0"), ("spam",)])
def test_a_first_row_is_no_line_of_names_where_other_labels_are_as_strange(tmp_path, labels) -> None:
    path, numbers = tmp_path / "data.csv", {"text": "2", "label": "1"}
    path.write_text("".join(f"{label},fine\n" for label in labels))
    found = misfit(path, LABELS, numbers)
    assert found is None or found.columns == {}


def test_a_look_opens_the_file_once(tmp_path, monkeypatch) -> None:
    path, opened = tmp_path / "data.jsonl", []
    path.write_text('{"text": "fine", "label": 1}\n{"text": "dull", "label": "other"}\n')

    def counted(reading, arguments, watch):
        opened.extend(arguments["files"])
        return guarded(reading, arguments, watch)

    monkeypatch.setattr(sources, "guarded", counted)
    assert misfit(path, LABELS).of_labels
    assert opened == [str(path)]
