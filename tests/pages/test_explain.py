"""The Explain page's script, run without a browser: the first view, forms from declarations, checks on the server."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.pages.explain.form import Choice, View, first_view, trust_request
from explainlab.app.pages.explain.sections import ASK_TRUST
from explainlab.app.text import plain
from explainlab.attribution.registry import complete, get_method
from explainlab.models.loading import load_model
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.service.store.runs import Filters
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT, settings
from tests.pages.scripted import await_plan, linked, planned, until_a_job_ends

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
        until_a_job_ends()
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
    words = f"{first.metric[0].value.capitalize()} ("
    assert any(markdown.value.startswith(f"**{plain(words)}") for markdown in first.markdown)
    assert [header.value for header in first.header] == ["Scores", "Agreement", "Which map to trust", "Download"]
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


def test_a_text_that_the_model_cannot_read_is_told_once_beside_the_prediction(app: AppTest) -> None:
    app.text_area(key="explain_text").set_value("هذا الفيلم جميل جدا وقصته ممتعة للغاية.").run()
    answered(app)
    assert sum("The model cannot read this text" in warning.value for warning in app.warning) == 1


def test_changed_controls_say_so_until_they_are_asked(app: AppTest) -> None:
    app.number_input(key="explain_integrated_gradients_steps").set_value(7).run()
    assert any("controls have changed" in caption.value for caption in app.caption)
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    assert not any("controls have changed" in caption.value for caption in app.caption)


def test_what_changed_controls_will_take_is_told_beside_the_button_until_they_are_asked(app: AppTest) -> None:
    assert not planned(app), "what is there needs no plan"
    app.multiselect(key="explain_methods").set_value(["occlusion"]).run()
    app.selectbox(key="explain_occlusion_baseline").set_value("zero").run()
    (plan,) = await_plan(app)
    tokens = len(load_model(first_view().model).encode(first_view().text)) - 2
    assert re.fullmatch(rf"Takes (under 1 s: |about \d+ s: )?{tokens + 1} passes through the model\.", plan), plan
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    assert not planned(app)


def test_a_baseline_chosen_from_the_examples_is_told(app: AppTest) -> None:
    app.multiselect(key="explain_methods").set_value(["occlusion"]).run()
    app.selectbox(key="explain_occlusion_baseline").set_value("max_entropy").run()
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    told = [caption.value.replace("\\", "") for caption in app.caption]
    assert any("Baseline: row" in line and "of embedded:" in line for line in told)
    assert not any("baseline data" in line for line in told), "left empty, so not told"
    assert "baseline_data" not in reproduced(app)


def test_every_map_says_what_it_explains_and_the_reader_may_choose_for_all(app: AppTest) -> None:
    def explained() -> list[str]:
        drawn = [one.proto for one in app.get("bidi_component") if one.proto.component_name == "token_heatmap"]
        return [json.loads(proto.json)["explained"] for proto in drawn]

    assert app.selectbox(key="explain_output").value == "own"
    app.multiselect(key="explain_methods").set_value(["occlusion", "lrp"]).run()
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    assert explained() == ["explains the probability of positive", "explains the logit of positive"]
    app.selectbox(key="explain_output").set_value("logit").run()
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    assert explained() == ["explains the logit of positive"] * 2
    app.session_state["reproduce"] = True
    assert "--output logit" in app.run().code[1].value


# Can I trust this map? -----------------------------------------------------------------------------------------------


def words(app: AppTest) -> str:
    """All that the page says in Markdown, as a reader sees it."""
    return " ".join(element.value for element in app.markdown).replace("\\", "")


def ask_about(app: AppTest, text: str) -> AppTest:
    return app.text_area(key="explain_text").set_value(text).run()


def trust(app: AppTest, method: str) -> AppTest:
    """Press the button under a map."""
    return app.button(key=f"trust_{method}").click().run()


def test_nothing_is_judged_before_it_is_asked(app: AppTest) -> None:
    answered(ask_about(app, "Nobody has asked about this one yet, and nobody will."))
    assert [button.label for button in app.button].count(ASK_TRUST) == 2
    asked = [trust_request(request) for request in first_view().model_copy(update={"text": shown(app)}).requests()]
    assert [service().job(resolve(one)) or service().find(resolve(one)) for one in asked] == [None, None]


def shown(app: AppTest) -> str:
    return app.text_area(key="explain_text").value


def test_a_map_is_held_against_random_ones_when_asked_and_shown_at_once_later(app: AppTest) -> None:
    answered(trust(app, "kernel_shap"))
    for deed in ("Remove its top 20%", "Keep only its top 20%"):
        assert deed in words(app)
    for told in ("Comprehensiveness (RPI)", "Sufficiency (RPI)", "of 100 random maps."):
        assert told in words(app)
    assert sum("5–95%" in caption.value for caption in app.caption) == 2
    assert [button.label for button in app.button].count(ASK_TRUST) == 1
    app.session_state["trust_texts_kernel_shap"] = True
    (table,) = [table.value.set_index("By") for table in app.run().table if "By" in table.value]
    assert len(table.columns) == 2
    assert all("CLS" in text for text in table.loc["What is left"])
    again = answered(opened())
    assert "Remove its top 20%" in words(again)
    assert [button.label for button in again.button].count(ASK_TRUST) == 1


def test_a_map_that_cost_more_is_compared_by_itself(app: AppTest) -> None:
    subject = "A film that cost more than it is worth"
    ask_about(app, f"{subject}, and its map as well.")
    app.selectbox(key="explain_integrated_gradients_rule").set_value("midpoint").run()
    app.number_input(key="explain_integrated_gradients_steps").set_value(150).run()
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    assert "Remove its top 20%" in words(app)
    assert [button.label for button in app.button].count(ASK_TRUST) == 1, "under KernelSHAP's, which takes fewer passes"
    assert "Without its top 3 tokens it " in words(app), "and the answer says what came of it"
    assert service().runs(LOCAL, Filters(words=subject, question="trust")).total == 0, "nobody pressed"
    next(button for button in app.button if button.label == "Compare with random maps").click().run()
    answered(app)
    assert service().runs(LOCAL, Filters(words=subject, question="trust")).total == 1
    assert ASK_TRUST not in [button.label for button in app.button]
    assert any(chart.proto.alt.startswith("Random maps that do worse") for chart in app.get("plotly_chart"))


def test_three_maps_agree_in_a_matrix_with_the_pairs_behind_it(app: AppTest) -> None:
    app.multiselect(key="explain_methods").set_value(["occlusion", "input_x_gradient", "attention_last"]).run()
    next(button for button in app.button if button.label == "Explain").click().run()
    answered(app)
    alts = [chart.proto.alt for chart in app.get("plotly_chart")]
    assert any(alt.startswith("How far the maps agree") for alt in alts)
    assert any(alt.startswith("Scores by Occlusion") for alt in alts), "occlusion promises no sum"
    assert not app.table
    app.session_state["pairs"] = True
    assert len(app.run().table[0].value) == 3


def test_a_text_too_short_is_told_so(app: AppTest) -> None:
    answered(ask_about(app, "Good <b"))
    answered(trust(app, "kernel_shap"))
    assert "too short to tell" in words(app)
    assert "20% of its 3 tokens is not one whole token" in words(app)
    assert "Comprehensiveness (RPI) and Sufficiency (RPI)" in words(app)


def test_a_view_that_moves_on_gives_the_question_up(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_urgent_seconds", 10**6)
    text = "The film is long, and the queue before this question is longer."
    answered(ask_about(app, text))
    steps = {"rule": "midpoint", "steps": 10_000}
    endless = complete(
        Request(model=first_view().model, text=" ".join([text] * 9), question="integrated_gradients", parameters=steps)
    )
    service().submit(resolve(endless))
    trust(app, "integrated_gradients")
    asked = trust_request(first_view().model_copy(update={"text": text}).requests()[0])
    assert service().job(resolve(asked)).progress.status == "queued"
    ask_about(app, "Another text.")
    assert service().job(resolve(asked)).progress.status == "cancelled"
    service().cancel(service().job(resolve(endless)).key)
    answered(app)
    answered(ask_about(app, text))
    assert [button.label for button in app.button].count(ASK_TRUST) == 2


def test_a_page_run_without_the_app_says_how_to_start_it() -> None:
    page = AppTest.from_file(str(ROOT / "pages" / "explain.py"), default_timeout=SECONDS).run()
    assert "streamlit run app.py" in page.error[0].value
    assert not page.title


def test_a_preset_brings_the_parameters_that_hang_on_it(app: AppTest) -> None:
    app.multiselect(key="explain_methods").set_value(["rpi"]).run()
    app.selectbox(key="explain_rpi_preset").set_value("reference").run()
    assert app.text_input(key="explain_rpi_layers").value == "-3"
    assert app.number_input(key="explain_rpi_samples").value == 24
    app.selectbox(key="explain_rpi_preset").set_value("paper").run()
    assert app.text_input(key="explain_rpi_layers").value == "last"


def test_two_settings_of_one_method_have_a_map_each() -> None:
    view = first_view().with_shared_inputs({"methods": ("gradient", "gradient:norm=signed_sum")})
    app = answered(linked("explain", view))
    assert app.multiselect(key="explain_methods").value == ["gradient", "gradient:norm=signed_sum"]
    drawn = [component.proto for component in app.get("bidi_component")]
    maps = [json.loads(proto.json) for proto in drawn if proto.component_name == "token_heatmap"]
    assert [one["method"] for one in maps] == ["Gradient", "Gradient, norm signed_sum"]
    assert len(app.selectbox(key="explain_pictured").options) == 2


def test_an_unknown_model_gets_the_nearest_names_and_the_text_stays() -> None:
    view = first_view().model_copy(update={"model": "embedded:bert-mini-sst", "text": "A fine film."})
    app = answered(linked("explain", view))
    (problem,) = {error.value.replace("\\", "").replace("\u2060", "") for error in app.error}
    assert "Did you mean embedded:bert-mini-sst2" in problem
    assert app.text_area(key="explain_text").value == "A fine film."


def test_a_method_that_the_model_cannot_run_leaves_the_others_alone(zoo_path: Callable[[str], Path]) -> None:
    choices = (Choice(method="attention_rollout"), Choice(method="occlusion"))
    asked = View(model=str(zoo_path("t5")), text="a good film", methods=choices)
    app = answered(linked("explain", asked))
    assert any("Attention rollout cannot run on a" in shown.value for shown in (*app.error, *app.warning, *app.info))
    assert [one.proto.component_name for one in app.get("bidi_component")].count("token_heatmap") == 1
