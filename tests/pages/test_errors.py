"""The Errors page's script, run without a browser: the first view, filters, rows, remarks, edits, bad files, links."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab import explain, load_model
from explainlab.app.page import views_elsewhere
from explainlab.app.pages.errors import page as list_of_rows
from explainlab.app.pages.errors.form import ErrorsView, first_view, of_row
from explainlab.app.pages.errors.row import row_inputs
from explainlab.attribution.registry import get_method
from explainlab.data import read_dataset, source_digest
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.service.store.remarks import Remark
from tests.pages.scripted import answered, following, linked, opened, press, words
from tests.zoo import build

HOSTILE = "<b>Dull</b> [x](https://evil.example), long & never funny"
NEGATIVE = ["A dull, slow and lifeless film.", "Boring from start to end."]
POSITIVE = ["A lovely, warm and funny film.", "Beautiful, touching and wise."]
WRONG = [(HOSTILE, "positive"), ("A joy from the first scene to the last.", "negative"), ("Awful.", "positive")]


def written(path: Path, rows: list[tuple[str, str]], header: tuple[str, str] = ("text", "label")) -> str:
    """A CSV file of these rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Seven rows, three of them with the other label than any reader would give."""
    right = [*((text, "negative") for text in NEGATIVE), *((text, "positive") for text in POSITIVE)]
    return written(tmp_path / "rows.csv", [*right, *WRONG])


@pytest.fixture(scope="module")
def first() -> AppTest:
    """The page as it opens; tests must not change it."""
    return opened("errors")


@pytest.fixture
def app() -> AppTest:
    """A page of one's own."""
    return opened("errors")


def cheap(source: str, **fields) -> AppTest:
    """The page on ``source``, with a method of one pass."""
    return linked("errors", first_view(), **{"source": source, "method": "input_x_gradient", **fields})


def rows(app: AppTest) -> list[int]:
    """The row numbers in the table."""
    return next(frame.value for frame in app.dataframe if "Predicted" in frame.value)["Row"].tolist()


def test_the_page_opens_with_its_examples_answered(first: AppTest) -> None:
    assert first.title[0].value == "Errors"
    assert not first.error
    body = service().find(resolve(first_view().request())).body
    wrong = [row for row in body.rows if row["label"] != row["predicted"]]
    metrics = {metric.label: metric.value for metric in first.metric}
    assert metrics["Accuracy"] == f"{100 * (1 - len(wrong) / body.n):.1f}%"
    assert metrics["Mistakes"] == str(len(wrong))
    assert body.n == len(read_dataset("embedded:sentiment").rows)
    assert rows(first) == [row["row"] for row in sorted(wrong, key=lambda row: -row["loss"])]
    assert "Confusion matrix" in first.get("vega_lite_chart")[0].proto.alt
    assert first.query_params["r"]


def test_many_rows_are_shown_page_by_page_with_the_open_one(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_of_rows, "MOST_SHOWN", 3)
    app = cheap(source, show="all", sort="row")
    assert rows(app) == [1, 2, 3]
    assert "1 to 3 of 7 rows" in words(app.caption)
    page = app.number_input(key="errors_page_of_rows")
    assert (page.value, page.max) == (1, 3)
    page.set_value(3).run()
    assert rows(app) == [7]
    assert "Row 7" in words(app.subheader)
    press(app, "Previous")
    assert rows(app) == [4, 5, 6]
    assert app.number_input(key="errors_page_of_rows").value == 2


def test_filters_narrow_the_table_and_say_when_nothing_is_left(source: str) -> None:
    app = cheap(source)
    assert sorted(rows(app)) == [5, 6, 7]
    answered(app.selectbox(key="errors_true").set_value("negative").run())
    assert rows(app) == [6]
    answered(app.selectbox(key="errors_true").set_value("").run())
    answered(app.text_input(key="errors_search").set_value("<B>dull").run())
    assert rows(app) == [5]
    answered(app.radio(key="errors_show").set_value("all").run())
    answered(app.text_input(key="errors_search").set_value("FILM").run())
    assert sorted(rows(app)) == [1, 3]
    answered(app.text_input(key="errors_search").set_value("zebra").run())
    assert "No row matches" in words(app.info)


