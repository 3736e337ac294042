"""The Explain page's script, run without a browser: the first view, forms from declarations, checks on the server."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.attribution.registry import get_method
from explainlab.settings import ROOT

SECONDS = 120


@pytest.fixture(scope="module")
def first() -> AppTest:
    """The app as it opens, once its heatmaps are drawn; tests must not change it."""
    return answered(opened())


@pytest.fixture
def app() -> AppTest:
    """An app of one's own."""
    return answered(opened())


def opened() -> AppTest:
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS).run()


def answered(app: AppTest) -> AppTest:
    """Run the script again, as its fragment does, until every job has ended."""
    deadline = time.monotonic() + SECONDS
    while not (app.header and not _busy(app)) and not app.error and time.monotonic() < deadline:
        time.sleep(0.2)
        app.run()
    assert not app.exception
    return app


def _busy(app: AppTest) -> bool:
    return any(button.label == "Cancel" for button in app.button)


def reproduced(app: AppTest) -> str:
    """The code that gives the same numbers, once it has been unfolded."""
    app.session_state["reproduce"] = True
    return app.run().code[0].value


def test_the_page_opens_with_an_explanation(first: AppTest) -> None:
    assert first.title[0].value == "Explain"
    assert not first.error
    assert first.metric[0].value in ("positive", "negative")
    assert [header.value for header in first.header] == ["Agreement", "Take away"]
    assert any("should be" in caption.value for caption in first.caption)
    assert first.query_params["r"]


def test_a_methods_form_comes_from_its_declaration(first: AppTest) -> None:
    specs = {spec.name: spec for spec in get_method("integrated_gradients").parameter_specs()}
    steps = first.number_input(key="explain_integrated_gradients_steps")
    assert (steps.min, steps.max, steps.value) == (1, 10_000, specs["steps"].default)
    rule = first.selectbox(key="explain_integrated_gradients_rule")
    assert tuple(rule.options) == specs["rule"].choices


def test_another_text_is_asked_and_answered(app: AppTest) -> None:
    before = app.query_params["r"]
    app.text_area(key="explain_text").set_value("A dull and lifeless evening.").run()
    answered(app)
    assert app.query_params["r"] != before
    assert "lifeless" in reproduced(app)


def test_an_empty_text_is_refused_in_words(app: AppTest) -> None:
    app.text_area(key="explain_text").set_value("   ").run()
    answered(app)
    assert any("The text is empty" in error.value.replace("\\", "") for error in app.error)
    assert [button.label for button in app.button].count("Run again") >= 1


def test_changed_controls_say_so_until_they_are_asked(app: AppTest) -> None:
    app.number_input(key="explain_integrated_gradients_steps").set_value(7).run()
    assert any("controls have changed" in caption.value for caption in app.caption)
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    assert not any("controls have changed" in caption.value for caption in app.caption)


def test_a_baseline_chosen_from_the_examples_is_told(app: AppTest) -> None:
    app.multiselect(key="explain_methods").set_value(["occlusion"]).run()
    app.selectbox(key="explain_occlusion_baseline").set_value("max_entropy").run()
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    told = [caption.value.replace("\\", "") for caption in app.caption]
    assert any("Baseline: row" in line and "of embedded:" in line for line in told)
    assert not any("baseline data" in line for line in told), "left empty, so not told"
    assert "baseline_data" not in reproduced(app)


def test_a_page_run_without_the_app_says_how_to_start_it() -> None:
    page = AppTest.from_file(str(ROOT / "pages" / "explain.py"), default_timeout=SECONDS).run()
    assert "streamlit run app.py" in page.error[0].value
    assert not page.title
