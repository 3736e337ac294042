"""A page's script as tests drive it without a browser: opened, answered, pressed and read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from streamlit.testing.v1 import AppTest

from explainlab.app.pages.benchmark.form import PAGE as BENCHMARK
from explainlab.app.pages.integration.form import PAGE as INTEGRATION
from explainlab.app.pages.sanity.form import PAGE as SANITY
from explainlab.service.service import service
from explainlab.settings import ROOT

SECONDS = 120

SMALLER = [
    (BENCHMARK, {"rows": 8}),
    (INTEGRATION, {"steps": "5,10,20,40", "compare": (5, 40)}),
    (SANITY, {"rows": 2, "methods": SANITY.first().methods[:1], "draws": 1}),
]
"""The pages whose first answers take seconds, and the smaller questions that they open with in tests."""


@contextmanager
def smaller_first_answers() -> Iterator[None]:
    """Let the costly pages open with the questions of :data:`SMALLER`."""
    with pytest.MonkeyPatch.context() as patch:
        for page, fields in SMALLER:
            view = page.first().model_copy(update=fields)
            patch.setitem(vars(page), "first", lambda view=view: view)
        yield


def opened(page: str, **query: str) -> AppTest:
    """The page in ``pages/`` with this query in its address, answered."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    if page != "explain":  # which the app opens with
        app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    for name, value in query.items():
        app.query_params[name] = value
    return answered(app.run())


def answered(app: AppTest) -> AppTest:
    """Run the script again, as its fragment does, until no job of the page is left."""
    deadline = time.monotonic() + SECONDS
    while any(button.label in ("Cancel", "Pause") for button in app.button) and time.monotonic() < deadline:
        until_a_job_ends()
        app.run()
    assert not app.exception
    return app


def until_a_job_ends() -> None:
    """Wait for any of the jobs that are there now, at most two seconds."""
    jobs, deadline = service().engine.unfinished(), time.monotonic() + 2
    while jobs and all(job in service().engine.unfinished() for job in jobs) and time.monotonic() < deadline:
        time.sleep(0.02)


def planned(app: AppTest) -> list[str]:
    """The lines that tell what a question will take, as a reader sees them: one beside each button that asks one."""
    lines = (words([caption]) for caption in app.caption)
    return [line for line in lines if line.startswith("Takes ") and "through the model" in line]


def await_plan(app: AppTest, lines: int = 1) -> list[str]:
    """Return the lines of :func:`planned` once there are ``lines`` of them."""
    await_page(app, lambda: len(planned(app)) >= lines)
    return planned(app)


def await_page(app: AppTest, shows: Callable[[], object]) -> None:
    """Run the script again, as its fragment does, until the page ``shows`` something."""
    deadline = time.monotonic() + SECONDS
    while not shows() and time.monotonic() < deadline:
        time.sleep(0.1)
        app.run()


def following(app: AppTest, view: BaseModel, **fields: Any) -> AppTest:
    """The page by the link of ``view`` with these fields."""
    app.query_params["r"] = link_of(view, **fields)
    return answered(app.run())


def linked(page: str, view: BaseModel, **fields: Any) -> AppTest:
    """A page that opens by the link of ``view`` with these fields."""
    return opened(page, r=link_of(view, **fields))


def link_of(view: BaseModel, **fields: Any) -> str:
    """The id under which ``view`` with these fields is saved."""
    view = type(view)(**{**view.model_dump(), **fields})
    return service().store.save_view(view.model_dump(mode="json"))


def press(app: AppTest, label: str) -> AppTest:
    """Press the first button of this label and wait for what follows."""
    return answered(next(button for button in app.button if button.label == label).click().run())


def charts(app: AppTest) -> list[str]:
    """Return the alternative text of each chart."""
    return [chart.proto.alt for chart in app.get("plotly_chart")]


def words(elements: Iterable[Any]) -> str:
    """All that these elements say, as a reader sees it."""
    return " ".join(element.value for element in elements).replace("\\", "")


def stored(home: Path) -> dict[str, int]:
    """Return the number of rows of each table that is not empty."""
    with sqlite3.connect(home / "explainlab.sqlite") as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    return {name: count for name, count in counts.items() if count and name not in ("alembic_version", "servers")}
