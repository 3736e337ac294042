"""The rows of unfinished jobs on any page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import wait_for_run


def job(page: Page, label: str) -> Locator:
    """Return the row of an unfinished job: its progress and its Cancel button."""
    rows = page.get_by_test_id("stHorizontalBlock").filter(has=page.get_by_role("button", name="Cancel"))
    return rows.filter(has_text=f"{label}:")


def cancel(page: Page, label: str) -> None:
    """Cancel a job and wait until it has stopped."""
    wait_for_run(page)
    job(page, label).get_by_role("button", name="Cancel").click()
    expect(page.get_by_text(f"{label} was cancelled.")).to_be_visible()
    expect(job(page, label)).to_have_count(0)
