"""The Benchmark page with several models and data sets: cells while they run, what failed, links, and the published."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.pages.benchmark.form import first_view
from explainlab.app.place import Answer
from explainlab.app.sets import SetSection
from explainlab.metrics.registry import parse_metric
from explainlab.service.service import Service
from tests.pages.scripted import answered, charts, following, link_of, linked, opened, press, words

BERT, NONE = "embedded:bert-mini-sst2", "embedded:none"
SUFF = parse_metric("sufficiency").name
CELLS = {"methods": ("input_x_gradient", "lrp"), "metrics": (SUFF,), "rows": 5, "sample": "all"}


@pytest.fixture(scope="module")
def sst2(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a small file in a folder with the name of the papers' data set."""
    path = tmp_path_factory.mktemp("sets") / "sst2" / "test.jsonl"
    path.parent.mkdir()
    rows = [
        {"text": f"{word} film about a war", "label": label}
        for word, label in (("A dull", "negative"), ("A warm", "positive"))
    ]
    path.write_text("\n".join(map(json.dumps, rows * 2)), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def app(sst2: str, zoo_path: Callable[[str], Path]) -> AppTest:
    """Return the page with two models on two data sets, of which one is missing. Tests must not change it."""
    app = linked("benchmark", first_view(), **CELLS, source=sst2, models=(str(zoo_path("bert")), NONE))
    return press(app, "Compare")


def cells(app: AppTest) -> list[dict]:
    return next(frame.value for frame in app.dataframe if "State" in frame.value).to_dict("records")


def test_finished_cells_are_shown_and_failed_ones_say_why(app: AppTest) -> None:
    assert not app.error
    assert [cell["State"] for cell in cells(app)] == ["done", "done", "no result"]
    assert "There is no embedded model" in cells(app)[2]["Reason"]
    assert "Over 2 of 3 cells (3 models × 1 data set)" in words(app.markdown)
    assert any("by number of parameters" in alt for alt in charts(app))
    assert "Sufficiency (RPI): all cells" in app.get("vega_lite_chart")[0].proto.alt


def test_a_link_reopens_all_cells_and_a_cell_opens_alone(app: AppTest) -> None:
    other = opened("benchmark", r="".join(app.query_params["r"]))
    assert cells(other) == cells(app)
    assert other.multiselect(key="benchmark_models").value == app.multiselect(key="benchmark_models").value
    assert "The controls have changed" not in words(other.caption)
    view = app.session_state["benchmark.place"].view
    alone = following(other, view, opened=view.cells[1])
    assert "Over 4 texts" in words(alone.markdown)
    assert "Model: bert" in words(alone.caption)
    assert "The controls have changed" not in words(alone.caption)
    press(alone, "All 3 cells")
    assert cells(alone) == cells(app)


def test_a_set_that_ends_while_its_page_is_drawn_is_shown_whole(sst2: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, ended = SetSection.draw_state, []

    def late(section: SetSection, service: Service, answers: Sequence[Answer]) -> None:
        ended.extend(service.engine.wait(answer.job, 60) for answer in answers if answer.job is not None)
        draw(section, service, answers)

    monkeypatch.setattr(SetSection, "draw_state", late)
    app = opened("benchmark", r=link_of(first_view(), **CELLS, source=sst2, models=(NONE,), seed=7))
    assert any(ended)
    assert [cell["State"] for cell in cells(app)] == ["done", "no result"]


def test_further_models_are_added_in_the_controls(sst2: str) -> None:
    app = linked("benchmark", first_view(), **CELLS, source=sst2, target="gold")
    app.multiselect(key="benchmark_sources").set_value([f"{sst2}.gone", "embedded:news"]).run()
    assert "There is no data file" in words(app.error), "asked all the same, it is a cell without a result"
    press(app, "Compare")
    for _ in range(2):
        assert [cell["State"] for cell in cells(app)] == ["done", "no result", "no result"]
        assert "There is no data file" in cells(app)[1]["Reason"]
        assert "No row of embedded:news can be used" in cells(app)[2]["Reason"]
        press(app, "Run the cell that failed again")


def test_our_numbers_stand_beside_the_published(app: AppTest) -> None:
    app.session_state["benchmark_published_open"] = True
    answered(app.run())
    assert app.selectbox(key="benchmark_published").value == "001-2"
    told = next(frame.value for frame in app.dataframe if "Published" in frame.value).to_dict("records")
    assert len(told) == 600
    first, last = told[0], told[-1]
    assert (first["Method"], first["Data"], first["Model"], first["Published"]) == ("GXI", "SST2", "BERT", 0.237)
    assert first["Ours"] == pytest.approx(first["Ours"])
    assert last["To run"] == "Evaluate LIME by AOPC comprehensiveness on EMR with BERT."
