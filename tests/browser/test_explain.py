"""The Explain page in a browser: keys, links, another model and downloads. Other behaviour is in tests/pages."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from explainlab.data import read_dataset
from explainlab.models.loading import model_name
from tests.browser.explain_page import (
    NEWS,
    choose,
    heatmaps,
    map_shows,
    offers,
    press,
    select,
    text_box,
    view,
)

CHANGED = "The controls have changed"


def download(page: Page, button: str) -> Path:
    with page.expect_download() as started:
        page.get_by_role("button", name=button, exact=True).first.click()
    return Path(started.value.path())


# Asking --------------------------------------------------------------------------------------------------------------


def test_enter_runs_shift_enter_starts_a_line_an_example_fills_the_text_and_the_shown_link_opens_elsewhere(
    app, browser_page
):
    page = browser_page(app.link(view("A quiet start.", "occlusion")))
    map_shows(page, "A quiet start.")
    before = page.url
    box = text_box(page)
    box.fill("A loud middle.")
    box.press("Shift+Enter")
    expect(box).to_have_value("A loud middle.\n")
    box.press_sequentially("A good end.")
    map_shows(page, "A quiet start.")
    assert page.url == before
    box.press("Enter")
    map_shows(page, "A loud middle. A good end.")
    expect(box).to_have_value("A loud middle.\nA good end.")
    expect(page).not_to_have_url(before)
    example = next(iter(read_dataset("embedded:sentiment", ("negative", "positive")).rows))
    choose(page, "Example", f"{example.label}: {example.text}")
    expect(box).to_have_value(example.text)
    map_shows(page, example.text)
    expect(select(page, "Example")).to_have_value("")
    link = page.get_by_role("link", name="This link")
    expect(link).to_have_attribute("href", re.compile(re.escape(page.url.split("?")[1])))
    other = browser_page(link.get_attribute("href"))
    map_shows(other, example.text)
    expect(text_box(other)).to_have_value(example.text)


@pytest.mark.full("18 s: a second model; the page test shows the same without a browser")
def test_another_model_brings_its_classes_and_a_pressed_class_is_explained(app, browser_page):
    page = browser_page(app.link(view("Oil prices rose again.", "occlusion", target="negative")))
    expect(heatmaps(page).locator(".legend")).to_contain_text("for negative")
    choose(page, "Model", model_name(NEWS))
    expect(select(page, "Target")).to_have_value("predicted")
    expect(page.get_by_text(CHANGED)).to_be_visible()
    press(page, "Explain")
    expect(page.get_by_role("button", name="Business")).to_be_visible()
    expect(heatmaps(page).locator(".legend")).to_contain_text("for Business")
    page.get_by_role("button", name="Sports").click()
    expect(heatmaps(page).locator(".legend")).to_contain_text("for Sports")
    expect(select(page, "Target")).to_have_value("Sports")
    expect(page.get_by_role("button", name="Sports")).to_have_attribute("aria-pressed", "true")
    offers(page, "Target", ["predicted", "World", "Sports", "Business", "Sci/Tech"])


# Taking away ---------------------------------------------------------------------------------------------------------


def test_files_hold_the_answer_and_the_code_that_gives_the_same_numbers_is_shown(app, browser_page):
    text = "It's a warm, clever film."
    page = browser_page(app.link(view(text, "occlusion", "gradient", unit="word")))
    expect(heatmaps(page)).to_have_count(2)
    report = download(page, "HTML report").read_text(encoding="utf-8")
    assert report.startswith("<!doctype html>")
    for word in ("warm", "clever", "Occlusion", "Gradient"):
        assert word in report
    with download(page, "CSV").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["method"] for row in rows} == {"occlusion", "gradient"}
    assert {"a", "warm", "clever", "film"} <= {row["text"] for row in rows}
    assert all(float(row["score"]) == float(row["score"]) for row in rows)
    record = json.loads(download(page, "JSON").read_text(encoding="utf-8"))
    assert [answer["method"] for answer in record["attributions"]] == ["occlusion", "gradient"]
    assert {answer["text"] for answer in record["attributions"]} == {text}
    picture = ElementTree.fromstring(download(page, "SVG").read_bytes())
    assert {"warm", "clever"} <= {"".join(node.itertext()).strip() for node in picture.iter()}
    assert download(page, "PNG").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    page.get_by_text("Reproduce this").click()
    blocks = page.get_by_test_id("stCode")
    expect(blocks.filter(has_text="explainlab.explain(").first).to_contain_text('"It\'s a warm, clever film."')
    expect(blocks.filter(has_text="python -m explainlab explain").first).to_contain_text("--method occlusion")
