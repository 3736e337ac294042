"""The Integration page in a real browser: opens with an answer, scrubbing asks nobody, links reopen, all can use it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from explainlab.app.pages.integration.form import DataChoice, IntegrationView
from tests.browser.access import has_no_violation
from tests.browser.conftest import is_at_rest, press_mark, unfold, wait_for_run
from tests.browser.explain_page import SENTIMENT, text_box
from tests.browser.hostile import HOSTILE
from tests.browser.jobs import cancel


def view(text: str = "Funny, warm and never dull.", **fields) -> IntegrationView:
    """Return a view that costs little."""
    return IntegrationView(**{"model": SENTIMENT, "text": text, "steps": "2,5,10", "compare": (3, 9), **fields})


def charts(page: Page):
    return page.locator(".js-plotly-plot")


def answered(page: Page, drawn: int = 3) -> Page:
    expect(charts(page)).to_have_count(drawn)
    expect(page.locator(".heatmap")).to_have_count(3)
    wait_for_run(page)
    return page


def test_hostile_text_is_text_the_slider_sends_nothing_and_the_address_reopens_the_view(app, browser_page):
    page, sent = browser_page(), []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(app.link(view(HOSTILE), "integration"))
    answered(page)
    morph = page.locator(".st-key-integration_morph .text")
    expect(morph).to_have_text(HOSTILE, use_inner_text=True)
    assert page.locator(".heatmap script, .heatmap img, .js-plotly-plot img, .js-plotly-plot script").count() == 0
    is_at_rest(page)
    sent.clear()
    page.on("request", lambda request: sent.append(request.url))
    slider = page.get_by_role("slider", name="Steps", exact=True)
    slider.focus()
    told = page.locator(".told")
    for words in ("5 steps", "10 steps", "adaptive"):
        page.keyboard.press("ArrowRight")
        expect(told).to_contain_text(words)
    assert not sent
    page.locator('.st-key-integration_map_0 .token[aria-label^="film,"]').click()
    expect(page.get_by_text("Gradient of “film” along the path")).to_be_visible()
    unfold(page)
    expect(page.get_by_role("combobox", name="Gradient of")).to_have_value(re.compile("film"))
    text_box(page).fill("A dull and lifeless evening.")
    page.keyboard.press("Enter")
    expect(morph).to_contain_text("lifeless")
    answered(page)
    again = answered(browser_page(page.url))
    expect(text_box(again)).to_have_value("A dull and lifeless evening.")
    expect(again.locator(".st-key-integration_morph .text")).to_contain_text("lifeless")
    page.get_by_role("textbox", name="Step counts").fill("ten")
    page.keyboard.press("Enter")
    expect(page.get_by_text("is not accepted").first).to_be_visible()
    has_no_violation(page)


@pytest.fixture
def data_file(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("text,label\n" + "".join(f'"A {word} film.",positive\n' for word in ("fine", "dull", HOSTILE)))
    return file


@pytest.mark.full("23 s: a study of a data set in the browser")
def test_axe_finds_nothing_on_answers_and_a_pressed_point_opens_its_text_above(app, browser_page, data_file):
    data = DataChoice(source=str(data_file), steps="2,5")
    size = {"width": 1280, "height": 1000}
    page = answered(browser_page(app.link(view(data=data), "integration"), viewport=size), drawn=7)
    for closed in ("All texts", "What is computed"):
        page.get_by_text(closed).click()
    expect(page.get_by_text("Equation 4 of the paper")).to_be_visible()
    page.locator(".st-key-integration_boxes_export button").first.click()
    expect(page.get_by_role("button", name="HTML")).to_be_visible()
    has_no_violation(page)
    page.keyboard.press("Escape")
    boxes = page.locator(".st-key-integration_boxes .js-plotly-plot")
    press_mark(page, boxes.locator(".scatterlayer .trace").first.locator(".points path").first)
    expect(text_box(page)).not_to_have_value("Funny, warm and never dull.")
    expect(text_box(page)).to_have_value(re.compile("^A .* film.$"))
    answered(page, drawn=7)


@pytest.mark.full("cancelling is in the first tier on Explain")
def test_two_jobs_are_cancelled_and_run_again_and_axe_finds_nothing(app, browser_page):
    slow = view("Not stored yet at all. " * 12, steps="10:1000:10")
    page = browser_page(app.link(slow, "integration"))
    expect(page.get_by_text("waiting, 1 job before it")).to_be_visible()
    cancel(page, "Path gradients")
    expect(page.get_by_role("button", name="Run again")).to_have_count(1)
    has_no_violation(page)
    cancel(page, "Integration error")
    expect(page.get_by_role("button", name="Run again")).to_have_count(2)
    page.get_by_role("button", name="Run again").first.click()
    expect(page.get_by_role("button", name="Run again")).to_have_count(1)
    cancel(page, "Integration error")
