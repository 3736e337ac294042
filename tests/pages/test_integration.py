"""The Integration page's script, run without a browser: the first view, bad input, the data set, links, two pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.analyses.parameters import PAPER_GRID
from explainlab.app.pages.integration.form import DataChoice, first_view
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from tests.pages.scripted import answered, await_plan, charts, linked, opened, planned, press, words
from tests.tiers import full

FEW = first_view().model_copy(update={"steps": "2,4", "compare": (2, 4)})
"""A view of few steps."""


@pytest.fixture(scope="module")
def first() -> AppTest:
    """The page as it opens, once all is drawn; tests must not change it."""
    return opened("integration")


@pytest.fixture
def app() -> AppTest:
    """A page of one's own."""
    return opened("integration")


def enter(app: AppTest, name: str, value: str) -> AppTest:
    box = app.text_area if name in ("text", "pair") else app.text_input
    return answered(box(key=f"integration_{name}").set_value(value).run())


def test_the_page_opens_with_an_answer(first: AppTest) -> None:
    assert first.title[0].value == "Integration"
    assert not first.error
    assert [metric.label for metric in first.metric][2:] == ["Adaptive", "Doubling"]
    drawn = charts(first)
    assert len(drawn) == 3
    assert "First step count within 5%" in drawn[0]
    assert all(drawn)
    assert first.query_params["r"]
    assert "(n + 1)/n" in words(first.markdown), "what equation 4 misprints"


@pytest.mark.parametrize(
    "steps",
    [
        "",
        "30,20",
        "<b>5</b>",
        *(full(steps, reason="of one kind with three others") for steps in ("abc", "10,10", "0,5", "10,1000000")),
        *(full(steps, reason="of one kind with three others") for steps in ("1:2", "1:9:0")),
    ],
)
def test_a_wrong_step_list_is_an_error_and_the_answer_stays(app: AppTest, steps: str) -> None:
    enter(app, "steps", steps)
    assert "steps" in words(app.error)
    assert len(charts(app)) == 3


def test_another_list_is_asked_at_once_and_its_link_is_new(app: AppTest) -> None:
    before = app.query_params["r"]
    enter(app, "steps", "2,4,8")
    assert app.query_params["r"] != before
    assert not app.error
    assert "Ideal steps" in words(app.markdown)


def test_changed_controls_say_so_until_they_are_asked(app: AppTest) -> None:
    enter(app, "steps", "2,4")
    app.radio(key="integration_output").set_value("logit").run()
    assert "controls have changed" in words(app.caption)
    press(app, "Integrate")
    assert "controls have changed" not in words(app.caption)
    assert any("logit" in chart.proto.spec for chart in app.get("plotly_chart"))


def test_what_a_data_set_will_take_is_told_before_it_is_asked() -> None:
    app = linked("integration", FEW, data=DataChoice(source="embedded:sentiment", rows=2, steps="2,4"))
    app.number_input(key="integration_rows").set_value(4).run()
    (plan,) = await_plan(app)
    assert "about " in plan, "adaptive integration ends early"
    assert plan.endswith("through the model for 4 texts.")
    press(app, "Study the data set")
    assert not planned(app)


def test_a_text_equal_to_its_baseline_is_told_and_draws_no_relative_error(app: AppTest) -> None:
    enter(app, "text", "[MASK]")
    told = words([*app.error, *app.info, *app.warning])
    assert told
    assert not any("First step count within" in alt for alt in charts(app))


def test_an_empty_text_is_refused_in_words(app: AppTest) -> None:
    enter(app, "text", "  ")
    assert "The text is empty" in words(app.error)


def test_a_data_set_is_studied_and_its_texts_open_above(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('text,label\n"A dull film.",negative\n"",negative\n"A <b>lovely</b> evening.",positive\n')
    app = linked("integration", FEW, data=DataChoice(source=str(file), rows=30, steps="2,4"))
    assert len(charts(app)) == 7
    assert "1 row was left out" in words(app.warning)
    answered(app.selectbox(key="integration_opened_row").select_index(1).run())
    assert app.text_area(key="integration_text").value == "A <b>lovely</b> evening."
    assert len(charts(app)) == 7, "the data set stays"
    enter(app, "text", "Something else.")
    assert len(charts(app)) == 7
    app.radio(key="integration_output").set_value("logit").run()
    press(app, "Integrate")
    assert len(charts(app)) == 3, "its numbers were those of another output"


def test_the_cost_of_a_data_set_is_told_before_it_is_asked(app: AppTest) -> None:
    (plan,) = await_plan(app)
    answered(app.selectbox(key="integration_grid").set_value(PAPER_GRID).run())
    (other,) = await_plan(app)
    assert plan != other
    assert len(charts(app)) == 3
    answered(app.multiselect(key="integration_rules").set_value([]).run())
    assert "Give one or more of" in words(app.caption)
    press(app, "Study the data set")
    assert len(charts(app)) == 3


def test_a_seed_of_a_link_is_asked_though_no_control_shows_it() -> None:
    view = FEW.model_copy(update={"seed": 3, "baseline": "mask"})
    app = linked("integration", view)
    assert "controls have changed" not in words(app.caption)
    assert service().find(resolve(view.error_request())) is not None


def test_a_data_set_that_is_not_there_is_told() -> None:
    app = linked("integration", FEW, data=DataChoice(source="nowhere.csv", steps="2,4"))
    assert "nowhere.csv" in words(app.error)
    assert len(charts(app)) == 3


def test_a_link_reopens_the_view(app: AppTest) -> None:
    enter(app, "steps", "3,5")
    enter(app, "text", "Short and sweet.")
    link = app.query_params["r"]
    other = opened("integration", r=link)
    assert other.text_area(key="integration_text").value == "Short and sweet."
    assert other.text_input(key="integration_steps").value == "3,5"
    assert not other.error


def test_the_service_finds_what_the_page_asked(first: AppTest) -> None:
    request = Request(
        question="path_gradients",
        model="embedded:bert-mini-sst2",
        text=first.text_area(key="integration_text").value,
        parameters={"steps": "5,40"},
    )
    assert service().find(resolve(request)) is not None
