"""What every page is held to: no violation that axe-core knows."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import wait_for_run


def has_no_violation(page: Page) -> None:
    """Fails with axe's report."""
    wait_for_run(page)
    told = Axe().run(page)
    assert told.violations_count == 0, told.generate_report()
