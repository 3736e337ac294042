"""The pages for everyone: keyboard, narrow windows, and axe in light and dark, in every state."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from explainlab.app.pages.errors.form import ErrorsView
from tests.browser.access import has_no_violation
from tests.browser.explain_page import SENTIMENT, heatmaps, integrated_gradients, map_shows, press, view

TEXT = "Funny, warm and never dull."


def test_the_keyboard_reaches_and_reads_every_token_and_axe_finds_nothing(app, browser_page):
    page = browser_page(app.link(view(TEXT, "occlusion", "gradient", target="negative")))
    expect(heatmaps(page)).to_have_count(2)
    first = heatmaps(page).first
    tokens, card = first.locator(".token:not(.special)"), first.locator(".card")
    first.get_by_role("button", name="PNG").focus()
    page.keyboard.press("Tab")
    expect(tokens.first).to_be_focused()
    expect(card).to_be_visible()
    for fact in ("piece", "funny", "score", "of the total |score|", "rank", "characters", "0–5"):
        expect(card).to_contain_text(fact)
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    expect(card).to_contain_text("5–6")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(tokens.nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    expect(first.locator(".token:focus")).to_have_count(0)
    for closed in ("Scores", "Reproduce this"):
        page.get_by_text(closed).first.click()
    press(page, "More")
    expect(page.get_by_role("spinbutton", name="Seed")).to_be_visible()
    has_no_violation(page)


@pytest.mark.full("14 s of a running job; the first tier has axe on answers and errors")
def test_axe_finds_nothing_while_a_job_runs_and_when_it_is_cancelled(app, browser_page):
    text = " ".join(["Not stored yet.", *[TEXT] * 12])
    page = browser_page(app.link(view(text, integrated_gradients(10_000), "occlusion")))
    expect(page.get_by_text("waiting, 1 job before it")).to_be_visible()
    has_no_violation(page)
    page.get_by_role("button", name="Cancel").first.click()
    map_shows(page, text)
    has_no_violation(page)


def test_axe_finds_nothing_where_a_method_a_model_a_file_or_a_run_is_missing(app, browser_page):
    page = browser_page(app.link(view("[CLS]", "occlusion", "attention_rollout")))
    expect(page.get_by_role("button", name="Run again")).to_have_count(1)  # both fail alike
    has_no_violation(page)
    page = browser_page(app.link(view(TEXT, "occlusion", model="embedded:nothing")))
    expect(page.get_by_text("There is no embedded model")).to_be_visible()
    has_no_violation(page)
    page.goto(app.link(ErrorsView(model=SENTIMENT, source=str(app.home / "nowhere.csv")), "errors"))
    expect(page.get_by_text("There is no data file").first).to_be_visible()
    has_no_violation(page)
    page.goto(f"{app.url}/runs?run=nothing")
    expect(page.get_by_text("There is no run under this id here.")).to_be_visible()
    has_no_violation(page)


@pytest.mark.full("the first tier has axe on answers and errors")
def test_axe_finds_nothing_on_an_empty_page(app, browser_page):
    page = browser_page(app.link(view(TEXT)))
    expect(page.get_by_text("Choose a method above")).to_be_visible()
    has_no_violation(page)
