"""The popover Prompt on every page that has a model, run without a browser: started, checked, saved, used, refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app import session
from explainlab.app.pages.activation import form as activation_view
from explainlab.app.pages.candidates import form as candidates_view
from explainlab.app.pages.explain import form as explain_view
from explainlab.app.pages.integration import form as integration_view
from explainlab.models.prompting import read_template, save_template, template_ids
from explainlab.service.service import service
from explainlab.service.templates import own_id, readable_templates
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings
from tests.conftest import ASKED
from tests.pages import scripted
from tests.pages.scripted import answered

ANN, BOB = User("oidc#ann", "Ann"), User("oidc#bob", "Bob")
CHEAP = {
    "explain": explain_view.first_view().model_copy(update={"methods": (explain_view.Choice(method="gradient"),)}),
    "integration": integration_view.first_view().model_copy(update={"steps": "2,3", "compare": (2, 3)}),
    "activation": activation_view.first_view().model_copy(update={"methods": ("occlusion",)}),
    "candidates": candidates_view.first_view().model_copy(update={"samples": 2, "steps": 2}),
}
"""The first view of every page."""


@pytest.fixture
def speaker(speaker_path: Callable[[str], Path]) -> str:
    return str(speaker_path("gpt2"))


def opened(where: str = "explain", user: User = LOCAL) -> AppTest:
    short = CHEAP[where].model_copy(update={"text": "a good film"})
    app = scripted.opened(where, r=service().save_view(short.model_dump(mode="json"), user))
    app.session_state[f"{where}_prompt"] = True  # the popover is open
    return answered(app.run())


def field(elements, label: str):
    return next(element for element in elements if element.label == label)


def started(app: AppTest, template: str, model: str) -> AppTest:
    field(app.selectbox, "Start from").set_value(template).run()
    return field(app.text_input, "Language model").set_value(model).run()


def press(app: AppTest, label: str) -> AppTest:
    return field(app.button, label).click().run()


def words(elements) -> str:
    """Return the visible words of these elements."""
    return " ".join(element.value for element in elements).replace("\\", "")


def model_of(app: AppTest, where: str = "explain") -> str:
    return app.session_state[f"{where}_model"]


@pytest.mark.parametrize("where", CHEAP)
def test_a_template_is_used_on_every_page(where: str, speaker: str) -> None:
    app = opened(where)
    press(started(app, ASKED.name, speaker), "Save and use")
    assert model_of(app, where) == f"completion:{ASKED.name}:{speaker}"
    answered(app)
    assert "are in use" in words(app.caption)
    assert not app.error
    assert field(app.selectbox, "Target").options == ["predicted", *ASKED.labels]
    assert field(app.selectbox, "Start from").value == ASKED.name
    assert field(app.text_input, "Language model").value == speaker
    assert read_template(ASKED.name) == ASKED


def test_what_the_label_words_hold_is_told_beside_the_prediction(speaker: str) -> None:
    app = opened()
    press(started(app, ASKED.name, speaker), "Save and use")
    press(app, "Explain")
    answered(app)
    assert "Label words: **less than 0.1% of the next token**" in words(app.caption) or (
        "of the next token** · 3 tokens, and" in words(app.caption)
    )
    told = [warning.value for warning in app.warning]
    assert sum("The label words together hold" in warning for warning in told) == 1


def test_an_edited_template_is_checked_and_saved_under_a_name(speaker: str) -> None:
    app = started(opened(), ASKED.name, speaker)
    field(app.text_area, "Instruction").set_value("<b>Hark!</b>\n").run()
    field(app.text_input, "Separator").set_value(r"\n--\n").run()
    field(app.text_input, "Name").set_value("hark").run()
    press(app, "Check")
    assert "Every word is one token" in words(app.success)
    table = app.table[0].value
    assert table["Label"].tolist() == list(ASKED.labels)
    assert [token.replace("\\", "") for token in table["Token"]] == list(ASKED.labels.values())
    assert app.code[0].value == "<b>Hark!</b>\nfilm: the plot is\nso:N\n--\nfilm: {text}\nso:"
    assert "hark" not in template_ids()
    press(app, "Save and use")
    assert model_of(app) == f"completion:hark:{speaker}"
    changes = {"name": "hark", "instruction": "<b>Hark!</b>\n", "separator": "\n--\n"}
    assert read_template("hark") == ASKED.model_copy(update=changes)


def test_what_cannot_be_saved_or_used_is_told_and_changes_nothing(speaker: str) -> None:
    app = opened()
    before = model_of(app)
    press(started(app, "sst2", ""), "Check")
    assert "No language model is chosen" in words(app.error)
    for model, told in ((speaker, "takes"), ("../nowhere", "There is no model"), ("embedded:bert-mini-sst2", "not a")):
        press(started(app, "sst2", model), "Save and use")
        assert told in words(app.error)
    started(app, ASKED.name, speaker)
    field(app.text_input, "Name").set_value("sst2").run()
    press(app, "Save and use")
    assert "There is a template 'sst2' already" in words(app.error)
    field(app.text_area, "Text pattern").set_value("no place").run()
    assert "no place for the text" in words(app.error)
    assert not [button for button in app.button if button.label == "Save and use"]
    assert model_of(app) == before


def test_an_own_template_is_private_until_shared_and_is_deleted(
    speaker: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    monkeypatch.setattr(session, "user", lambda: ANN)
    save_template(ASKED)
    app = started(opened(user=ANN), ASKED.name, speaker)
    assert not [button for button in app.button if button.label.startswith("Delete")], "everybody's"
    field(app.text_input, "Name").set_value("mine").run()
    press(app, "Save and use")
    mine = own_id("mine", ANN)
    assert model_of(app) == f"completion:{mine}:{speaker}"
    answered(app.run())
    assert mine not in readable_templates(BOB.id)
    field(app.toggle, "Everyone here may use it").set_value(True).run()
    assert readable_templates(BOB.id)[mine] == "mine (shared by Ann)"
    monkeypatch.setattr(session, "user", lambda: BOB)
    other = started(opened(user=BOB), mine, speaker)
    assert "mine (shared by Ann)" in field(other.selectbox, "Start from").options
    assert not [button for button in other.button if button.label.startswith("Delete")]
    monkeypatch.setattr(session, "user", lambda: ANN)
    press(app, "Delete 'mine'")
    assert not app.exception
    assert mine not in readable_templates(ANN.id)


def test_a_preset_stays_as_it_is(speaker: str) -> None:
    app = started(opened(), "emotion", speaker)
    field(app.text_area, "Instruction").set_value("").run()
    press(app, "Save and use")
    assert "in use" not in words(app.caption)
    preset = read_template("emotion")
    assert preset.instruction
    assert model_of(app).startswith("embedded:")
