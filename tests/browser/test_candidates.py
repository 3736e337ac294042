"""The Candidates page in a real browser: opens with an answer, small maps and points open maps, all can use it."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from explainlab.app.pages.candidates.form import CandidatesView
from tests.browser.access import has_no_violation
from tests.browser.conftest import press_mark, wait_for_run
from tests.browser.explain_page import SENTIMENT, text_box
from tests.browser.hostile import HOSTILE


def view(text: str = "Funny, warm and never dull.", **fields) -> CandidatesView:
    """Return a view that costs little."""
    return CandidatesView(**{"model": SENTIMENT, "text": text, "samples": 4, "steps": 2, **fields})


def answered(page: Page, maps: int = 4) -> Page:
    expect(page.locator(".small-map")).to_have_count(maps)
    expect(page.locator(".st-key-candidates_one_selection .js-plotly-plot")).to_be_visible()
    wait_for_run(page)
    return page


def test_hostile_text_is_text_a_pressed_small_map_or_point_opens_a_map_and_the_address_reopens_it(app, browser_page):
    page = answered(browser_page(app.link(view(HOSTILE), "candidates"), viewport={"width": 1280, "height": 1000}))
    expect(page.locator(".small-map").first.locator(".small-words")).to_have_text(HOSTILE, use_inner_text=True)
    expect(text_box(page)).to_have_value(HOSTILE)
    assert page.locator(".heatmap script, .heatmap img, .js-plotly-plot img, .js-plotly-plot script").count() == 0
    small = page.locator(".small-map").nth(2)
    small.click()
    expect(small).to_have_attribute("aria-pressed", "true")
    name = small.locator(".small-name").inner_text()
    expect(page.get_by_text(re.compile(rf"Map \d+: {re.escape(name)}"))).to_be_visible()
    chart = page.locator(".st-key-candidates_scatter .js-plotly-plot").first
    before = page.url
    press_mark(page, chart.locator(".scatterlayer .trace").first.locator(".points path").nth(3))
    expect(page.get_by_text("Map 3:")).to_be_visible()
    expect(page).not_to_have_url(before)
    page.get_by_text("Texts behind these numbers").click()
    expect(page.get_by_text("Each text as the model reads it")).to_be_visible()
    has_no_violation(page)
    again = answered(browser_page(page.url))
    expect(again.get_by_text("Map 3:")).to_be_visible()
    again.get_by_role("textbox", name="Layers").fill("ten")
    again.keyboard.press("Enter")
    expect(again.get_by_text("is not accepted").first).to_be_visible()
    has_no_violation(again)
