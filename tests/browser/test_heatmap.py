"""The token heatmap in a real browser: card, keyboard, picks, toggles, files, hostile text, accessibility."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.access import has_no_violation
from tests.browser.conftest import wait_for_run
from tests.browser.explain_page import choose


@pytest.fixture
def open_case(browser_page: Callable[..., Page], parts: str) -> Callable[..., Page]:
    """Return ``open_case(name, **context)``: the page with one of the app's cases."""

    def opened(case: str, **context) -> Page:
        page = browser_page(f"{parts}/?case={case}", **context)
        page.locator(".token").last.wait_for(state="attached")
        return page

    return opened


def heatmap(page: Page, which: int = 0) -> Locator:
    return page.locator(".heatmap").nth(which)


def option(page: Page, name: str, which: int = 0) -> Locator:
    """Return the token whose accessible name starts with ``name``."""
    return heatmap(page, which).locator(f'.token[aria-label^="{name},"]')


def test_one_card_one_tab_stop_picks_that_stay_and_all_tokens_on_request(open_case):
    page = open_case("plain")
    hover_opens_one_card(page)
    the_keyboard_walks_with_one_tab_stop(page)
    a_pick_reaches_python_and_is_taken_back(page)
    another_palette_keeps_pick_focus_and_nodes(page)
    special_tokens_and_numbers_are_shown_on_request(page)
    is_for_all(page)


def hover_opens_one_card(page: Page) -> None:
    card = heatmap(page).locator(".card")
    expect(card).to_be_hidden()
    option(page, "funny").hover()
    expect(card).to_be_visible()
    for expected in ("funny", "score", "± 0.00120", "of the total |score|", "of 12", "characters", "12–17", "(4)"):
        expect(card).to_contain_text(expected)
    page.mouse.move(5, 5)
    expect(card).to_be_hidden()
    expect(heatmap(page).get_by_role("button", name="Prompt")).to_have_count(0)
    expect(heatmap(page).locator(".banded")).to_have_count(0)


def is_for_all(page: Page) -> None:
    """Check that axe finds nothing with everything shown and a card open."""
    for name in ("Special tokens", "Numbers"):
        toggle = heatmap(page).get_by_role("button", name=name)
        if toggle.get_attribute("aria-pressed") != "true":
            toggle.click()
    option(page, heatmap(page).locator(".token").nth(2).inner_text()).hover()
    has_no_violation(page)


def the_keyboard_walks_with_one_tab_stop(page: Page) -> None:
    tokens = heatmap(page).locator(".token:not(.special)")
    assert heatmap(page).locator('.token[tabindex="0"]').count() == 1
    heatmap(page).get_by_role("button", name="PNG").focus()
    page.keyboard.press("Tab")
    expect(tokens.first).to_be_focused()
    expect(heatmap(page).locator(".card")).to_be_visible()
    for key, expected in (
        ("ArrowRight", tokens.nth(1)),
        ("ArrowLeft", tokens.first),
        ("ArrowLeft", tokens.first),
        ("End", tokens.last),
        ("Home", tokens.first),
        ("ArrowDown", option(page, "of")),
        ("ArrowUp", tokens.first),
    ):
        page.keyboard.press(key)
        expect(expected).to_be_focused()
    page.keyboard.press("Escape")
    expect(heatmap(page).locator(".card")).to_be_hidden()
    expect(tokens.first).to_be_focused()


def a_pick_reaches_python_and_is_taken_back(page: Page) -> None:
    option(page, "funny").click()
    expect(page.get_by_text("first picked: 4")).to_be_visible()
    expect(option(page, "funny")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("second picked: None")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_text("first picked: 5")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("first picked: None")).to_be_visible()


def another_palette_keeps_pick_focus_and_nodes(page: Page) -> None:
    option(page, "funny").click()
    expect(page.get_by_text("first picked: 4")).to_be_visible()
    before = option(page, "funny").element_handle()
    colour = "node => getComputedStyle(node).getPropertyValue('--hue')"
    first = before.evaluate(colour)
    choose(page, "Colours", "blue_orange")
    wait_for_run(page)
    expect(option(page, "funny")).to_have_attribute("aria-selected", "true")
    assert before.evaluate("node => node.isConnected")
    page.wait_for_function(f"([node, first]) => ({colour})(node) !== first", arg=[before, first])


