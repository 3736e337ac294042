"""The Candidates page's script, run without a browser: the first view, picks, bad input, the data set, links."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.analyses.registry import complete
from explainlab.app.pages.candidates.form import DataChoice, first_view
from explainlab.models.model_types import MODEL_TYPES
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.service.store.runs import Filters
from explainlab.service.users import LOCAL
from tests.pages.scripted import answered, await_plan, charts, linked, opened, press, words

CHEAP = first_view().model_copy(
    update={"text": "Funny, warm and never dull, though it is long.", "samples": 3, "steps": 2}
)


@pytest.fixture(scope="module")
def first() -> AppTest:
    """Return the page as it opens; tests must not change it."""
    return opened("candidates")


@pytest.fixture
def app() -> AppTest:
    """Return a new page that the test may change."""
    return opened("candidates")


def test_the_page_opens_with_an_answer_and_calls_the_oracle_one(first: AppTest) -> None:
    assert first.title[0].value == "Candidates"
    assert not first.error
    assert len(charts(first)) == 3
    assert all(charts(first))
    assert "is an oracle" in words(first.warning)
    assert len(first.dataframe[0].value) == 8
    assert "8 candidates" in words(first.markdown)
    assert "p(x without its top k%)" in words(first.markdown), "definitions are there"
    assert first.query_params["r"]


def test_the_table_is_sorted_by_the_chosen_metric_and_its_best_is_open(app: AppTest) -> None:
    for metric, best in (("sufficiency", min), ("comprehensiveness", max)):
        answered(app.selectbox(key="candidates_sort").set_value(metric).run())
        table = app.dataframe[0].value
        assert table[metric].iloc[0] == best(table[metric])
        assert f"Map {table['candidate'].iloc[0]}:" in words(app.markdown)


def test_layers_are_held_against_each_other_where_there_are_several() -> None:
    app = linked("candidates", CHEAP, layers="all", samples=4)
    assert any("by layers" in alt for alt in charts(app))
    assert len(app.dataframe[0].value) == 16
    assert app.selectbox(key="candidates_dozen").options == ["1 to 12", "13 to 16"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"layers": "9"}, "no layer 9"), ({"layers": "zero"}, "layers"), ({"metrics": ("log_odd",)}, "log_odds")],
    ids=str,
)
def test_a_bad_question_is_refused_in_words(fields: dict, told: str) -> None:
    app = linked("candidates", CHEAP, **fields)
    assert told in words([*app.error, *app.warning])


def test_without_metrics_the_page_says_so_and_keeps_its_answer(app: AppTest) -> None:
    answered(app.multiselect(key="candidates_metrics").set_value([]).run())
    assert "one or more metrics" in words(app.error)
    assert len(charts(app)) == 3


def test_changed_controls_say_so_until_they_are_asked(app: AppTest) -> None:
    app.number_input(key="candidates_samples").set_value(2).run()
    assert "controls have changed" in words(app.caption)
    press(app, "Draw candidates")
    assert "controls have changed" not in words(app.caption)
    assert len(app.dataframe[0].value) == 2


def test_methods_without_layers_are_asked_for_none() -> None:
    app = linked("candidates", CHEAP, family="rpi_ig", layers="2", metrics=("comprehensiveness",))
    assert not app.error
    assert len(app.dataframe[0].value) == 3


def test_a_seed_of_a_link_is_asked_though_no_control_shows_it() -> None:
    app = linked("candidates", CHEAP, seed=3)
    assert "controls have changed" not in words(app.caption)
    body = service().find(resolve(CHEAP.model_copy(update={"seed": 3}).text_request())).body
    assert app.dataframe[0].value["timestep"].tolist() == [
        body.candidates[i].timestep for i in app.dataframe[0].value["candidate"]
    ]


def test_the_row_of_the_open_map_is_ticked() -> None:
    app = linked("candidates", CHEAP, picked=2)
    (row,) = app.session_state["candidates_table_comprehensiveness"]["selection"]["rows"]
    assert app.dataframe[0].value["candidate"][row] == 2


def test_the_cost_of_a_data_set_is_told_once() -> None:
    (plan,) = await_plan(linked("candidates", CHEAP))
    assert plan.endswith("texts.")


def test_what_was_unfolded_is_no_run() -> None:
    before = service().runs(LOCAL, Filters()).total
    app = linked("candidates", CHEAP, samples=4, picked=1, seed=5)
    app.session_state["candidates_texts"] = True
    answered(app.run())
    assert "tokens can be removed" in words(app.caption)
    assert service().runs(LOCAL, Filters()).total == before


def test_the_texts_behind_the_open_map_are_made_on_request() -> None:
    app = linked("candidates", CHEAP, picked=1)
    assert "Map 1:" in words(app.markdown)
    request = CHEAP.model_copy(update={"picked": 1})
    body = service().find(resolve(request.text_request())).body
    behind = request.metric_result(body, 1)
    assert service().find(resolve(behind)) is None
    values = {metric.key: metric.value for metric in service().run(resolve(behind)).body.metrics}
    assert values == pytest.approx(body.candidates[1].metrics, abs=1e-6)


def test_a_data_set_is_studied_and_its_texts_open_above(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('text,label\n"A dull film.",negative\n"",negative\n"A <b>lovely</b> evening.",positive\n')
    app = linked("candidates", CHEAP, data=DataChoice(source=str(file)))
    assert len(charts(app)) == 6
    assert "1 row was left out" in words(app.warning)
    answered(app.selectbox(key="candidates_opened_row").select_index(1).run())
    assert app.text_area(key="candidates_text").value == "A <b>lovely</b> evening."
    assert len(charts(app)) == 6, "the data set stays"


def test_a_link_reopens_the_view() -> None:
    app = linked("candidates", CHEAP, sort="log_odds", picked=2, scale="each", samples=4)
    other = opened("candidates", r=app.query_params["r"])
    assert other.text_area(key="candidates_text").value == CHEAP.text
    assert other.number_input(key="candidates_samples").value == 4
    assert other.selectbox(key="candidates_sort").value == "log_odds"
    assert "Map 2:" in words(other.markdown)


def test_a_preset_brings_its_layers_and_its_output(app: AppTest) -> None:
    app.selectbox(key="candidates_preset").set_value("reference").run()
    assert app.text_input(key="candidates_layers").value == "-3"
    assert app.radio(key="candidates_output").value == "logit"
    app.selectbox(key="candidates_preset").set_value("paper").run()
    assert app.text_input(key="candidates_layers").value == "last"
    assert app.radio(key="candidates_output").value == "probability"


def test_other_methods_are_asked_once_they_are_unfolded() -> None:
    view = CHEAP.model_copy(update={"samples": 2, "text": "Funny and warm."})
    app = linked("candidates", view)
    request = view.ablation(None, of_data=False)
    assert not any("equal budgets" in alt for alt in charts(app))
    app.session_state["candidates_one_ablation"] = True
    answered(app.run())
    assert any("equal budgets" in alt for alt in charts(app))
    maps = {method.method: method.maps for method in service().find(resolve(complete(request))).body.methods}
    assert (maps["rpi_ig"], maps["integrated_gradients"], maps["random"]) == (2, 1, 2)


def test_what_a_model_cannot_be_asked_is_left_out() -> None:
    asked = first_view().ablation(MODEL_TYPES["deberta-v2"].architecture, of_data=False)
    assert "rpi_ig" in asked.parameters["methods"]
    assert "rpi" not in asked.parameters["methods"]
