"""A page drawn from declarations: its view is the request, and parameters of every kind become controls and back."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from explainlab.analyses.registry import complete
from explainlab.app.declared import data_page
from explainlab.app.entries import PageEntry
from explainlab.request import Request
from tests.pages.scripted import SECONDS, charts, following, press, words

MODEL, DATA = "embedded:bert-mini-sst2", "embedded:sentiment"
PAGE = data_page(PageEntry("Step", "", "step", "How many steps?", 90), "integration_error")


def _script() -> None:
    from tests.app.test_declared import PAGE

    PAGE.draw()


def test_lists_are_written_with_commas_and_asked_again() -> None:
    parameters = {"steps": [2, 4], "rules": ["right"], "rows": 2}
    view = PAGE.shows(complete(Request(question="integration_error", model=MODEL, data=DATA, parameters=parameters)))
    assert view is not None
    app = following(AppTest.from_function(_script, default_timeout=SECONDS), view)
    assert app.title[0].value == "Step"
    assert app.text_input(key="step_parameter_steps").value == "2,4"
    drawn = charts(app)
    assert drawn
    app.text_input(key="step_parameter_steps").set_value("3,6").run()
    assert "controls have changed" in words(app.caption)
    assert charts(app) == drawn
    press(app, "Run")
    assert "controls have changed" not in words(app.caption)
    assert len(charts(app)) == len(drawn)
    assert charts(app) != drawn
    app.text_input(key="step_parameter_steps").set_value("4,2").run()
    assert "rising order" in words(app.error)
    assert len(charts(app)) == len(drawn), "the answer stays"


def test_a_page_shows_only_data_sets_of_its_analysis() -> None:
    about = {"model": MODEL, "data": DATA}
    request = complete(Request(question="integration_error", **about, columns={"text": "text"}, seed=3))
    view = PAGE.shows(request)
    assert view is not None
    assert list(view.requests()) == [request]
    assert PAGE.record.model_validate(view.model_dump(mode="json")).requests() == [request]
    assert PAGE.shows(complete(Request(question="predictions", **about))) is None
    assert PAGE.shows(complete(Request(question="integration_error", model=MODEL, text="a film"))) is None


def test_the_model_travels_to_it_and_from_it() -> None:
    view = PAGE.first().with_shared_inputs({"model": "embedded:gpt2-mini-ag-news", "text": "a film"})
    assert [request.model for request in view.requests()] == ["embedded:gpt2-mini-ag-news"]
    assert view.shared_inputs() == {"model": "embedded:gpt2-mini-ag-news"}
