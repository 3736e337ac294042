"""The checks of a copy of the project to which the manual's examples were added: `test_docs.py` runs them there."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from explainlab import cli
from explainlab.analyses.registry import complete, studies
from explainlab.app.entries import page_of
from explainlab.attribution.registry import methods
from explainlab.request import Request
from explainlab.service.service import service
from explainlab.service.users import LOCAL
from tests.pages.scripted import charts, following, opened, press, words

MODEL = ["--model", "embedded:bert-mini-sst2"]


def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    """The JSON that a command prints."""
    monkeypatch.setattr("sys.argv", ["explainlab", *arguments, *MODEL, "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    record: dict[str, object] = json.loads(capsys.readouterr().out)
    return record


def test_the_method_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert methods()["leave_one_out"].label == "Leave one out"
    text = ["--text", "a stirring, funny film"]
    new = printed(monkeypatch, capsys, "explain", *text, "--method", "leave_one_out", "--set", "baseline=zero")
    old = printed(monkeypatch, capsys, "explain", *text, "--method", "occlusion", "--set", "baseline=zero")
    assert new["features"] == old["features"], "it is the method that the project has by another name"


def test_the_analysis_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert studies()["length"].label == "Length and confidence"
    options = ["--data", "embedded:sentiment", "--set", "rows=5"]
    record = printed(monkeypatch, capsys, "study", "length", *options)
    assert len(record["texts"]) == 5
    assert {"short", "long", "cost", "versions"} <= record.keys()


@pytest.fixture(scope="module")
def page() -> AppTest:
    """The new page as it opens."""
    return opened("length")


def test_its_page_shows_headline_and_chart(page: AppTest) -> None:
    assert page.title[0].value == "Length"
    assert not page.error
    assert "sure of the shorter texts" in words(page.markdown)
    (drawn,) = charts(page)
    assert drawn.startswith("Confidence against length, 50 texts: on average")
    assert page.query_params["r"]


def test_its_controls_ask_again_and_its_link_reopens_the_view(page: AppTest) -> None:
    app = opened("length")
    app.number_input(key="length_parameter_rows").set_value(7).run()
    assert "controls have changed" in words(app.caption)
    assert "50 texts" in charts(app)[0]
    press(app, "Run")
    assert "controls have changed" not in words(app.caption)
    assert "7 texts" in charts(app)[0]
    assert app.query_params["r"] != page.query_params["r"]
    again = opened("length", r=app.query_params["r"])
    assert again.number_input(key="length_parameter_rows").value == 7
    assert "7 texts" in charts(again)[0]
    app.number_input(key="length_parameter_rows").set_value(50).run()
    assert "50 texts" in charts(app)[0], "what is known already is shown at once"


def test_a_data_set_that_is_not_there_is_told() -> None:
    request = Request(question="length", model=MODEL[1], data="nowhere.csv")
    shown = page_of(complete(request))
    assert shown is not None
    app = following(opened("length"), shown.view)
    assert "nowhere.csv" in words(app.error)
    assert not charts(app)


def test_its_run_is_listed_and_opens(page: AppTest) -> None:
    run = next(run for run in service().runs(LOCAL).runs if run.question == "length")
    app = opened("runs", run=run.id)
    assert app.header[0].value == "Length and confidence"
    assert any(button.label == "Open in Length" for button in app.button)
    request = service().open_run(run.id, LOCAL).request
    shown = page_of(request)
    assert shown is not None
    assert shown.entry.title == "Length"
    assert list(shown.view.requests()) == [request]
