"""A file that is brought to the Errors page, run without a browser: matched, predicted, and called by its name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Multiselect, Selectbox

from explainlab.app.pages.errors.form import first_view as errors_view
from explainlab.data.uploads import PREFIX
from explainlab.service.looks import FileTask
from explainlab.service.service import service
from explainlab.service.store.runs import Filters
from explainlab.service.users import LOCAL
from tests.pages.scripted import answered, following, linked, opened, press, words

NAME = "opinions <b>[2026](x).csv"
CONTENT = (
    "review,opinion\n"
    "A lovely film.,good\n"
    "A dull and lifeless film.,bad\n"
    "Boring from start to end.,good\n"
    "What?,unsure\n"
)  # fmt: skip


@pytest.fixture
def app() -> AppTest:
    return unfold(opened("errors"))


def unfold(app: AppTest, page: str = "errors") -> AppTest:
    """The place for files, columns and labels, unfolded."""
    app.session_state[f"{page}_data_options"] = True
    return app.run()


def bring(app: AppTest, name: str, content: bytes) -> AppTest:
    return app.file_uploader[0].set_value((name, content, "text/csv")).run()


def box(app: AppTest, label: str) -> Selectbox:
    """The box whose label begins so."""
    return next(box for box in app.selectbox if box.label.startswith(label))


def left_out(app: AppTest) -> Multiselect:
    """The labels whose rows are left out."""
    return next(box for box in app.multiselect if box.label.startswith("Leave out"))


def matched(app: AppTest) -> AppTest:
    """With the file's columns and labels matched, and predicted."""
    for role, column in (("Text", "review"), ("Label", "opinion")):
        box(app, f"{role} column").set_value(column).run()
    press(app, "Check the labels")
    for label, named in (("good", "positive"), ("bad", "negative")):
        box(app, f"{label} (").set_value(named).run()
    return press(app, "Predict")


def test_a_file_is_brought_matched_and_predicted(app: AppTest) -> None:
    bring(app, NAME, CONTENT.encode())
    assert "no column 'text' or 'label'" in words(app.warning)
    assert "controls have changed" in words(app.caption), "nothing is computed before it is asked for"
    assert f"First rows of {NAME}" in words(app.markdown)
    matched(app)
    metrics = {metric.label: metric.value for metric in app.metric}
    assert (metrics["Mistakes"], metrics["Accuracy"]) == ("1", "66.7%")
    table = next(frame.value for frame in app.dataframe if "Predicted" in frame.value)
    assert table["Text"].tolist() == ["Boring from start to end."]
    assert "1 row was left out" in words(app.warning)
    other = opened("errors", r=app.query_params["r"])
    assert {metric.label: metric.value for metric in other.metric} == metrics


def test_a_file_goes_by_its_name(app: AppTest) -> None:
    matched(bring(app, NAME, CONTENT.encode()))
    box = app.selectbox(key="errors_data")
    assert box.value.startswith(PREFIX)
    assert NAME in box.options
    for element in (*app.markdown, *app.caption, *app.error, *app.warning):
        assert PREFIX not in element.value
    runs = opened("runs")
    listed = next(frame.value for frame in runs.dataframe if "Text or data" in frame.value)
    assert NAME in listed["Text or data"].tolist()
    (run,) = service().runs(LOCAL, Filters(words=NAME), 0, 5).runs
    other = opened("runs", run=run.id)
    assert NAME in words(other.markdown)
    asked = next(frame.value for frame in other.dataframe if "Request" in frame.value).set_index("Request")["Value"]
    assert asked["data"].startswith(f"{NAME} ({PREFIX}")


def test_a_file_that_is_damaged_is_told_by_its_name(app: AppTest) -> None:
    bring(app, "rows.csv.gz", b"no gzip at all")
    press(app, "Predict")
    assert "rows.csv.gz" in words(app.error)
    assert PREFIX not in words(app.error)
    assert app.title[0].value == "Errors"


