"""Explain's report, opened from disk: the answer, the maps and their bars, on a phone, in the dark, and printed."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from explainlab import explain, load_model
from explainlab.figures.export import report_maps, to_html
from tests.tiers import full

TEXT = "The first act drags a little, but the ending is so beautiful that I forgave everything <b>at once."


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    maps = [explain(classifier, TEXT, method=name) for name in ("integrated_gradients", "occlusion")]
    path = tmp_path_factory.mktemp("report") / "explanation.html"
    path.write_text(to_html(report_maps(maps * 2), verdict="Positive, mainly because of beautiful."), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), full(1280, "dark", reason="3 s")])
def test_bars_fit_and_are_printed_even_where_they_are_folded(browser_page, report, theme, width):
    page = browser_page(color_scheme=theme, viewport={"width": width, "height": 900})
    page.goto(report.as_uri())
    bars = page.locator("table.bars")
    assert (bars.count(), bars.first.is_visible()) == (4, False), "four maps are too many to unfold"
    for summary in page.locator("details.scores > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    beyond = """tracks => tracks.filter(track => {
        const own = track.getBoundingClientRect(), bar = track.firstChild.getBoundingClientRect();
        return bar.width < 1 || bar.left < own.left - 1 || bar.right > own.right + 3;
    }).length"""
    assert page.locator(".track").evaluate_all(beyond) == 0
    told = Axe().run(page)
    assert told.violations_count == 0, told.generate_report()
    for summary in page.locator("details.scores > summary").all():
        summary.click()
    page.emulate_media(media="print")
    assert bars.last.is_visible()
    assert bars.last.bounding_box()["height"] > 200
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is white"
    assert page.locator(".track").first.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"
