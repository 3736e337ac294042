"""One question on all pages, run without a browser: what travels with a reader, and that nothing computes by itself."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app.page import views_elsewhere
from explainlab.app.pages.activation.form import first_view as activation_view
from explainlab.app.pages.explain.form import trust_request
from explainlab.app.pages.integration.form import first_view
from explainlab.service.resolved import resolve
from explainlab.service.service import service
from explainlab.service.store.runs import Filters
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT
from tests.pages.scripted import answered, await_page, charts, link_of, linked, opened, press, words

TEXT = "Nobody has asked about this quiet film yet."
NEWS = "embedded:gpt2-mini-ag-news"


@pytest.fixture
def explain() -> AppTest:
    """Return the Explain page after a reader's own question."""
    app = opened("explain")
    app.multiselect(key="explain_methods").set_value(["gradient"]).run()
    return answered(app.text_area(key="explain_text").set_value(TEXT).run())


def visit(app: AppTest, page: str, **query: str) -> AppTest:
    """Return another page of the same session, as a press in the navigation opens it."""
    app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    app.query_params.clear()
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def is_computing() -> bool:
    return bool(service().engine.unfinished())


@pytest.mark.parametrize(
    ("page", "button"), [("integration", "Integrate"), ("candidates", "Draw candidates"), ("activation", "Reveal")]
)
def test_the_question_is_there_on_the_next_page_and_waits_for_its_button(
    explain: AppTest, page: str, button: str
) -> None:
    explain.selectbox(key="explain_target").set_value("negative").run()
    explain.radio(key="explain_unit").set_value("word").run()
    before = service().runs(LOCAL, Filters()).total
    app = visit(explain, page)
    assert app.text_area(key=f"{page}_text").value == TEXT
    assert app.selectbox(key=f"{page}_target").value == "negative"
    assert app.radio(key=f"{page}_unit").value == "word"
    assert f"press **{button}** to compute here" in words(app.info)
    assert not charts(app)
    assert not is_computing()
    assert service().runs(LOCAL, Filters()).total == before
    assert "r" not in app.query_params


def test_sections_ask_nothing_either_while_the_page_waits(explain: AppTest) -> None:
    explain.selectbox(key="explain_model").set_value(NEWS).run()
    press(explain, "Explain")
    view = activation_view().model_copy(update={"model": NEWS, "text": TEXT, "unit": "token"})
    service().run(resolve(view.text_request()))
    app = visit(explain, "activation")
    assert app.text_area(key="activation_text").value == TEXT
    assert len(charts(app)) == 1, "the curves are stored, what the model believed is not"
    assert not is_computing()


def test_a_question_that_waits_is_asked_by_its_button(explain: AppTest) -> None:
    app = visit(explain, "activation")
    answered(app.multiselect(key="activation_methods").set_value(["occlusion"]).run())
    assert not charts(app)
    press(app, "Reveal")
    assert charts(app)
    assert "to compute here" not in words(app.info)
    assert app.query_params["r"]
    again = visit(visit(app, "explain"), "activation")
    assert charts(again), "the same question: its answer is still there"


def test_a_question_that_waits_is_not_compared_with_random_maps_either(explain: AppTest) -> None:
    """Its map is stored and cost more than the comparison, which the page would ask for by itself."""
    explain.multiselect(key="explain_methods").set_value(["integrated_gradients"]).run()
    explain.selectbox(key="explain_integrated_gradients_rule").set_value("midpoint").run()
    explain.number_input(key="explain_integrated_gradients_steps").set_value(150).run()
    press(explain, "Explain")
    view = explain.session_state["explain.place"].view.model_copy(update={"text": f"{TEXT} Nor about its sequel."})
    (request,) = view.requests()
    service().run(resolve(request))
    app = visit(explain, "integration")
    app.text_input(key="integration_steps").set_value("2,4")
    answered(app.text_area(key="integration_text").set_value(view.text).run())
    app = visit(app, "explain")
    assert app.session_state["explain.place"].view.requests() == [request]
    assert charts(app), "the stored map is shown"
    assert not is_computing()
    assert service().find(resolve(trust_request(request))) is None
    press(app, "Explain")
    assert service().find(resolve(trust_request(request))) is not None


def test_what_a_page_opens_with_does_not_travel() -> None:
    app = answered(visit(opened("explain"), "activation"))
    assert app.selectbox(key="activation_model").value == NEWS
    assert charts(app)


def test_a_link_is_stronger_than_the_question_that_travels(explain: AppTest) -> None:
    link = link_of(first_view(), steps="2,4")
    app = answered(visit(explain, "integration", r=link))
    assert app.text_area(key="integration_text").value == first_view().text
    assert charts(app)
    back = visit(visit(app, "explain"), "integration", r=link)
    assert back.text_area(key="integration_text").value == first_view().text


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("page", ["explain", "errors"])
def test_choosing_a_model_computes_nothing_and_travels(page: str) -> None:
    app = opened(page)
    await_page(app, lambda: not is_computing())  # rows that are explained ahead
    app.selectbox(key=f"{page}_model").set_value(NEWS).run()
    assert not is_computing()
    assert "The controls have changed" in words(app.caption)
    other = visit(app, "errors" if page == "explain" else "explain")
    assert other.selectbox[0].value == NEWS
    assert "to compute here" in words(other.info)
    assert not is_computing()


def test_a_text_opens_on_all_other_pages_of_texts() -> None:
    text = {"model": NEWS, "text": TEXT, "text_pair": None, "unit": "sentence", "method": "occlusion"}
    views = {entry.title: view for entry, view in views_elsewhere(text, "integration").items()}
    assert list(views) == ["Explain", "Candidates", "Activation"]
    assert {(view.model, view.text, view.unit) for view in views.values()} == {(NEWS, TEXT, "sentence")}
    assert [choice.method for choice in views["Explain"].methods] == ["occlusion"]
    assert {page.label for page in opened("integration").button} >= set(views)


def test_the_controls_are_a_line_on_a_link_and_open_otherwise() -> None:
    app = opened("integration")
    assert app.expander[0].proto.expanded
    line = "bert-mini-sst2 · “The first act drags a little, but the ending is…” · Integrated gradients"
    assert app.expander[0].label.replace("\\", "") == line
    by_link = linked("integration", first_view(), steps="2,4")
    assert not by_link.expander[0].proto.expanded
    assert charts(by_link)
