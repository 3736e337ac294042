"""Hostile texts, class names and model names on the Explain page: shown as they are, and nothing of them runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser import hostile
from tests.browser.conftest import unfold, wait_for_run
from tests.browser.explain_page import App, OpenPage, choose, heatmaps, offers, press, select, text_box, view
from tests.zoo import build

PAIR = " ".join(hostile.MARKS)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model whose classes are called so."""
    directory = build("bert", tmp_path_factory.mktemp("hostile model"))
    path = directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["id2label"] = {str(i): label for i, label in enumerate(hostile.LABELS)}
    config["label2id"] = {label: i for i, label in enumerate(hostile.LABELS)}
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(directory)


@pytest.fixture(scope="module")
def hostile_app(serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home = tmp_path_factory.mktemp("hostile")
    with (home / "examples.csv").open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerows([("text", "label"), *zip(hostile.SCRIPTS, hostile.LABELS, strict=True)])
    environment = {"EXPLAINLAB_HOME": str(home), "HOSTILE_EXAMPLES": str(home / "examples.csv")}
    with serve(Path(hostile.__file__), environment) as url:
        yield App(url, home)


@pytest.fixture
def guarded(browser_page: OpenPage, hostile_app: App) -> Iterator[OpenPage]:
    """Open pages; afterwards check that no script of a text ran and that no page sent a request to a foreign host."""
    pages: list[Page] = []
    foreign: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((hostile_app.url, "blob:", "data:", "file:")):
            foreign.append(request.url)

    def opened(url: str) -> Page:
        pages.append(browser_page())
        pages[-1].on("request", note)
        pages[-1].goto(url)
        return pages[-1]

    yield opened
    assert pages
    for page in pages:
        assert page.evaluate("window.__hit") is None
    assert not foreign


def shows(page: Page, *texts: str) -> None:
    """The maps show these words, character for character."""
    for text in texts:
        for word in text.split():
            expect(heatmaps(page).first.locator(".text")).to_contain_text(word)


def test_hostile_texts_are_shown_and_taken_away_as_they_are(hostile_app, guarded):
    text = " ".join(hostile.SCRIPTS[1:])
    page = guarded(hostile_app.link(view(text, "occlusion", "gradient", text_pair=PAIR, unit="word")))
    expect(heatmaps(page)).to_have_count(2)
    shows(page, text, *hostile.MARKS[:3])
    unfold(page)
    expect(text_box(page)).to_have_value(text)
    expect(page.get_by_role("textbox", name="Second text")).to_have_value(PAIR)
    for closed in ("Scores", "Reproduce this"):
        page.get_by_text(closed).first.click()
    expect(page.get_by_test_id("stCode").first).to_contain_text("<svg><script>window.__hit=1</script></svg>")
    expect(page.get_by_role("heading", name="Agreement")).to_be_visible()
    for button in ("HTML report", "SVG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=button, exact=True).first.click()
        file = hostile_app.home / download.value.suggested_filename
        download.value.save_as(file)
        opened = guarded(file.as_uri())
        content = opened.locator(":root")
        expect(content).to_contain_text("__hit")
        expect(content).to_contain_text("evil.example")
        assert opened.locator("script, img, iframe").count() == 0


def test_hostile_class_names_are_only_names(hostile_app, guarded, model):
    page = guarded(hostile_app.link(view("a good film", "occlusion", "gradient", model=model)))
    expect(heatmaps(page)).to_have_count(2)
    unfold(page)
    said = page.get_by_test_id("stMetricValue").inner_text().replace("\u2060", "")
    assert said in hostile.LABELS
    for label in hostile.LABELS:
        page.get_by_role("button", name=label).click()
        expect(select(page, "Target")).to_have_value(label)
        expect(heatmaps(page)).to_have_count(2)
        expect(heatmaps(page).first.locator(".legend")).to_contain_text(f"for {label}")
        wait_for_run(page)
    offers(page, "Target", ["predicted", *hostile.LABELS])


@pytest.mark.full("13 s; hostile texts and class names are in the first tier")
def test_hostile_examples_are_only_text(hostile_app, guarded, model):
    page = guarded(hostile_app.link(view("a good film", "occlusion", model=model)))
    expect(heatmaps(page)).to_have_count(1)
    unfold(page)
    for text, label in zip(hostile.SCRIPTS, hostile.LABELS, strict=True):
        choose(page, "Example", f"{label}: {text}")
        expect(text_box(page)).to_have_value(text)
        shows(page, text)


@pytest.mark.full("11 s; hostile texts and class names are in the first tier")
def test_hostile_names_in_errors_are_only_names(hostile_app, guarded):
    name = " ".join(hostile.SCRIPTS)
    page = guarded(hostile_app.link(view("a good film", "occlusion", model=name)))
    expect(page.get_by_test_id("stAlert")).to_contain_text(name)
    page = guarded(hostile_app.link(view(name, "occlusion", target=name)))
    expect(page.get_by_test_id("stAlert")).to_contain_text(name)
    expect(page.get_by_test_id("stAlert")).to_contain_text("is not a class of this model")
    unfold(page)
    press(page, "Explain")
    expect(heatmaps(page)).to_have_count(1)
