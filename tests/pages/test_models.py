"""The Models page's script, run without a browser: a model is made, told, named, offered elsewhere and deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.entries import page_of
from explainlab.app.pages.models.form import ModelsView, first_view, shows
from explainlab.errors import RequestError
from explainlab.service.service import service as app_service
from explainlab.service.store.made import own_models
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT, settings
from tests.pages.scripted import answered, charts, linked, opened, press, stored, words

TINY = {"epochs": 2, "layers": 1, "width": 16, "heads": 2, "vocabulary": 300}
MAKE = "Make the model"


def tiny(**fields) -> AppTest:
    """The page on a link to a training of a tiny model, not yet asked for."""
    return linked("models", first_view(), **{"base": "bert", "settings": TINY, "validation_share": 0.2, **fields})


def unfolded(app: AppTest, model_id: str) -> AppTest:
    """The page with the card of a model."""
    app.session_state[f"models_{model_id}"] = True
    return app.run()


@pytest.mark.usefixtures("service")
def test_the_page_opens_empty_and_makes_nothing(tmp_path: Path) -> None:
    before = stored(tmp_path)
    app = opened("models")
    assert stored(tmp_path) == before
    assert app.title[0].value == "Models"
    assert "You have made no model yet" in words(app.info)
    assert "0 of 50 models, 0 of 5,000 MB" in words(app.caption)
    assert not app.error
    linked("models", first_view(), base="bert", settings=TINY)
    assert not app_service().engine.unfinished()
    assert not own_models(LOCAL.id)


@pytest.mark.usefixtures("service")
def test_a_model_is_made_told_named_offered_and_deleted() -> None:
    app = press(tiny(), MAKE)
    assert "The model reads" in words(app.markdown)
    assert "of 48 unseen texts right" in words(app.markdown)
    assert len(charts(app)) == 2
    assert "1 of 50 models" in words(app.caption)
    (own,) = own_models(LOCAL.id)
    unfolded(app, own.id).text_input(key=f"models_name_{own.id}").set_value("films-1").run()
    assert own_models(LOCAL.id)[0].name == "films-1"
    unfolded(app, own.id).text_input(key=f"models_name_{own.id}").set_value("<b>").run()
    assert "cannot be called" in words(app.error)
    explain = opened("explain")
    assert "films-1" in explain.selectbox(key="explain_model").options
    explain = answered(explain.selectbox(key="explain_model").set_value(own.id).run())
    press(explain, "Explain")
    assert "Model: films-1" in words(explain.caption)
    press(unfolded(app, own.id), "Yes, delete this model")
    assert not own_models(LOCAL.id)
    assert "You have made no model yet" in words(app.info)
    assert "The model reads" not in words(app.markdown)
    assert not app_service().engine.unfinished()


@pytest.mark.usefixtures("service")
def test_an_adapter_is_asked_for_by_a_switch() -> None:
    app = tiny(base="embedded:bert-mini-sst2", settings={"epochs": 1, "max_tokens": 8}, recipe="progressive")
    press(app.toggle(key="models_lora").set_value(True).run(), MAKE)
    assert not app.error
    (own,) = own_models(LOCAL.id)
    assert "lora True, lora rank 16" in words(unfolded(app, own.id).markdown)
    assert app.toggle(key="models_lora").value
    random = app.radio(key="models_begin").set_value("weights").run()
    assert not [toggle for toggle in random.toggle if toggle.label == "LoRA"]
    assert not random.error


@pytest.mark.usefixtures("service")
def test_three_seeds_have_a_mean() -> None:
    app = press(tiny(seeds=3), MAKE)
    assert "The 3 models read" in words(app.markdown)
    assert app.dataframe[0].value["Seed"].tolist() == [0, 1, 2]
    assert len(own_models(LOCAL.id)) == 3


@pytest.mark.usefixtures("service")
def test_the_limit_leads_to_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    press(tiny(), MAKE)
    monkeypatch.setattr(settings(), "max_made_models", 1)
    app = press(tiny(seed=1), MAKE)
    assert "You have 1 made models" in words(app.error)
    assert "on the page Models" in words(app.error)
    assert "1 of 1 models" in words(app.caption)


@pytest.mark.usefixtures("service")
def test_where_training_is_not_allowed_the_page_says_who_can_allow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "allow_anyone", True)
    app = opened("models")
    assert "EXPLAINLAB_ALLOW_TRAINING" in words(app.info)
    assert MAKE not in [button.label for button in app.button]


@pytest.mark.usefixtures("service")
def test_what_cannot_be_made_is_told() -> None:
    app = opened("models")
    app.text_input(key="models_others").set_value("layers=0").run()
    assert "layers" in words(app.error)
    with pytest.raises(RequestError, match="No data set is chosen"):
        first_view().model_copy(update={"source": ""}).request()


def test_a_run_opens_its_training() -> None:
    view = ModelsView(
        base="embedded:bert-mini-sst2",
        source="films.csv",
        columns={"text": "review"},
        recipe="roar",
        validation_share=0.25,
        test_data="test.csv",
        seed=3,
        seeds=2,
        settings={"epochs": 3, "label_names": ["bad", "good"], "prompt": "Film, a=b: {text}"},
    )
    page = page_of(view.request())
    assert page.entry.title == "Models"
    assert page.view == view
    assert shows(view.request()) == view
    with pytest.raises(RequestError, match="cannot be chosen"):
        view.model_copy(update={"settings": {"layers": 2}}).request()


@pytest.mark.usefixtures("service")
def test_a_data_set_travels_here_and_nothing_is_made_by_itself() -> None:
    app = opened("errors")
    app.selectbox(key="errors_model").set_value("embedded:gpt2-mini-ag-news").run()
    app.switch_page(str(ROOT / "pages" / "models.py"))
    app.query_params.clear()
    app.run()
    assert app.selectbox(key="models_data").value == "embedded:news"
    assert app.selectbox(key="models_base").value == "embedded:bert-mini-sst2"
    assert not app.error
    assert not any(job.request.question == "training" for job in app_service().engine.unfinished())
