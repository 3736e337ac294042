"""Several models and data sets on the pages that study data sets: their cells, what failed, links, further files."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel
from streamlit.testing.v1 import AppTest

from explainlab.analyses.errors.analysis import Predictions
from explainlab.app.pages.activation import form as activation
from explainlab.app.pages.candidates import form as candidates
from explainlab.app.pages.errors import form as errors
from explainlab.app.pages.integration import form as integration
from explainlab.service.service import Service, service
from tests.pages.scripted import SECONDS, answered, charts, link_of, linked, opened, press, words

BERT, GONE = "embedded:bert-mini-sst2", "gone.csv"
HOSTILE = "<img src=x onerror=alert(1)> *b*.jsonl"
TEXT = "A warm film."


class Case(NamedTuple):
    """A page, what asks its data set, the view that it starts from, what its sentence is about, and its measures."""

    page: str
    button: str
    view: BaseModel
    about: str
    measures: int


CASES = [
    Case(
        "activation",
        "Study the data set",
        activation.first_view().model_copy(update={"model": BERT, "text": TEXT, "methods": ("input_x_gradient",)}),
        "the highest AS AUC in a cell",
        2,
    ),
    Case(
        "integration",
        "Study the data set",
        integration.first_view().model_copy(update={"text": TEXT, "steps": "5,10", "compare": (5, 10)}),
        "the lowest mean error at 5 steps in a cell",
        3,
    ),
    Case(
        "candidates",
        "Study the data set",
        candidates.first_view().model_copy(
            update={"text": TEXT, "samples": 2, "steps": 2, "timesteps": 10, "metrics": ("comprehensiveness",)}
        ),
        "of the first map in a cell",
        2,
    ),
    Case("errors", "Predict", errors.first_view(), "accuracy", 3),
]
each_page = pytest.mark.parametrize("case", CASES, ids=[case.page for case in CASES])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return two small files; the second has a hostile name and unusual columns."""
    folder = tmp_path_factory.mktemp("sets")
    first, second = folder / "plain.jsonl", folder / HOSTILE
    rows = [("A dull film.", "negative"), ("A warm film of today.", "positive")]  # one long enough for every metric
    first.write_text("\n".join(json.dumps({"text": text, "label": label}) for text, label in rows), encoding="utf-8")
    second.write_text("\n".join(json.dumps({"review": text, "mood": label}) for text, label in rows), encoding="utf-8")
    return str(first), str(second)


def chosen(case: Case, files: tuple[str, str], models: tuple[str, ...]) -> BaseModel:
    """Return the view of the page with further models, the hostile file, and one that is not there."""
    first, second = files
    sets: dict[str, Any] = {
        "source": first,
        "rows": 5,
        "sample": "all",
        "models": models,
        "sources": (second, GONE),
        "readings": {second: {"columns": {"text": "review", "label": "mood"}}},
    }
    values = case.view.model_dump()
    if "source" in type(case.view).model_fields:
        return type(case.view)(**{**values, **sets})
    own = {"steps": "5,10", "rules": ("right", "midpoint")} if case.page == "integration" else {}
    return type(case.view)(**{**values, "data": {**sets, **own}})


def cells(app: AppTest) -> list[dict[str, Any]]:
    return next(frame.value for frame in app.dataframe if "State" in frame.value).to_dict("records")


@pytest.fixture(scope="module")
def pages(files: tuple[str, str], zoo_path: Callable[[str], Path]) -> dict[str, AppTest]:
    """Return the pages after a reader's question about two models on three data sets. Tests must not change them."""
    models = (str(zoo_path("bert")),)
    asked = {}
    for case in CASES:
        app = linked(case.page, chosen(case, files, models))
        asked[case.page] = press(app, case.button)
    return asked


@each_page
def test_finished_cells_are_shown_and_failed_ones_say_why(case: Case, pages: dict[str, AppTest]) -> None:
    app = pages[case.page]
    assert [cell["State"] for cell in cells(app)] == ["done", "done", "no result"] * 2
    assert "There is no data file" in cells(app)[2]["Reason"]
    assert "Over 4 of 6 cells (2 models × 3 data sets)" in words(app.markdown)
    assert case.about in words(app.markdown)
    assert any("by number of parameters" in alt for alt in charts(app))
    assert [chart.proto.alt for chart in app.get("vega_lite_chart") if "all cells" in chart.proto.alt]
    assert len(app.selectbox(key=f"{case.page}_by").options) == case.measures
    assert case.page == "errors" or "each of **6 cells**" in words(app.caption)
    files = [button.label for button in app.get("download_button") if button.key.startswith(f"{case.page}_set_file")]
    assert files == ["CSV", "JSON", "HTML", "LaTeX"]
    assert "<img" not in "".join(element.value.replace("\\<", "") for element in app.markdown)


