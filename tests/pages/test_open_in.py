"""The buttons "Open in ...": the other page shows the text at once, but makes no run until a reader presses."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explainlab.app import links
from explainlab.app.entries import page_of
from explainlab.app.page import views_elsewhere
from explainlab.app.view import AnalysisView, carried_by
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.users import LOCAL
from tests.pages.scripted import charts, opened, press, words

ASKED = Request(model="embedded:bert-mini-sst2", text="A warm and funny film.", question="gradient")


@pytest.fixture
def views(service: Service) -> dict[str, AnalysisView]:
    """By page the views behind the buttons of a run."""
    assert service.engine.wait(service.submit(resolve(ASKED, LOCAL)), 60)
    shown = page_of(ASKED)
    others = {entry.url: view for entry, view in views_elsewhere(carried_by(ASKED), "explain").items()}
    return {shown.entry.url: shown.view, **others}


def follow(service: Service, views: dict[str, AnalysisView], page: str) -> AppTest:
    """Go where the button goes."""
    return opened(page, r=links.save(service, views[page]))


def asked(service: Service) -> list[tuple]:
    return [(run.question, run.asked) for run in service.runs(LOCAL).runs]


@pytest.mark.parametrize("page", ["explain", "activation", "integration", "candidates"])
def test_opening_a_run_elsewhere_answers_and_records_no_run(
    service: Service, views: dict[str, AnalysisView], page: str
) -> None:
    before = asked(service)
    assert len(before) == 1
    app = follow(service, views, page)
    assert app.text_area(key=f"{page}_text").value == ASKED.text
    assert charts(app), "the answer is there"
    assert "to compute here" not in words(app.info)
    assert asked(service) == before


def test_it_becomes_a_run_when_the_button_of_the_page_is_pressed(
    service: Service, views: dict[str, AnalysisView]
) -> None:
    press(follow(service, views, "activation"), "Reveal")
    assert [question for question, _ in asked(service)] == ["activation", "gradient"]
