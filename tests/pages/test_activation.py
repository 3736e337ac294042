"""The Activation page's script, run without a browser: the first view, bad input, encoders, the data set, links."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.pages.activation.form import ActivationView, DataChoice, first_view
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from tests.pages.scripted import answered, await_plan, charts, following, linked, opened, press, words

SENTIMENT = "embedded:bert-mini-sst2"


@pytest.fixture(scope="module")
def first() -> AppTest:
    """Return the page as it opens; tests must not change it."""
    return opened("activation")


@pytest.fixture
def app() -> AppTest:
    """Return a new page that the test may change."""
    return opened("activation")


def test_the_page_opens_with_curves_a_table_and_what_the_decoder_believes(first: AppTest) -> None:
    assert first.title[0].value == "Activation"
    assert not first.error
    drawn = charts(first)
    assert len(drawn) == 3
    assert all(drawn)
    assert "as features are revealed" in drawn[0]
    assert "believes after every feature" in drawn[1]
    assert "(SP-PI)" in drawn[2]
    body = service().find(resolve(first_view().text_request())).body
    table = first.dataframe[0].value
    assert table["Method"].tolist() == [one.label for one in body.methods]
    assert table["AS AUC ↑"].tolist() == [c.auc for c in body.curves if c.direction == "activation"]
    assert table["IAS AUC ↓"].tolist() == [c.auc for c in body.curves if c.direction == "inverse_activation"]
    assert table["Flip"].tolist() == [c.flip for c in body.curves if c.direction == "activation"]
    assert table["Passes"].tolist() == [22, 2, 1]
    assert table["Cost"].tolist() == [21, 1, 0]
    assert "by the trapezoid rule" in words(first.markdown), "definitions are there"
    assert first.query_params["r"]


def test_an_encoder_is_told_why_it_has_no_predictions_half_way() -> None:
    app = linked("activation", first_view(), model=SENTIMENT, text="Funny, warm and never dull.")
    assert len(charts(app)) == 1
    assert "it is not a causal decoder" in words(app.info)
    assert "BERT" in words(app.info)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"methods": ()}, "one or more methods"),
        ({"methods": ("oclusion",)}, "occlusion"),
        ({"methods": ("kernel_shap:samples=many",)}, "samples"),
        ({"methods": ("sp_pi",), "model": SENTIMENT}, "not a causal decoder"),
        ({"text": "  "}, "The text is empty"),
        ({"baseline": "unk"}, "unk"),
        ({"data": DataChoice(source="nowhere.csv")}, "nowhere.csv"),
    ],
    ids=str,
)
def test_a_bad_question_is_refused_in_words(fields: dict, told: str) -> None:
    app = linked("activation", first_view(), **fields)
    assert told in words([*app.error, *app.warning])


def test_what_is_shown_is_of_the_model_shown_not_of_the_one_chosen(app: AppTest) -> None:
    app.selectbox(key="activation_model").set_value(SENTIMENT).run()
    assert "controls have changed" in words(app.caption)
    assert len(charts(app)) == 3
    assert "causal decoder" not in words(app.info)


def test_a_text_of_one_word_has_an_answer() -> None:
    app = linked("activation", first_view(), text="Goal")
    assert not app.error
    assert len(charts(app)) == 3
    assert "1 word ·" in words(app.markdown)


def test_changed_controls_say_so_until_they_are_asked(app: AppTest) -> None:
    app.radio(key="activation_unit").set_value("sentence").run()
    assert "controls have changed" in words(app.caption)
    press(app, "Reveal")
    assert "controls have changed" not in words(app.caption)
    assert "1 sentence ·" in words(app.markdown)


def test_the_cost_of_a_data_set_is_told_before_it_is_asked(app: AppTest) -> None:
    (plan,) = await_plan(app)
    assert plan.endswith("for 20 texts.")
    app.selectbox(key="activation_reference").set_value("kernel_shap:samples=16n").run()
    (with_reference,) = await_plan(app)
    assert with_reference != plan
    assert len(charts(app)) == 3, "nothing is asked yet"


def test_a_data_set_is_studied_and_its_texts_open_above(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('text,label\n"A dull film.",Sports\n"",World\n"A <b>lovely</b> evening.",World\n')
    data = DataChoice(source=str(file), reference="kernel_shap:samples=16n")
    app = linked("activation", first_view(), data=data)
    assert len(charts(app)) == 8
    assert all(charts(app))
    assert "1 row was left out" in words(app.warning)
    body = service().find(resolve(ActivationView(**{**first_view().model_dump(), "data": data}).data_request())).body
    table = app.dataframe[1].value
    for way, column in (("activation", "AS AUC ↑"), ("inverse_activation", "IAS AUC ↓")):
        assert table[column].tolist() == [row.area(way).mean for row in body.rows]
        low = body.rows[0].area(way).low
        assert table[f"{column.split()[0]} interval"][0].startswith(f"{low:.3f} to ")
    assert table["Cost"].tolist() == [row.relative for row in body.rows]
    answered(app.selectbox(key="activation_opened_row").select_index(1).run())
    assert app.text_area(key="activation_text").value == "A <b>lovely</b> evening."
    assert len(charts(app)) == 8, "the data set stays"


def test_a_link_reopens_the_view(app: AppTest) -> None:
    following(
        app, first_view(), text="Short and sweet.", unit="token", methods=("kernel_shap:samples=4n",), baseline="pad"
    )
    other = opened("activation", r=app.query_params["r"])
    assert other.text_area(key="activation_text").value == "Short and sweet."
    assert other.radio(key="activation_unit").value == "token"
    assert other.multiselect(key="activation_methods").value == ["kernel_shap:samples=4n"]
    assert other.selectbox(key="activation_baseline").value == "pad"
    assert other.dataframe[0].value["Method"].tolist() == ["KernelSHAP, 4n samples", "Random"]
