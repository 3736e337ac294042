"""The model's beliefs on the way, on the Explain page without a browser: request, answer, attribution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.pages.explain.form import Choice, View
from explainlab.app.pages.explain.sections import ASK_BELIEFS
from explainlab.app.sections import beliefs_request
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.settings import ROOT
from tests.conftest import ASKED
from tests.pages.scripted import SECONDS, charts
from tests.pages.test_explain import answered, opened

NEWS = "embedded:gpt2-mini-ag-news"


def asked(model: str, text: str, unit: str = "token") -> AppTest:
    """Return the page with its maps of ``text``, by a link."""
    view = View(model=model, text=text, unit=unit, methods=(Choice(method="gradient"),))
    app = opened()
    app.query_params["r"] = service().store.save_view(view.model_dump(mode="json"))
    return answered(app.run())


def unfolded(app: AppTest) -> AppTest:
    app.session_state["explain_beliefs"] = True
    return answered(app.run())


def drawn(app: AppTest) -> bool:
    """Return True if the map is on the page."""
    return any(element.proto.id.endswith("beliefs_map") for element in app.get("bidi_component"))


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def warnings(app: AppTest) -> str:
    return " ".join(warning.value for warning in app.warning)


@pytest.mark.parametrize("unit", ["token", "word"])
def test_a_decoder_is_asked_when_the_heading_is_unfolded(unit: str) -> None:
    text = f"Oil prices rose on Monday, one {unit} at a time."
    app = asked(NEWS, text, unit)
    request = beliefs_request(Request(model=NEWS, text=text, question="gradient", unit=unit))
    assert ASK_BELIEFS in [expander.label for expander in app.expander]
    assert service().find(resolve(request)) is None
    assert not drawn(app)
    unfolded(app)
    assert drawn(app)
    assert f"asked after every {unit}" in captions(app)
    assert not app.warning
    assert service().find(resolve(request)).body.positions


def test_output_and_seed_make_no_other_question() -> None:
    request = Request(model=NEWS, text="Oil.", question="gradient")
    other = request.model_copy(update={"output": "logit", "seed": 7, "question": "occlusion", "parameters": {"a": 1}})
    assert beliefs_request(request) == beliefs_request(other)
    assert beliefs_request(request) != beliefs_request(request.model_copy(update={"unit": "word"}))


def test_an_encoder_says_why_not() -> None:
    app = asked("embedded:bert-mini-sst2", "A good film.")
    assert ASK_BELIEFS not in [expander.label for expander in app.expander]
    assert f"{ASK_BELIEFS}: this BERT model cannot tell" in captions(app)


def test_a_prompt_is_told_to_ask_at_its_end(speaker_path: Callable[[str], Path]) -> None:
    app = unfolded(asked(f"completion:{ASKED.name}:{speaker_path('gpt2')}", "a good film"))
    assert drawn(app)
    assert "how likely each label word would be next" in captions(app)
    assert "only at its end" in warnings(app)


def test_a_view_that_moves_on_forgets_the_question() -> None:
    app = unfolded(asked(NEWS, "The team won the final."))
    assert drawn(app)
    assert app.session_state["explain.beliefs.place"].view.requests()
    answered(app.text_area(key="explain_text").set_value("The team lost the final.").run())
    assert not drawn(app)
    assert not app.session_state["explain.beliefs.place"].view.requests()


def test_the_comparison_with_masked_texts_is_part_of_the_link() -> None:
    text = "Oil fell on Monday."
    app = unfolded(asked(NEWS, text))
    folded = app.query_params["r"]
    answered(app.toggle(key="explain_masked").set_value(True).run())
    request = beliefs_request(Request(model=NEWS, text=text, question="gradient"), masked=True)
    assert all(position.masked for position in service().find(resolve(request)).body.positions)
    link = app.query_params["r"]
    assert link != folded
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    again.query_params["r"] = link
    answered(again.run())
    assert again.toggle(key="explain_masked").value, "the section is unfolded, and the toggle on"
    assert drawn(again)
    assert any("rest masked" in alt for alt in charts(again))
    assert again.query_params["r"] == link
    answered(again.toggle(key="explain_masked").set_value(False).run())
    assert again.query_params["r"] != link
