"""Places of a session: a press asks and records once, and drawing a page again writes nothing to the store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from streamlit.testing.v1 import AppTest

from explainlab.app.links import FIRST
from explainlab.app.pages.explain.sections import ASK_TRUST
from explainlab.request import Request
from explainlab.service.service import Service
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT, settings
from tests.pages.scripted import answered, opened, press, smaller_first_answers, stored

READS = ("SELECT", "PRAGMA", "BEGIN")


@contextmanager
def writes() -> Iterator[list[str]]:
    """Yield every statement that changes a database meanwhile."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.lstrip().upper().startswith(READS) and " servers" not in statement:  # a beat of the lease
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def recorded(statements: list[str]) -> int:
    """Return the number of recorded runs: each begins with a renewal of the existing one."""
    return sum(statement.startswith("UPDATE runs") for statement in statements)


def idle(service: Service) -> None:
    """Wait for what the page has asked ahead."""
    while service.engine.unfinished():
        time.sleep(0.1)


def asked_anew(app: AppTest) -> AppTest:
    return answered(app.text_area(key="explain_text").set_value("Nobody has asked about this film yet.").run())


PAGES = sorted(page.stem for page in (ROOT / "pages").glob("*.py"))


@pytest.fixture
def _smaller() -> Iterator[None]:
    """Open pages with small questions, which take no time."""
    with smaller_first_answers():
        yield


@pytest.mark.usefixtures("_smaller")
@pytest.mark.parametrize("page", PAGES)
def test_opening_a_page_stores_nothing_and_drawing_or_opening_it_again_writes_nothing(
    service: Service, tmp_path: Path, page: str
) -> None:
    app = opened(page)
    assert app.query_params.get("r", FIRST) in (FIRST, [FIRST])
    idle(service)
    assert stored(tmp_path) == {}, "neither views, nor results, nor notes, nor runs"
    assert service.cut_short(LOCAL) == []
    with writes() as written:
        answered(app.run())
        answered(app.run())
        again = opened(page)
        idle(service)
    assert not app.error
    assert not again.error
    assert written == []


def test_a_run_is_recorded_once_when_its_job_ends_and_once_when_a_stored_answer_is_asked_for(service: Service) -> None:
    app = opened("explain")
    with writes() as written:
        asked_anew(app)
        app.run()
    methods = len(app.multiselect(key="explain_methods").value)
    assert recorded(written) == methods == 2
    with writes() as written:
        asked_anew(opened("explain")).run()
    assert recorded(written) == methods, "those asked for, not those that the page opens with"


def test_a_section_records_what_was_pressed_for_once(service: Service) -> None:
    app = opened("explain")
    with writes() as written:
        press(app, ASK_TRUST).run()
    assert recorded(written) == 1
    assert service.runs(LOCAL).runs[0].question == "trust"
    with writes() as written:
        opened("explain")
    assert recorded(written) == 0, "an answer that is only shown is nobody's run"


def test_a_link_is_saved_when_what_it_shows_changes(service: Service) -> None:
    app = opened("explain")
    before = app.query_params["r"]
    with writes() as written:
        app.selectbox(key="explain_palette").set_value("blue_orange").run()
        app.run()
    assert [statement for statement in written if "views" in statement or "held" in statement] == written
    assert sum(statement.startswith("INSERT INTO views") for statement in written) == 1
    assert app.query_params["r"] != before


# Waiting for a job ---------------------------------------------------------------------------------------------------

ENDLESS = Request(
    model="embedded:bert-mini-sst2",
    text="a long film " * 40,
    question="integrated_gradients",
    parameters={"rule": "right", "steps": 10_000},
)


def _section() -> None:
    """Draw a section with a button."""
    import streamlit as st

    from explainlab.app.place import PageState, Requests
    from explainlab.service.service import service
    from tests.app.test_place import ENDLESS

    place = PageState("section")
    st.button("Ask", on_click=place.ask, args=(service(), Requests((ENDLESS,))))
    moved = st.button("Move on", on_click=place.ask, args=(service(), Requests()))
    answer = None if moved else place.answer_if_requested(service(), ENDLESS)
    if answer is not None:
        place.draw_state(service(), [answer])


def pressed(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def loaded() -> AppTest:
    return AppTest.from_function(_section, default_timeout=60).run()


def test_a_page_loaded_anew_takes_the_job_over_and_cancels_it(service: Service) -> None:
    pressed(loaded(), "Ask")
    (job,) = service.engine.unfinished()
    after = loaded()
    assert service.engine.unfinished() == [job]
    pressed(after, "Cancel")
    assert service.engine.wait(job, 10)
    assert job.progress.status == "cancelled"
    assert "was cancelled" in after.run().info[0].value


def test_a_page_that_moves_on_leaves_the_job_to_another_that_waits(service: Service) -> None:
    first, second = pressed(loaded(), "Ask"), loaded()
    (job,) = service.engine.unfinished()
    pressed(first, "Move on")
    assert not job.stop.is_set()
    assert not second.run().info
    pressed(second, "Move on")
    assert service.engine.wait(job, 10)
    assert job.progress.status == "cancelled"


def test_what_stopped_because_nobody_waited_says_so(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_unwatched_seconds", 1)
    app = pressed(loaded(), "Ask")
    (job,) = service.engine.unfinished()
    assert service.engine.wait(job, 10)
    assert "No page waited for it" in app.run().info[0].value
    assert "Run again" in [button.label for button in app.button]


def test_an_open_page_asks_nothing_of_a_model_that_is_no_longer_served(monkeypatch: pytest.MonkeyPatch) -> None:
    app = answered(opened("explain"))
    assert app.header
    monkeypatch.setattr(settings(), "allowed_models", "other/*")
    assert "is not served here" in " ".join(error.value for error in app.run().error)