@pytest.mark.full("three runs of the page, 3 s; tests/data/test_dialects.py reads such files")
def test_the_columns_of_a_file_without_names_are_chosen_by_number(app: AppTest) -> None:
    bring(app, "bare.tsv", b"1\tpositive\tA lovely film.\n2\tnegative\tA dull and lifeless film.\n")
    assert "Column 3 of a file without names" in box(app, "Text column").options
    for role, number in (("Text", "3"), ("Label", "2")):
        box(app, f"{role} column").set_value(number).run()
    first = next(frame.value for frame in app.dataframe if "3" in frame.value)
    assert first["3"].tolist() == ["A lovely film.", "A dull and lifeless film."]
    press(app, "Predict")
    metrics = {metric.label: metric.value for metric in app.metric}
    assert (metrics["Mistakes"], metrics["Accuracy"]) == ("0", "100.0%")


def test_names_that_look_like_a_row_are_told_beside_the_answer(app: AppTest) -> None:
    bring(app, "bare.tsv", b"1\tpositive\tA lovely film.\n2\tnegative\tA dull and lifeless film.\n")
    for role, name in (("Text", "A lovely film."), ("Label", "positive")):
        box(app, f"{role} column").set_value(name).run()
    press(app, "Predict")
    assert "The first line of bare.tsv may be a row" in words(app.warning)


SMALL = {"activation": {}, "integration": {"steps": "2,4"}, "candidates": {}}
NEAR = "Text;Labels\nA lovely film.;pos\nDull and slow.;neg\nBoring.;pos\nWhat?;unsure\n".replace(";", ",")


def test_names_that_are_nearly_right_are_filled_in_where_they_are_set(tmp_path: Path) -> None:
    """The place of columns and labels is folded, and unfolds."""
    path = tmp_path / "near.csv"
    path.write_text(NEAR)
    app = opened("errors")
    assert not any(box.label == "Text column" for box in app.selectbox)
    following(app, errors_view(), source=str(path))
    told = words(app.warning)
    assert "no column 'text' or 'label'. No class of the model is called 'pos', 'neg' or 'unsure'" in told
    assert "nearest names" in told
    assert (box(app, "Text column").value, box(app, "Label column").value) == ("Text", "Labels")
    assert (box(app, "pos (2 rows)").value, box(app, "neg (1 row)").value) == ("positive", "negative")
    assert box(app, "unsure (1 row)").value == ""
    press(app, "Predict")
    assert {metric.label: metric.value for metric in app.metric}["Accuracy"] == "66.7%"
    answered(box(app, "pos (2 rows)").set_value("").run())
    assert "nearest names" not in words(app.warning), "what was filled in was changed"
    press(app, "Predict")
    assert "3 rows" not in words(app.markdown)
    press(app, "Match the labels")
    assert box(app, "pos (2 rows)").value == "positive"


def test_a_reader_leaves_labels_out(tmp_path: Path) -> None:
    path = tmp_path / "near.csv"
    path.write_text(NEAR.replace("Text", "text").replace("Labels", "label"))
    app = opened("errors")
    following(app, errors_view(), source=str(path))
    assert "No class of the model is called 'pos', 'neg' or 'unsure'." in words(app.warning)
    assert (left_out(app).value, left_out(app).options) == ([], ["pos", "neg", "unsure"])
    answered(left_out(app).set_value(["unsure"]).run())
    assert "No class of the model" not in words(app.warning), "all fits now"
    assert not any(box.label.startswith("unsure") for box in app.selectbox)
    press(app, "Predict")
    assert {metric.label: metric.value for metric in app.metric}["Accuracy"] == "66.7%"
    assert "1 row was left out; row 4: The label 'unsure'" in words(app.warning)
    assert "Match the labels" not in [button.label for button in app.button], "it was asked for"
    again = opened("errors", r=app.query_params["r"])
    assert "The label 'unsure'" in words(again.warning)
    answered(left_out(app).set_value([]).run())
    assert box(app, "unsure (1 row)").value == ""


def test_what_needs_no_classes_leaves_labels_out_too(tmp_path: Path) -> None:
    path = tmp_path / "near.csv"
    path.write_text(NEAR.replace("Text", "text").replace("Labels", "label"))
    module = import_module("explainlab.app.pages.integration.form")
    data = module.DataChoice(source=str(path), steps="2,4")
    app = unfold(linked("integration", module.first_view(), data=data, steps="2,4"), "integration")
    press(app, "Check the labels")
    assert not any(box.label.startswith("pos (") for box in app.selectbox)
    answered(left_out(app).set_value(["pos", "unsure"]).run())
    press(app, "Study the data set")
    assert "Rows drawn: all 1." in words(app.caption)
    assert "3 rows were left out; row 1: The label 'pos'" in words(app.warning)


