"""Can I trust this map? In a browser: asked, answered, behind the numbers, cancelled, and for everyone."""

from __future__ import annotations

from secrets import token_hex

import pytest
from playwright.sync_api import Page, expect

from tests.browser.access import has_no_violation
from tests.browser.conftest import wait_for_run
from tests.browser.explain_page import heatmaps, integrated_gradients, map_shows, press, view
from tests.browser.jobs import cancel, job

ASK = "Can I trust this map?"
LABEL = "Comparison with random maps"
TEXT = "The first act drags a little, but the ending is so beautiful that I forgave everything."
HOSTILE = (
    "A <script>window.__hit=1</script> [good](https://evil.example) $x$ and *bold* film, <br /> not a :red[dull] one."
)


def answer(page: Page, deed: str):
    return page.get_by_test_id("stMarkdown").filter(has_text=f"{deed} its top 20%")


@pytest.mark.full("30 s of computing; the page test shows the same without a browser")
def test_a_map_is_asked_answered_and_looked_behind(app, browser_page):
    asked = view(f"{TEXT} Trust me.", "occlusion", "attention_last")
    page = browser_page(app.link(asked))
    expect(heatmaps(page)).to_have_count(2)
    expect(page.get_by_role("button", name=ASK)).to_have_count(2)
    page.get_by_role("button", name=ASK).first.click()
    for deed, name in (("Remove", "Comprehensiveness (RPI)"), ("Keep only", "Sufficiency (RPI)")):
        expect(answer(page, deed)).to_contain_text(name)
        expect(answer(page, deed)).to_contain_text("of 100 random maps")
    expect(page.get_by_role("button", name=ASK)).to_have_count(1)
    page.get_by_test_id("stCaptionContainer").filter(has_text="more is better").get_by_test_id("stTooltipIcon").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("p(x without its top k%)")
    page.get_by_text("Texts behind these numbers").click()
    table = page.get_by_test_id("stTable").filter(has_text="What is left")
    expect(table.get_by_role("row")).to_have_count(5)
    expect(table).to_contain_text("[CLS]")
    page.mouse.move(0, 0)
    expect(page.get_by_role("tooltip")).to_have_count(0)
    has_no_violation(page)
    page.reload()
    expect(answer(page, "Remove")).to_be_visible()


@pytest.mark.full("cancelling is in the first tier on Explain")
def test_a_waiting_question_can_be_cancelled_and_asked_again(app, browser_page):
    text = " ".join([TEXT] * 5 + [token_hex(2)])
    page = browser_page(app.link(view(text, "occlusion", integrated_gradients(10_000))))
    map_shows(page, text)
    press(page, ASK)
    expect(job(page, LABEL).last).to_contain_text("waiting, 1 job before it")
    cancel(page, LABEL)
    press(page, "Run again")
    expect(job(page, LABEL).last).to_contain_text("waiting, 1 job before it")
    cancel(page, "Integrated gradients")
    expect(answer(page, "Keep only")).to_be_visible()


def test_hostile_words_are_only_words_in_a_narrow_window(app, browser_page):
    asked = view(HOSTILE, "occlusion", unit="word")
    page = browser_page(app.link(asked), viewport={"width": 420, "height": 900})
    map_shows(page, HOSTILE)
    press(page, ASK)
    expect(answer(page, "Remove")).to_be_visible()
    page.get_by_text("Texts behind these numbers").click()
    table = page.get_by_test_id("stTable").filter(has_text="What is left")
    expect(table).to_contain_text("script")
    assert table.locator("script, a, em, strong, .katex").count() == 0
    assert page.evaluate("window.__hit") is None
    wait_for_run(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0
