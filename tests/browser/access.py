"""The accessibility check of every page: no violation that axe-core knows."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import wait_for_run

WHOLE: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = {**WHOLE, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""The rules that read colours: all that another theme can break."""


def has_no_violation(page: Page, context: dict[str, Any] | None = None) -> None:
    """Check both themes for violations, first the one that the page does not have: a change of theme redraws the page.

    ``context`` is for axe, whose report names the reasons.
    """
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for theme, rules in zip(("dark", "light") if dark else ("light", "dark"), (WHOLE, COLOURS), strict=True):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", theme)
        wait_for_run(page)
        told = _axe(page).run(page, context=context, options=rules)
        assert told.violations_count == 0, f"{theme}: {told.generate_report()}"


def _axe(page: Page) -> Axe:
    """Axe, which this page reads only once."""
    axe = Axe()
    if page.evaluate("'axe' in window"):
        axe.axe_script = ""
    return axe
