"""A field of a view in one line: its control, its default, its place in the draft and in the link follow."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Literal

import pytest
from pydantic import Field
from streamlit.testing.v1 import AppTest

from explainlab.analyses.base import Analysis
from explainlab.app.controls import Control, Form, Methods, controls_of
from explainlab.app.entries import analysis_pages
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question
from explainlab.app.view import TextView
from explainlab.errors import RequestError
from explainlab.request import CompleteRequest, Request
from explainlab.service.service import service
from tests.pages.scripted import SECONDS, answered, link_of, opened, press, words


class Small(TextView):
    """A view with one field more than the base: ``seed`` changes the request."""

    page: Literal["small"] = "small"
    methods: Methods = ("gradient",)
    seed: Annotated[int, Control("Seed", "Everything random is drawn from it."), Field(ge=0)] = 3

    def text_requests(self) -> list[Request]:
        return [Request(question="gradient", model=self.model, text=self.text, target=self.target, seed=self.seed)]


class Grown(Small):
    """The same with a field more, in one line."""

    top: Annotated[int, Control("Mark the top", "Framed words.", redraw=True), Field(ge=0, le=9)] = 2


def page_of(record: type[Small]) -> AnalysisPage:
    """Return the page of a view."""
    form = Form(Question("small"), record)
    return AnalysisPage("small", form, lambda: record(model="embedded:bert-mini-sst2", text="A film."), "Run", shows)


def shows(request: Request) -> None:
    """Show no request on this page."""


def _script() -> None:
    from explainlab.service.service import service
    from tests.app.test_controls import Grown, page_of

    page = page_of(Grown)
    page.open_view(service())
    with page.place_of_controls():
        page.form.draw("main")
    view = page.settle(service())
    page.draw_state(service(), [page.answer(service(), request) for request in view.text_requests()])
    page.link(service(), view)
    import streamlit as st

    st.button("Run", on_click=page.ask_text, args=(service(),))


def test_a_field_of_one_line_has_a_widget_a_default_a_draft_and_a_link() -> None:
    app = AppTest.from_function(_script, default_timeout=SECONDS)
    app = answered(app.run())
    assert [box.label for box in app.number_input] == ["Seed", "Mark the top"]
    box = app.number_input(key="small_top")
    assert (box.value, box.help, box.min, box.max) == (2, "Framed words.", 0, 9)
    before = app.query_params["r"]
    box.set_value(5).run()
    assert "controls have changed" not in words(app.caption), "it changes the drawing alone"
    assert app.query_params["r"] != before
    saved = service().store.view("".join(app.query_params["r"]))
    assert saved is not None
    assert saved.body["top"] == 5
    app.number_input(key="small_seed").set_value(4).run()
    assert "controls have changed" in words(app.caption), "it changes the request"
    press(app, "Run")
    saved = service().store.view("".join(app.query_params["r"]))
    assert saved is not None
    assert (saved.body["seed"], saved.body["top"]) == (4, 5)


def test_a_link_sets_the_control_and_one_from_before_the_field_has_its_default() -> None:
    for view, top in ((page_of(Grown).first().model_copy(update={"top": 7}), 7), (page_of(Small).first(), 2)):
        app = AppTest.from_function(_script, default_timeout=SECONDS)
        app.query_params["r"] = link_of(view)
        assert answered(app.run()).number_input(key="small_top").value == top


def test_only_fields_that_are_marked_redraw() -> None:
    assert page_of(Small).form.redrawn == ()
    assert page_of(Grown).form.redrawn == ("top",)
    assert [control.name for control in page_of(Grown).form.row("main")] == ["target", "seed", "top"]


@pytest.mark.parametrize("page", analysis_pages().values(), ids=lambda page: page.name)
def test_the_controls_of_a_page_say_its_first_view(page: AnalysisPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.session_state", {})
    first = page.first()
    page.seed(first)
    draft = page.draft()
    fields = {name: value for name, value in draft if name not in ("data", "by", "methods")}
    assert fields == {name: value for name, value in first if name in fields}
    assert draft.text_requests() == first.text_requests()


@pytest.mark.parametrize("page", analysis_pages().values(), ids=lambda page: page.name)
def test_a_field_that_redraws_changes_no_request(page: AnalysisPage) -> None:
    first = page.first()
    for name in page.drawn:
        value = getattr(first, name)
        other = {str: "other", int: 7, bool: True}.get(type(value), value)
        assert first.model_copy(update={name: other}).requests() == first.requests(), name


def test_a_value_that_the_field_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.session_state", {})
    form = page_of(Grown).form
    form.seed(page_of(Grown).first())
    form.question.set("top", 12)
    with pytest.raises(RequestError, match="top = 12 is not accepted"):
        form.draft()


def test_every_field_has_one_control() -> None:
    assert [*controls_of(Grown)] == ["model", "text", "text_pair", "target", "methods", "seed", "top"]


def test_a_press_over_a_data_set_completes_its_request_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("errors")
    app.number_input(key="errors_rows").set_value(12).run()
    counts: Counter[str] = Counter()
    complete = Analysis.complete

    def counted(self: Analysis, request: Request) -> CompleteRequest:
        if request.question == "predictions" and request.parameters["rows"] == 13:
            counts[json.dumps(dict(request), default=str)] += 1
        return complete(self, request)

    monkeypatch.setattr(Analysis, "complete", counted)
    app.number_input(key="errors_rows").set_value(13).run()
    press(app, "Predict")
    assert [*counts.values()] == [1]
