"""The answer on the first screen, controls folded to a line, and one question on all pages, in a real browser."""

from __future__ import annotations

import re
from secrets import token_hex

import pytest
from playwright.sync_api import Locator, Page, expect
from pydantic import BaseModel

from explainlab.app.pages.benchmark import form as benchmark_view
from explainlab.app.pages.integration import form as integration_view
from tests.browser.conftest import press_row, unfold, wait_for_run
from tests.browser.explain_page import has_the_frame, heatmaps, integrated_gradients, map_shows, press, text_box, view
from tests.browser.jobs import cancel
from tests.tiers import first

OUTSIDE = re.compile(r"(http|ws)s?://(?!127\.)")
PHONE = {"width": 390, "height": 844}
DRAWN = ".heatmap, .small-map, .panel, .scrubber, .scrubber .plot, .js-plotly-plot"
BOXES = "drawn => drawn.map(one => one.getBoundingClientRect().toJSON()).filter(box => box.width)"
TEXT = "A slow start, and then a wonderful, wonderful end."


def answer(page: Page) -> Locator:
    """Return the part of the page below the sentence of the answer."""
    return page.get_by_text(re.compile("^Model: "))


def is_on_the_first_screen(page: Page) -> None:
    wait_for_run(page)
    expect(answer(page)).to_be_in_viewport(ratio=1)


LITTLE: dict[str, BaseModel] = {
    "integration": integration_view.first_view().model_copy(update={"steps": "2,5,10", "compare": (3, 9)}),
    "benchmark": benchmark_view.first_view().model_copy(update={"rows": 5}),
}
"""Less to compute than what these pages open with."""


PATHS = ("", "integration", "candidates", "activation", "errors", "benchmark")


@pytest.mark.parametrize("path", first([""], PATHS, "10 s each; one page shows the layout"))
def test_a_phone_opens_on_the_answer_needs_no_sideways_scrolling_and_asks_no_other_host(app, browser_page, path):
    page, outside = browser_page(viewport=PHONE), []
    page.on("request", lambda request: outside.append(request.url) if OUTSIDE.match(request.url) else None)
    page.goto(app.link(LITTLE[path], path) if path in LITTLE else f"{app.url}/{path}")
    has_the_frame(page)
    is_on_the_first_screen(page)
    fits(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    unfold(page)
    fits(page)
    assert not outside


def fits(page: Page) -> None:
    """Check that neither the page nor any part of it is wider than a phone."""
    wait_for_run(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for box in page.locator(DRAWN).evaluate_all(BOXES):
        assert box["left"] >= 0
        assert box["right"] <= PHONE["width"]


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
    page.keyboard.type("And more.")  # the page draws the controls' line and the map anew meanwhile
    map_shows(page, "Another text.")
    wait_for_run(page)
    expect(text_box(page)).to_be_focused()
    expect(text_box(page)).to_have_value("Another text.And more.")


@pytest.mark.full("18 s; the page test shows the same without a browser")
def test_a_question_goes_along_through_the_navigation_and_waits(app, browser_page):
    text = f"{TEXT} {token_hex(2)}"
    page = browser_page(app.link(view(text, "occlusion")))
    map_shows(page, text)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Activation").click()
    expect(page.get_by_text("press Reveal to compute here")).to_be_visible()
    expect(text_box(page)).to_have_value(text)
    expect(page.get_by_role("combobox", name="Model")).to_have_value("bert-mini-sst2")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Explain").click()
    map_shows(page, text)
    press(page, "Activation")
    expect(page.get_by_role("heading", name="Activation", level=1)).to_be_visible()
    expect(answer(page)).to_be_visible()
    unfold(page)
    expect(text_box(page)).to_have_value(text)


def test_the_prediction_is_there_before_the_map(app, browser_page):
    page = browser_page(app.link(view(f"{TEXT} Well.", integrated_gradients(10_000))))
    expect(page.get_by_test_id("stMetric")).to_contain_text("positive")
    expect(heatmaps(page)).to_have_count(0)
    cancel(page, "Integrated gradients")


def test_a_toolbar_covers_nothing_and_a_pressed_row_comes_into_view(app, browser_page):
    page = browser_page(f"{app.url}/errors", viewport={"width": 1280, "height": 500})
    table = page.locator(".st-key-errors_table")
    table.scroll_into_view_if_needed()
    table.hover()
    toolbar = table.get_by_test_id("stElementToolbar").bounding_box()
    export = page.locator(".st-key-errors_rows_export").bounding_box()
    assert toolbar["height"] > 0
    assert export["y"] + export["height"] <= toolbar["y"]
    press_row(page, table, 2)
    expect(page.get_by_role("heading", name=re.compile("^Row [0-9]+$"))).to_be_in_viewport(ratio=1)
