"""Long work in a browser: progress, queue, cancel, leaving a page, loading it anew, and two that ask the same."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from explainlab.analyses.registry import request_key
from explainlab.app.pages.explain.form import Choice
from explainlab.attribution.records import Attribution
from explainlab.models.loading import model_digest
from tests.browser.conftest import wait_for_run
from tests.browser.explain_page import App, choose, heatmaps, integrated_gradients, map_shows, press, view
from tests.browser.jobs import cancel, job

TEXT = " ".join(["The first act drags a little, but the ending is so beautiful that I forgave everything."] * 5)
ENDLESS = integrated_gradients(10_000)
SAMPLES = Choice(method="gradient_shap", parameters={"samples": 10_000})
RUNNING = re.compile(r"gradients, about \d+ (s|min) left")


def stored(app: App, asked) -> Callable[[], Attribution | None]:
    """Looks for the answer to the only method of a view in the store."""
    store, key = app.store, request_key(asked.requests()[0], model_digest(asked.model))
    return lambda: store.get(key)


def written_down(app: App) -> bool:
    """Return True if the server has noted a job, in case it stops first."""
    with sqlite3.connect(app.home / "explainlab.sqlite") as database:
        return bool(database.execute("SELECT key FROM unfinished").fetchall())


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


def test_progress_queue_and_cancel(app, browser_page):
    page = browser_page(app.link(view(TEXT, "occlusion", ENDLESS, SAMPLES)))
    expect(heatmaps(page)).to_have_count(1)
    wait_for_run(page)  # while the page runs again, rows move up one by one
    expect(job(page, "Integrated gradients")).to_contain_text(RUNNING)
    expect(job(page, "Gradient SHAP")).to_contain_text("waiting, 1 job before it")
    cancel(page, "Integrated gradients")
    expect(job(page, "Gradient SHAP")).to_contain_text(RUNNING)
    press(page, "Run again")
    expect(job(page, "Integrated gradients")).to_contain_text("waiting, 1 job before it")
    cancel(page, "Integrated gradients")
    cancel(page, "Gradient SHAP")
    expect(page.get_by_role("button", name="Run again")).to_have_count(2)
    expect(heatmaps(page)).to_have_count(1)


@pytest.mark.full("15 s of running jobs")
def test_another_question_gives_the_running_one_up(app, browser_page):
    page = browser_page(app.link(view(TEXT, ENDLESS, seed=1)))
    expect(job(page, "Integrated gradients")).to_contain_text(RUNNING)
    page.get_by_role("button", name="Remove Integrated gradients").click()
    choose(page, "Methods", "Occlusion", typed="Occlusion")
    page.keyboard.press("Escape")
    press(page, "Explain")
    map_shows(page, TEXT)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


@pytest.mark.full("25 s of running jobs")
def test_work_goes_on_while_the_page_is_left(app, browser_page):
    asked = view(TEXT, integrated_gradients(250), seed=2)
    link = app.link(asked)
    page = browser_page(link)
    expect(job(page, "Integrated gradients")).to_be_visible()
    press(page, "Explain")  # a visit alone stores nothing
    until(lambda: written_down(app))
    page.goto("about:blank")
    answer = stored(app, asked)
    assert answer() is None
    until(answer)
    page.goto(link)
    map_shows(page, TEXT)
    seconds = answer().cost.seconds
    expect(page.get_by_text(f"252 forward + 250 backward passes, {seconds:.2f} s")).to_be_visible()


@pytest.mark.full("18 s of running jobs")
def test_two_pages_of_a_user_share_one_job_and_a_reload_takes_it_over(app, browser_page):
    link = app.link(view(TEXT, ENDLESS, seed=3))
    first, second = browser_page(link), browser_page(link)
    for page in (first, second):
        expect(job(page, "Integrated gradients")).to_contain_text(RUNNING)
    first.reload()
    expect(job(first, "Integrated gradients")).to_contain_text(RUNNING)
    cancel(first, "Integrated gradients")
    expect(second.get_by_text("Integrated gradients was cancelled.")).to_be_visible()
    first.get_by_test_id("stSidebarNavLink").filter(has_text="Status").click()
    expect(first.get_by_text("Nothing is running or waiting.")).to_be_visible()