@each_page
def test_a_link_reopens_all_cells_and_a_measure_is_chosen(case: Case, pages: dict[str, AppTest]) -> None:
    app = pages[case.page]
    other = opened(case.page, r="".join(app.query_params["r"]))
    assert cells(other) == cells(app)
    assert other.multiselect(key=f"{case.page}_sources").value == app.multiselect(key=f"{case.page}_sources").value
    *_, last = other.selectbox(key=f"{case.page}_by").options
    other.selectbox(key=f"{case.page}_by").select_index(case.measures - 1).run()
    again = opened(case.page, r="".join(other.query_params["r"]))
    assert again.selectbox(key=f"{case.page}_by").index == case.measures - 1
    assert any(last.split(" ")[0] in alt for alt in charts(again) if "by number of parameters" in alt)


@each_page
def test_a_cell_is_a_view_of_its_own(case: Case, pages: dict[str, AppTest]) -> None:
    view = pages[case.page].session_state[f"{case.page}.place"].view
    app = linked(case.page, view.of_cell(*view.cells[4]))
    shown = app.session_state[f"{case.page}.place"].view
    assert shown.cells == [view.cells[4]]
    assert shown.chosen.columns == {"text": "review", "label": "mood"}
    assert not [frame for frame in app.dataframe if "State" in frame.value]
    assert "The controls have changed" not in words(app.caption)
    assert not app.error


def test_a_further_file_is_brought_and_read_by_its_own_columns(files: tuple[str, str]) -> None:
    first, second = files
    view = errors.first_view().model_copy(update={"source": first, "rows": 5, "sample": "all"})
    app = linked("errors", view)
    content = Path(second).read_bytes()
    app.file_uploader(key="errors_further_upload").set_value((HOSTILE, content, "application/json")).run()
    (source,) = app.multiselect(key="errors_sources").value
    assert "no column" in words(app.warning), "its columns are unfolded, as their names do not fit"
    for label, column in (("Text column", "review"), ("Label column", "mood")):
        next(box for box in app.selectbox if box.label == label).set_value(column).run()
    press(app, "Predict")
    assert [cell["State"] for cell in cells(app)] == ["done", "done"]
    assert cells(app)[1]["Data set"] == HOSTILE
    reading = app.session_state["errors.place"].view.readings[source]
    assert reading.columns == {"text": "review", "label": "mood"}
    other = opened("errors", r="".join(app.query_params["r"]))
    assert cells(other) == cells(app)


def test_a_cancelled_set_stops_and_its_finished_cells_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{name}.jsonl" for name in ("first", "second", "third")]
    for file in files:
        file.write_text(json.dumps({"text": f"A {file.stem} film.", "label": "positive"}), encoding="utf-8")
    begun, free, answer = threading.Event(), threading.Event(), Predictions.run
    asked: list[str] = []

    def held(self: Predictions, classifier: Any, request: Any, context: Any) -> Any:
        asked.append(Path(request.data).stem)
        while asked[-1] == "second" and not free.is_set():
            begun.set()
            context.check_cancelled()
            free.wait(0.02)
        return answer(self, classifier, request, context)

    first, *others = map(str, files)
    sets = {"source": first, "rows": 5, "sample": "all", "sources": tuple(others)}
    app = opened("errors")
    monkeypatch.setattr(Predictions, "run", held)
    app.query_params["r"] = link_of(errors.first_view(), **sets)
    app.run()
    assert begun.wait(SECONDS)
    (job,) = service().engine.unfinished()
    press(app, "Cancel")
    assert service().engine.wait(job, SECONDS)
    assert (job.progress.status, asked) == ("cancelled", ["first", "second"])
    answered(app.run())
    assert "was cancelled" in words(app.info)
    assert [cell["State"] for cell in cells(app)] == ["done", "waiting", "waiting"]
    view = app.session_state["errors.place"].view
    alone = linked("errors", view.of_cell(*view.cells[0]))
    assert alone.session_state["errors.place"].view.cells == [view.cells[0]]
    assert charts(alone)
    assert asked == ["first", "second"], "what was finished is not computed again"
    after = Service(service().store, "cpu")
    assert not any(map(after.has, job.all_asked)), "who has only looked stores nothing"
    free.set()
    press(app, "Run again")
    assert [cell["State"] for cell in cells(app)] == ["done"] * 3
    assert asked == ["first", "second", "second", "third"]
    assert all(map(after.has, job.all_asked)), "who presses has asked"