def special_tokens_and_numbers_are_shown_on_request(page: Page) -> None:
    special, toggle = (
        heatmap(page).locator(".special").first,
        heatmap(page).get_by_role("button", name="Special tokens"),
    )
    expect(special).to_be_hidden()
    expect(heatmap(page).locator(".notes")).to_contain_text("Special tokens hold")
    toggle.click()
    expect(special).to_be_visible()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    width = option(page, "funny").bounding_box()["width"]
    heatmap(page).get_by_role("button", name="Numbers").click()
    assert option(page, "funny").bounding_box()["width"] > width + 10


def test_hostile_text_stays_text_and_is_downloaded_and_the_card_stays_in_a_narrow_window(open_case):
    page = open_case("hostile")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            heatmap(page).get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"input-x-gradient-positive.{kind.lower()}"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(start)
        assert len(content) > 2000
    text = heatmap(page).locator(".text")
    for word in ("<script>", "onerror=alert(3)", "&amp;", '"quoted"', "<br />", "שלום", "👨‍👩‍👧"):
        expect(text).to_contain_text(word)
    assert text.locator("script, img, svg, br").count() == 0
    option(page, "zeroU+200Bwidth").or_(option(page, "zeroU+200B")).first.hover()
    expect(heatmap(page).locator(".card")).to_contain_text("U+200B")
    page.set_viewport_size({"width": 420, "height": 700})
    wait_for_run(page)
    for index in range(1, 12):
        heatmap(page).locator(".token").nth(index).hover()
        box = heatmap(page).locator(".card").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 420
        assert box["y"] >= 0


def test_tap_opens_the_card_then_picks_and_outside_closes(open_case):
    page = open_case("plain", has_touch=True, viewport={"width": 420, "height": 900})
    card = heatmap(page).locator(".card")
    option(page, "funny").tap()
    expect(card).to_be_visible()
    expect(page.get_by_text("first picked: None")).to_be_visible()
    option(page, "funny").tap()
    expect(page.get_by_text("first picked: 4")).to_be_visible()
    page.get_by_role("heading", name="Heatmap").tap()
    expect(card).to_be_hidden()


@pytest.mark.full("10 s; the drawing is tested without a browser")
def test_truncation_pair_and_missing_sign_are_shown(open_case):
    page = open_case("cut")
    unread = heatmap(page).locator(".unread")
    expect(unread).to_be_hidden()
    heatmap(page).get_by_text("5 more tokens were cut: the model never read them").click()
    expect(unread).to_be_visible()
    expect(unread).to_have_text(" The second half never was.")
    expect(heatmap(page).locator(".legend")).to_contain_text("explains the probability of")
    is_for_all(page)
    pair = open_case("pair")
    expect(heatmap(pair).locator(".paragraph")).to_have_count(2)
    is_for_all(pair)
    unsigned = heatmap(open_case("unsigned"))
    expect(unsigned.locator(".legend")).to_contain_text("magnitude only")
    expect(unsigned.locator(".positive, .negative")).to_have_count(0)


def test_the_prompt_is_folded_away_and_grey(open_case):
    page = open_case("prompt")
    asked = option(page, "film: ")
    expect(asked).to_be_hidden()
    heatmap(page).get_by_role("button", name="Prompt").click()
    expect(asked).to_be_visible()
    expect(asked).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    expect(option(page, "[SEP]")).to_be_hidden()
    heatmap(page).get_by_role("button", name="Special tokens").click()
    expect(option(page, "[SEP]")).to_be_visible()
    asked.hover()
    expect(heatmap(page).locator(".card")).to_contain_text("(7)")


@pytest.mark.full("5 s; the drawing is tested without a browser")
def test_the_spread_of_an_ensemble_is_drawn_and_told(open_case):
    page = open_case("ensemble")
    expect(heatmap(page).locator(".legend")).to_contain_text("bar under a token: spread over members")
    funny = option(page, "funny")
    expect(funny).to_have_class(re.compile("banded"))
    assert re.search(r"spread over members \d", funny.get_attribute("aria-label") or "")
    assert 0 < float(funny.evaluate("node => node.style.getPropertyValue('--band')")) <= 0.25
    funny.hover()
    expect(heatmap(page).locator(".card")).to_contain_text("over the members")
    expect(heatmap(page).locator(".special.banded")).to_have_count(0)
    is_for_all(page)
