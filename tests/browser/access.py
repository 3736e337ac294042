"""What every page is held to: no violation that axe-core knows."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import wait_for_run

WHOLE: dict[str, Any] = {"resultTypes": ["violations"]}
COLOURS: dict[str, Any] = {**WHOLE, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""The rules that read colours: all that another theme can break."""


def has_no_violation(page: Page, context: dict[str, Any] | None = None) -> None:
    """Neither in the dark theme nor in the light one, in which it is left; ``context`` is for axe, which tells why."""
    # No colour is half-way to another, and what is about to be drawn anew does not fade.
    fading = "[data-stale], summary, summary *, [role=tablist], [role=tablist] *"
    page.add_style_tag(content=f"* {{ transition: none !important }} {fading} {{ opacity: 1 !important }}")
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", theme)
        wait_for_run(page)
        told = Axe().run(page, context=context, options=WHOLE if theme == "dark" else COLOURS)
        assert told.violations_count == 0, f"{theme}: {told.generate_report()}"
