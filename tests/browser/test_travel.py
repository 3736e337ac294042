"""The answer on the first screen, controls folded to a line, and one question on all pages, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import unfold, wait_for_run
from tests.browser.explain_page import map_shows, press, text_box, view

PHONE = {"width": 390, "height": 844}
TEXT = "A slow start, and then a wonderful, wonderful end."


def answer(page: Page) -> Locator:
    """What stands below the sentence of the answer."""
    return page.get_by_text(re.compile("^Model: "))


def is_on_the_first_screen(page: Page) -> None:
    wait_for_run(page)
    expect(answer(page)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("path", ["", "integration", "candidates", "activation", "errors"])
def test_a_phone_opens_on_the_answer(app, browser_page, path):
    page = browser_page(f"{app.url}/{path}", folded=True, viewport=PHONE)
    is_on_the_first_screen(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0


def test_a_link_opens_on_the_answer_and_a_press_unfolds_its_controls(app, browser_page):
    page = browser_page(app.link(view(TEXT, "occlusion")), folded=True)
    map_shows(page, TEXT)
    line = page.get_by_text("bert-mini-sst2 · “A slow start, and then a wonderful, wonderful en…” · Occlusion")
    expect(line).to_be_visible()
    expect(text_box(page)).not_to_be_visible()
    is_on_the_first_screen(page)
    line.click()
    expect(text_box(page)).to_have_value(TEXT)
    text_box(page).fill("Another text.")
    text_box(page).press("Enter")
    map_shows(page, "Another text.")
    expect(text_box(page)).to_be_visible()


def test_a_question_goes_along_through_the_navigation_and_waits(app, browser_page):
    page = browser_page(app.link(view(TEXT, "occlusion")))
    map_shows(page, TEXT)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Activation").click()
    expect(page.get_by_text("press Reveal to ask it here")).to_be_visible()
    expect(text_box(page)).to_have_value(TEXT)
    expect(page.get_by_role("combobox", name="Model")).to_have_value("bert-mini-sst2")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Explain").click()
    map_shows(page, TEXT)
    press(page, "Activation")
    expect(answer(page)).to_be_visible()
    unfold(page)
    expect(text_box(page)).to_have_value(TEXT)
