"""A file that is brought to the Errors page, run without a browser: matched, predicted, and called by its name."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.data.uploads import PREFIX
from explainlab.service.service import service
from explainlab.service.store.runs import Filters
from explainlab.service.users import LOCAL
from tests.pages.scripted import opened, press, words

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
    app = opened("errors")
    app.session_state["errors_data_options"] = True
    return app.run()


def bring(app: AppTest, name: str, content: bytes) -> AppTest:
    return app.file_uploader[0].set_value((name, content, "text/csv")).run()


def matched(app: AppTest) -> AppTest:
    """With the file's columns and labels matched, and predicted."""
    for role, column in (("Text", "review"), ("Label", "opinion")):
        next(box for box in app.selectbox if box.label == f"{role} column").set_value(column).run()
    press(app, "Check the labels")
    for label, named in (("good", "positive"), ("bad", "negative")):
        next(box for box in app.selectbox if box.label.startswith(f"{label}: ")).set_value(named).run()
    return press(app, "Predict")


def test_a_file_is_brought_matched_and_predicted(app: AppTest) -> None:
    bring(app, NAME, CONTENT.encode())
    assert not service().engine.unfinished(), "nothing is computed before it is asked"
    press(app, "Predict")
    assert "no column" in words(app.error)
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