def test_next_and_previous_walk_through_the_rows_in_their_order(source: str) -> None:
    app = cheap(source, sort="row")
    assert app.subheader[0].value == "Row 5"
    press(app, "Next")
    assert app.subheader[0].value == "Row 6"
    press(app, "Next")
    assert app.subheader[0].value == "Row 7"
    assert next(button for button in app.button if button.label == "Next").disabled
    press(app, "Previous")
    assert "2 of 3" in words(app.markdown)
    other = opened("errors", r=app.query_params["r"])
    assert other.subheader[0].value == "Row 6", "the link reopens the row"


def test_the_next_two_rows_are_explained_ahead(source: str) -> None:
    app = cheap(source, sort="row")
    view = first_view().model_copy(update={"source": source, "method": "input_x_gradient"})
    app.run()
    for text, label in WRONG:
        other = "negative" if label == "positive" else "positive"
        for target in (label, other):
            request = view.map_request(text, None, target)
            job = service().job(resolve(request))
            assert service().find(resolve(request)) is not None or service().engine.wait(job, 30)


def test_a_note_and_tags_are_kept_for_this_row_and_exported(source: str) -> None:
    app = cheap(source, row=5)
    note, tags = (of_row(name, first_view().model_copy(update={"source": source}), 5) for name in ("note", "tags"))
    app.text_area(key=note).set_value("An *irony*?").run()
    app.multiselect(key=tags).set_value(["irony"]).run()
    kept = service().store.remarks("local", source_digest(source)).all()
    assert kept == [Remark(row=5, note="An *irony*?", tags=("irony",))]
    table = next(frame.value for frame in app.dataframe if "Predicted" in frame.value)
    assert dict(zip(table["Row"], table["Note"], strict=True)) == {5: "An *irony*?", 6: "", 7: ""}
    other = cheap(source, row=5)
    assert other.text_area(key=note).value == "An *irony*?"
    app.multiselect(key=tags).set_value([f"tag {i}" for i in range(21)]).run()
    assert "is not accepted" in words(app.error)


def test_an_edited_text_is_held_against_its_parent_and_kept(source: str) -> None:
    edited = "A lovely film with some dull and slow scenes."
    app = cheap(source, row=6, edit=edited)
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    before, after = (
        explain(classifier, text, "input_x_gradient").prediction.probabilities for text in (WRONG[1][0], edited)
    )
    table = next(frame.value for frame in app.dataframe if "Difference" in frame.value).set_index("Class")
    for label in before:
        assert table.loc[label, "Original"] == pytest.approx(before[label], abs=1e-5)
        assert table.loc[label, "Difference"] == pytest.approx(after[label] - before[label], abs=1e-5)
    press(app, "Keep as a new row, based on row 6")
    remarks = service().store.remarks("local", source_digest(source))
    assert [one for one in remarks.all() if one.row == 6] == [Remark.of_edit(6, edited)]
    press(app, "Forget this edit")
    assert [one for one in remarks.all() if one.row == 6] == []


def test_an_edit_without_a_word_stays_empty_and_belongs_to_its_row(source: str) -> None:
    app = cheap(source, sort="row", row=6, edit="")
    assert next(box for box in app.text_area if box.label == "Edited text").value == ""
    assert "The text is empty" in words(app.error)


def test_another_data_set_starts_anew(app: AppTest, source: str) -> None:
    listed = rows(app)
    following(app, first_view(), source=source, row=6, edit="A dull film.", search="A")
    assert rows(app) != listed
    app.selectbox(key="errors_data").set_value(first_view().source)
    answered(app.run())
    assert rows(app) == listed, "not searched, and shown without a press, as it is stored"
    assert app.text_input(key="errors_search").value == ""
    assert "Difference" not in " ".join(str(list(frame.value)) for frame in app.dataframe), "the edit was of a row"


def test_boxes_belong_to_the_row_of_one_data_set() -> None:
    one, other = (first_view().model_copy(update={"source": source}) for source in ("one.csv", "other.csv"))
    assert len({of_row("note", view, number) for view in (one, other) for number in (1, 2)}) == 4


