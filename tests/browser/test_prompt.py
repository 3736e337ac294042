"""A prompt edited in a browser, checked and used, and what the model believed on the way."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from explainlab.models.prompting import Template
from tests.browser.access import has_no_violation
from tests.browser.conftest import wait_for_run
from tests.browser.explain_page import NEWS, map_shows, press, view
from tests.zoo import build

HEADING = "What the model believed on the way"
HOSTILE = "Oil <script>window.__hit=1</script> rose."
MINE = Template(
    name="mine",
    text="film: {text}\nso:",
    separator="\n",
    labels={"<b>bad</b>": "N", "[good](https://evil.example)": "P"},
)


@pytest.fixture(scope="module")
def model(app, tmp_path_factory) -> str:
    """Return a tiny language model; its template is saved where the app looks for it."""
    folder = app.home / "templates"
    folder.mkdir(exist_ok=True)
    (folder / "mine.json").write_text(MINE.model_dump_json(), encoding="utf-8")
    return str(build("gpt2", tmp_path_factory.mktemp("speaker") / "gpt2", is_generative=True))


def enter(page: Page, label: str, value: str) -> None:
    page.get_by_role("textbox", name=label, exact=True).fill(value)
    page.keyboard.press("Tab")
    wait_for_run(page)


def test_a_prompt_is_edited_checked_and_used(app, browser_page, model):
    page = browser_page(app.link(view("a good film", "gradient")))
    map_shows(page, "a good film")
    press(page, "Prompt")
    start = page.get_by_role("combobox", name="Start from")
    start.fill("mine")
    start.press("Enter")
    expect(page.get_by_role("textbox", name="Text pattern", exact=True)).to_have_value(MINE.text)
    enter(page, "Language model", model)
    enter(page, "Text pattern", "no place")
    refused = page.get_by_role("alert").filter(has_text="no place for the text")
    expect(refused).to_be_visible()
    enter(page, "Text pattern", MINE.text)
    expect(refused).to_have_count(0)
    press(page, "Check")
    expect(page.get_by_test_id("stAlert").filter(has_text="Every word is one token")).to_be_visible()
    table = page.get_by_test_id("stTable").filter(has_text="Token")
    expect(table).to_contain_text("<b>bad</b>")
    assert table.locator("a, b").count() == 0
    enter(page, "Name", "mended")
    press(page, "Save and use")
    expect(page.get_by_text("This prompt and this model are in use.")).to_be_visible()
    expect(page.get_by_test_id("stMetric")).to_contain_text("Prediction")
    assert (app.home / "templates" / "mended.json").exists()


@pytest.mark.full("12 s: every point of a chart is pressed")
def test_every_class_is_told_at_every_point(app, browser_page):
    page = browser_page(app.link(view(HOSTILE, "gradient", model=NEWS, unit="word")))
    map_shows(page, HOSTILE)
    page.get_by_text(HEADING).click()
    map_shows(page, HOSTILE, which=1)
    drawing = page.locator(".heatmap").nth(1)
    drawing.locator(".token").nth(1).hover()
    card = drawing.locator(".card")
    for label in ("World", "Sports", "Business", "Sci/Tech"):
        expect(card).to_contain_text(label)
    believed = card.locator("dd").all_inner_texts()[:4]
    assert sum(float(share.rstrip("%")) for share in believed) == pytest.approx(100, abs=0.3)
    page.mouse.move(0, 0)
    expect(card).to_be_hidden()
    drawing.get_by_role("button", name="PNG").focus()
    page.keyboard.press("Tab")
    expect(card).to_be_visible()
    expect(card).to_contain_text("Oil")
    page.keyboard.press("ArrowRight")
    expect(card).not_to_contain_text("Oil")
    page.keyboard.press("Escape")
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        wait_for_run(page)
        assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0
    has_no_violation(page)
    assert page.evaluate("window.__hit") is None
