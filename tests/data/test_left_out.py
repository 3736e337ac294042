"""Rows that are left out for their label: in every reading, counted, and never taken for errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab import study
from explainlab.analyses.registry import complete, new_request, request_key, require_columns
from explainlab.data import LEFT_OUT, misfit, read_dataset, survey
from explainlab.errors import DataError
from explainlab.models.classifier import Classifier
from explainlab.reader import ANYBODY
from explainlab.training import read_examples

LABELS = ("negative", "positive")
ROWS = [("a fine film", "pos"), ("a dull one", "negative"), ("", "unsure"), ("what?", " unsure "), ("so so", "1")]
MEANT = {"pos": "positive", "unsure": LEFT_OUT}


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "rows.csv"
    file.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS))
    return str(file)


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("labels", [LABELS, None])
def test_they_are_counted_with_the_reason(path: str, labels: tuple[str, ...] | None, skip_bad: bool) -> None:
    data = read_dataset(path, labels, skip_bad=skip_bad, classes=MEANT)
    assert [row.number for row in data.rows] == [1, 2, 5]
    assert data.rows[0].label == "positive"
    assert data.skipped == ((3, "The label 'unsure' is left out."), (4, "The label 'unsure' is left out."))
    assert data.total == 3


def test_other_bad_rows_are_errors_as_ever(path: str) -> None:
    with pytest.raises(DataError, match=r"Row 3 .* empty"):
        read_dataset(path, classes={"pos": "positive"})
    with pytest.raises(DataError, match=r"Row 1 .* 'pos' is not a class"):
        read_dataset(path, LABELS, classes={"unsure": LEFT_OUT})


def test_a_class_of_the_model_and_rows_without_a_label(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("text,label\na,positive\nb,\nc,negative\n")
    data = read_dataset(file, LABELS, classes={"negative": LEFT_OUT, "": LEFT_OUT})
    assert [row.text for row in data.rows] == ["a"]
    assert data.skipped == ((2, "Rows without a label are left out."), (3, "The label 'negative' is left out."))


def test_a_sample_is_drawn_of_the_others(path: str) -> None:
    for seed in range(5):
        data = read_dataset(path, LABELS, 2, classes=MEANT, seed=seed)
        assert {row.number for row in data.rows} < {1, 2, 5}
        assert (len(data.rows), len(data.skipped), data.total) == (2, 2, 3)


def test_nothing_is_left(path: str) -> None:
    everything = dict.fromkeys(["pos", "negative", "unsure", "1"], LEFT_OUT)
    with pytest.raises(DataError, match=r"No row .* row 1: .* 'pos' is left out"):
        read_dataset(path, classes=everything)


def test_the_column_must_be_there(tmp_path: Path, path: str) -> None:
    file = tmp_path / "texts.csv"
    file.write_text("text\na film\n")
    assert len(read_dataset(file, classes={"a": "b"}).rows) == 1
    with pytest.raises(DataError, match="no column 'label'"):
        read_dataset(file, classes={"a": LEFT_OUT})
    asked = {"question": "integration_error", "model": "m", "data": str(file)}
    require_columns(complete(new_request(**asked)), ANYBODY)
    with pytest.raises(DataError, match="no column 'label'"):
        require_columns(complete(new_request(**asked, classes={"a": LEFT_OUT})), ANYBODY)


def test_they_fit_and_are_no_rows_of_a_look(path: str) -> None:
    assert "'pos' or 'unsure'" in misfit(path, LABELS).problem
    assert misfit(path, LABELS, classes=MEANT) is None
    seen = survey(path, LABELS, classes=MEANT)
    assert (seen.rows, seen.bad) == (3, 2)
    assert {label.label: label.rows for label in survey(path, None).labels}["unsure"] == 2


def test_examples_to_learn_from_know_how_many(path: str) -> None:
    examples = read_examples(path, classes=MEANT)
    assert (list(examples.labels), examples.left_out) == (["positive", "negative", "1"], 2)
    assert [examples.row(place) for place in range(3)] == [1, 2, 5]
    assert examples.take([2, 0]).row(0) == 5
    with pytest.raises(DataError, match="The text is empty"):
        read_examples(path, classes={"pos": "positive"})


def test_a_study_tells_them(encoder: Classifier, path: str) -> None:
    classes = {"pos": encoder.labels[1], "negative": encoder.labels[0], "unsure": LEFT_OUT}
    result = study(encoder, "predictions", data=path, classes=classes)
    assert [row.row for row in result.skipped] == [3, 4]
    assert "2 rows were left out; row 3: The label 'unsure'" in result.warnings[0]
    assert [row["row"] for row in result.body.rows] == [1, 2, 5]
    unlabelled = study(encoder, "integration_error", data=path, classes=classes, steps=[2], rules=["right"])
    assert len(unlabelled.body.texts) == 3
    assert [row.row for row in unlabelled.skipped] == [3, 4]


def test_the_classes_of_a_column_and_what_they_leave_out_are_part_of_a_key() -> None:
    def key(classes: dict[str, str]) -> str:
        asked = new_request(question="predictions", model="m", data="embedded:sentiment", classes=classes)
        return request_key(complete(asked), "d" * 64)

    assert len({key({}), key({"pos": "positive"}), key({"pos": LEFT_OUT})}) == 3