def test_another_model_has_other_classes(tmp_path: Path) -> None:
    path = tmp_path / "news.csv"
    path.write_text("text,label\nThe team won.,sport\nShares fell.,business\n")
    app = opened("errors")
    following(app, errors_view(), source=str(path))
    assert "No class of the model is called 'sport' or 'business'." in words(app.warning)
    answered(app.selectbox(key="errors_model").set_value("embedded:gpt2-mini-ag-news").run())
    assert box(app, "sport (1 row)").value == "Sports"
    assert not app.exception


def test_numbers_with_two_readings_are_asked_for_and_one_is_proposed(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\nA lovely film.,2\nDull and slow.,1\nBoring.,1\n")
    app = opened("errors")
    following(app, errors_view(), source=str(path))
    assert "The labels may mean other classes: the numbers of the column (1, 2) are neither" in words(app.warning)
    assert "check them" in words(app.warning)
    assert (box(app, "1 (2 rows)").value, box(app, "2 (1 row)").value) == ("negative", "positive")
    press(app, "Predict")
    metrics = {metric.label: metric.value for metric in app.metric}
    assert (metrics["Mistakes"], metrics["Accuracy"]) == ("0", "100.0%")
    for label in ("1 (2 rows)", "2 (1 row)"):
        answered(box(app, label).set_value("").run())
    press(app, "Predict")
    assert "'2' is not a class of the model for certain" in words(app.error)
    press(app, "Match the labels")
    assert box(app, "2 (1 row)").value == "positive"


def test_a_conflict_that_only_the_whole_file_shows_is_mended_by_a_button(tmp_path: Path) -> None:
    """The first 1,000 labels, at which the page looks before, are indexes."""
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "Dull and slow.,1\n" * 1_000 + "A lovely film.,2\n")
    app = opened("errors")
    following(app, errors_view(), source=str(path))
    assert not app.warning
    press(app, "Predict")
    assert "(1, 2) are neither names nor indexes" in words(app.error)
    press(app, "Match the labels")
    assert (box(app, "1 (1,000 rows)").value, box(app, "2 (1 row)").value) == ("negative", "positive")


@pytest.mark.parametrize("page", ["activation", "integration", "candidates"])
def test_a_page_with_a_data_set_reads_other_columns(page: str, tmp_path: Path) -> None:
    module = import_module(f"explainlab.app.pages.{page}.form")
    path = tmp_path / "near.csv"
    path.write_text(NEAR)
    few = {"steps": "2,4"} if page == "integration" else {}
    app = linked(page, module.first_view(), data=module.DataChoice(source=str(path), **SMALL[page]), **few)
    assert "near.csv has no column 'text'" in words(app.warning)
    assert box(app, "Text column").value == "Text"
    press(app, "Study the data set")
    assert not app.error
    assert "Rows drawn: all 4." in words(app.caption)
    other = opened(page, r=app.query_params["r"])
    assert "Rows drawn: all 4." in words(other.caption)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Until this is set, no file's labels are counted, unless that is cancelled."""
    let_go, watch = threading.Event(), FileTask._watch

    def watched(task: FileTask[Any], share: float) -> None:
        while task.key[0] == "survey" and not (let_go.is_set() or task.stopped):
            let_go.wait(0.02)
        watch(task, share)

    monkeypatch.setattr(FileTask, "_watch", watched)
    yield let_go
    let_go.set()


def test_a_long_file_is_read_while_the_page_goes_on(app: AppTest, held: threading.Event) -> None:
    bring(app, "long.csv", b"text,label\n" + b"a fine film,good\n" * 20_000)
    assert "No class of the model is called 'good'" in words(app.warning)
    cancel = next(button for button in app.button if button.label == "Cancel")
    answered(cancel.click().run())
    assert "The file was not read" in words(app.info)
    held.set()
    press(app, "Read again")
    assert "Rows that cannot: 20,000." in words(app.warning)
    assert box(app, "good (20,000 rows)").value == ""
