"""The texts of ROAR in a real browser: slider, filters and arrow keys ask nobody, and words stay words."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from explainlab.analyses.roar.figures import masked_texts
from tests.analyses.roar.bodies import TEXT, roar_body
from tests.browser.access import has_no_violation
from tests.browser.conftest import wait_for_run
from tests.browser.test_travel import PHONE, fits

BODY = roar_body()


def masked(page: Page, measure: int) -> list[str]:
    """Return the words that are struck out under a measure."""
    return page.locator(".mask").nth(measure).locator("del").all_inner_texts()


def expected(row: int, measure: int, place: int) -> list[str]:
    text = BODY.texts[row]
    order = [(own.measure, own.recursive) for own in text.masked]
    order.sort(key=lambda key: key[0] == "random")
    mask = next(own for own in text.masked if (own.measure, own.recursive) == order[measure])
    return [TEXT[t.start : t.end] for t, at in zip(text.tokens, mask.at, strict=True) if at is not None and at <= place]


@pytest.mark.full("57 s: it trains a grid of models")
def test_the_page_opens_with_an_example_that_all_can_read(app, browser_page) -> None:
    page = browser_page(f"{app.url}/roar", viewport={"width": 1280, "height": 900})
    expect(page.get_by_role("heading", name="An example")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    expect(page.locator(".words").first).to_be_visible()
    page.locator("summary").filter(has_text="Formulas").click()
    page.locator("summary").filter(has_text="All models").click()
    expect(page.locator(".js-plotly-plot")).to_have_count(9)
    wait_for_run(page)
    has_no_violation(page)
    page.set_viewport_size(PHONE)
    fits(page)


@pytest.mark.full("34 s: it trains a grid of models")
def test_a_grid_starts_grows_pauses_and_goes_on(app, browser_page) -> None:
    page = browser_page(f"{app.url}/roar", viewport={"width": 1280, "height": 900})
    page.get_by_role("button", name="Train the grid").click()
    expect(page.get_by_text(re.compile(r"Unfinished: [1-9] of 54 models so far"))).to_be_visible()
    page.set_viewport_size(PHONE)
    fits(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text(re.compile(r"Paused: \d+ of 54 models"))).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    page.reload()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text(re.compile(r"Unfinished: \d+ of 54 models so far"))).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text(re.compile(r"Paused: \d+ of 54 models"))).to_be_visible()


def test_slider_and_keys_mask_without_a_request(browser_page, parts) -> None:
    page = browser_page(f"{parts}/roar")
    slider, head = page.get_by_role("slider", name="Share masked"), page.locator(".text-head")
    expect(page.locator(".mask")).to_have_count(4)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    slider.press("Home")
    expect(page.locator("del")).to_have_count(0)
    for place in range(1, 11):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".ratio")).to_have_text("all tokens" if place == 10 else f"{10 * place}%")
        for measure in range(4):
            assert masked(page, measure) == expected(0, measure, place)
    expect(head).to_have_text("Text 1 of 4, row 1, is positive")
    page.keyboard.press("ArrowDown")
    expect(head).to_have_text("Text 2 of 4, row 2, is positive")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(head).to_have_text("Text 1 of 4, row 1, is positive")
    expect(page.locator(".prediction").first).to_have_text("✕ <b>negative</b>, own class 20%")
    page.locator(".mask").first.locator(".cell").first.click()
    expect(page.locator(".ratio")).to_have_text("0%")
    expect(page.locator(".prediction").first).to_have_text("✓ positive, own class 95%")
    page.get_by_label("Texts", exact=True).select_option("Right with nothing masked")
    expect(head).to_have_text("Text 1 of 3, row 1, is positive")
    page.get_by_label("Texts", exact=True).select_option("First wrong at 30%")
    page.get_by_label("by", exact=True).select_option("Gradient (one-hot)")
    expect(head).to_have_text("Text 1 of 1, row 1, is positive")
    expect(page.locator(".ratio")).to_have_text("30%")
    page.get_by_label("Texts", exact=True).select_option("Never wrong")
    expect(head).to_have_text("No text is like this.")
    assert sent == []


def test_words_stay_words_and_all_can_use_it(browser_page, parts) -> None:
    for scheme in ("light", "dark"):
        page = browser_page(f"{parts}/roar", color_scheme=scheme)
        words = page.locator(".words").first
        expect(words).to_have_text(TEXT, use_inner_text=True)
        assert words.locator("b, script, img, svg").count() == 0
        assert page.locator(".track b, .prediction b, .text-head b").count() == 0
        assert page.evaluate("document.querySelectorAll('script[src=x], img[src=x]').length") == 0
        has_no_violation(page)


def test_the_saved_texts_move_without_a_server(browser_page, tmp_path) -> None:
    file = tmp_path / "texts.html"
    file.write_text(masked_texts(BODY).to_html(), encoding="utf-8")
    page = browser_page()
    page.goto(file.as_uri())
    page.get_by_role("slider", name="Share masked").press("End")
    assert masked(page, 0) == TEXT.split(" ")
    assert page.locator(".words b, .words script, .words img").count() == 0
    assert Axe().run(page).violations_count == 0