def test_a_row_that_is_right_has_one_map_and_no_mistakes_are_told_nicely(tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", [(POSITIVE[0], "positive")])
    app = cheap(one)
    assert "No mistakes" in words(app.success)
    answered(app.radio(key="errors_show").set_value("all").run())
    assert app.subheader[0].value == "Row 1"
    assert "which is predicted and true" in words(app.markdown)
    assert not app.error


@pytest.mark.parametrize(
    ("header", "cells", "told"),
    [
        (("words", "label"), [("A film.", "positive")], "no column"),
        (("text", "label"), [("A film.", "pos"), ("Dull.", "neg")], "'pos' is not a class of the model"),
        (("text", "label"), [], "no data rows"),
    ],
    ids=["columns", "labels", "empty"],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, header: tuple, cells: list, told: str) -> None:
    app = cheap(written(tmp_path / "bad.csv", cells, header))
    assert told in words(app.error)
    app = cheap(str(tmp_path / "nowhere.csv"))
    assert "nowhere.csv" in words([*app.error, *app.warning])


def test_columns_and_labels_are_matched_on_the_page(tmp_path: Path) -> None:
    cells = [(POSITIVE[0], "good"), (NEGATIVE[0], "bad"), (NEGATIVE[1], "good"), ("What?", "unsure")]
    app = cheap(written(tmp_path / "named.csv", cells, ("review", "opinion")))
    for role, column in (("Text", "review"), ("Label", "opinion")):
        next(box for box in app.selectbox if box.label == f"{role} column").set_value(column).run()
    press(app, "Check the labels")
    assert "Rows that cannot: 4." in words(app.warning)
    for label, named in (("good", "positive"), ("bad", "negative")):
        next(box for box in app.selectbox if box.label.startswith(f"{label} (")).set_value(named).run()
    press(app, "Predict")
    assert {metric.label: metric.value for metric in app.metric}["Mistakes"] == "1"
    assert rows(app) == [3]
    assert "1 row was left out" in words(app.warning)


def test_rows_that_were_left_out_are_listed(tmp_path: Path) -> None:
    app = cheap(written(tmp_path / "holes.csv", [("", "positive"), (NEGATIVE[0], "positive")]))
    app.session_state["errors_skipped"] = True
    app.run()
    assert any("Reason" in frame.value and frame.value["Row"].tolist() == [1] for frame in app.dataframe)


def test_another_model_brings_its_examples(app: AppTest) -> None:
    app.selectbox(key="errors_model").set_value("embedded:gpt2-mini-ag-news").run()
    press(app, "Predict")
    assert app.selectbox(key="errors_data").value == "embedded:news"
    assert not app.error
    assert "of 184 rows" in words(app.markdown) or len(rows(app)) > 0


@pytest.mark.parametrize("other", ["Explain", "Integration", "Candidates", "Activation"])
def test_a_row_is_carried_to_the_other_pages(other: str) -> None:
    text = row_inputs(first_view(), {"text": HOSTILE, "text_pair": None})
    views = {entry.title: view for entry, view in views_elsewhere(text, "errors").items()}
    view = views[other].model_dump(mode="json") | ({"steps": "2,4"} if other == "Integration" else {})
    app = opened(other.lower(), r=service().store.save_view(view))
    assert app.title[0].value == other
    assert app.text_area(key=f"{other.lower()}_text").value == HOSTILE
    assert not app.error


def test_rows_are_explained_by_scores_that_add_up_until_the_reader_asks_for_others() -> None:
    view = first_view()
    assert get_method(view.method).adds_up
    other = ErrorsView(**{**view.model_dump(), "method": "input_x_gradient"})
    assert linked("errors", other).selectbox(key="errors_method").value == "input_x_gradient"


@pytest.mark.usefixtures("service")
def test_its_tab_names_the_data_set_as_readers_do() -> None:
    assert opened("errors").session_state["tab_title"] == "Errors: sentiment | ExplainLab"


@pytest.mark.usefixtures("service")
def test_a_hub_data_set_that_cannot_be_reached_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    app = linked("errors", first_view(), source="hub:nobody/has-this")
    assert "The hub cannot be reached and hub:" in words(app.error)
    assert "name a file" in words(app.error)
    assert app.session_state["tab_title"] == "Errors: nobody/has-this | ExplainLab"


@pytest.mark.full("it predicts ten thousand rows")
def test_one_of_ten_thousand_rows_costs_the_server_as_much_as_one_of_ten(tmp_path: Path) -> None:
    """In seconds of this process, which hardly depend on other processes; both rows are explained already."""
    model, spent = str(build("bert", tmp_path / "tiny")), {}
    for size in (10, 10_000):
        source = written(tmp_path / f"{size}.csv", [(f"so long {i}", "negative") for i in range(size)])
        app = cheap(source, model=model, show="all", sort="row")
        press(press(app, "Next"), "Previous")
        seconds = []
        for label in ("Next", "Previous") * 3:
            begun = time.process_time()
            press(app, label)
            seconds.append(time.process_time() - begun)
        spent[size] = min(seconds)
    assert spent[10_000] < 2 * spent[10], spent
