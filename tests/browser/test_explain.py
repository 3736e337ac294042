"""The Explain page in a browser: ask in every way, take the answer away, open links, and what bad input gets."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from playwright.sync_api import Page, expect

from explainlab.data import read_dataset
from explainlab.models.loading import model_name
from tests.browser.explain_page import (
    NEWS,
    SENTIMENT,
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


def test_a_changed_control_waits_for_the_button(app, browser_page):
    page = browser_page(app.link(view("An unforgettable evening.", "occlusion")))
    tokens = heatmaps(page).locator(".token:not(.special)")
    map_shows(page, "An unforgettable evening.")
    pieces = tokens.count()
    expect(page.get_by_text(CHANGED)).to_have_count(0)
    page.get_by_test_id("stRadio").get_by_text("word", exact=True).click()
    expect(page.get_by_text(CHANGED)).to_be_visible()
    expect(tokens).to_have_count(pieces)
    press(page, "Explain")
    expect(page.get_by_text(CHANGED)).to_have_count(0)
    expect(tokens).to_have_count(4)
    page.get_by_test_id("stRadio").get_by_text("token", exact=True).click()
    expect(tokens).to_have_count(pieces)
    expect(page.get_by_text(CHANGED)).to_have_count(0)


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


# Links ---------------------------------------------------------------------------------------------------------------


def test_an_unknown_link_says_so_and_shows_the_first_view(app, browser_page):
    page = browser_page(f"{app.url}/?r=0123456789abcdef")
    expect(page.get_by_text("There is no view under this link here.")).to_be_visible()
    expect(heatmaps(page)).to_have_count(2)


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


# Bad input -----------------------------------------------------------------------------------------------------------


def test_an_unknown_model_gets_the_nearest_names_and_nothing_is_lost(app, browser_page):
    page = browser_page(app.link(view("A fine film.", "occlusion")))
    map_shows(page, "A fine film.")
    choose(page, "Model", "Add: embedded:bert-mini-sst", typed="embedded:bert-mini-sst")
    press(page, "Explain")
    error = page.get_by_test_id("stAlert")
    expect(error).to_contain_text("There is no embedded model")
    expect(error).to_contain_text(re.compile("Did you mean embedded:\u2060?bert-mini-sst2"))
    expect(text_box(page)).to_have_value("A fine film.")
    choose(page, "Model", model_name(SENTIMENT))
    map_shows(page, "A fine film.")


def test_a_text_that_cannot_be_explained_gets_a_clear_line(app, browser_page):
    page = browser_page(app.link(view(" ", "occlusion")))
    told = page.get_by_test_id("stAlert").filter(has_text="Occlusion")
    expect(told).to_contain_text("The text is empty.")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    for text, shown in (("A better one.", True), ("[CLS] [SEP]", False), ("The best one.", True)):
        text_box(page).fill(text)
        text_box(page).press("Enter")
        if shown:
            map_shows(page, text)
        else:
            expect(told).to_contain_text("no token")
            expect(page.get_by_role("button", name="Run again")).to_be_visible()


def test_a_method_that_the_model_cannot_support_leaves_the_others_alone(app, browser_page, zoo_path):
    asked = view("a good film", "attention_rollout", "occlusion", model=str(zoo_path("t5")))
    page = browser_page(app.link(asked))
    expect(page.get_by_text("Attention rollout cannot run on a")).to_be_visible()
    map_shows(page, "a good film")
    expect(heatmaps(page)).to_have_count(1)
