"""The Status page in a browser: it renews itself while jobs come and go, hostile texts stay texts, axe is content."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.access import has_no_violation
from tests.browser.conftest import wait_for_run
from tests.browser.explain_page import integrated_gradients, view
from tests.browser.hostile import HOSTILE
from tests.browser.jobs import cancel, job


def figure(page: Page, label: str) -> Locator:
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


@pytest.mark.full("44 s of running jobs; the page test reads the same facts")
def test_it_tells_what_runs_and_renews_itself(app, browser_page):
    asking = browser_page(app.link(view(HOSTILE, integrated_gradients(9_999))))
    expect(job(asking, "Integrated gradients")).to_be_visible()
    page = browser_page(f"{app.url}/status")
    expect(figure(page, "Running")).to_have_text("1")
    expect(page.get_by_test_id("stDataFrame")).not_to_have_count(0)
    has_no_violation(page)
    cancel(asking, "Integrated gradients")
    expect(figure(page, "Running")).to_have_text("0")
    expect(page.get_by_text("Nothing is running or waiting.")).to_be_visible()
    has_no_violation(page)
    page.set_viewport_size({"width": 420, "height": 900})
    wait_for_run(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0
