"""A study's report, opened from disk: it draws every figure, sends no request, and shows text as text."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from explainlab.app.pages.runs.bundle import study_bundle
from tests.analyses import hostile_study
from tests.analyses.hostile_study import LABELS, TEXT
from tests.tiers import first

SHOWN = {
    "activation": ("text", "light"),
    "rpi_candidates": ("text", "dark"),
    "predictions": ("data", "light"),
    "mistake_drivers": ("data", "dark"),
}
"""The subject of each analysis, and the theme of its report."""
COLOURS = {
    "light": ("rgb(16, 24, 20)", "rgb(255, 255, 255)"),
    "dark": ("rgb(232, 238, 234)", "rgb(17, 22, 20)"),
}
_WAIT = 30_000  # milliseconds


@pytest.fixture(scope="module")
def report_of(tmp_path_factory) -> Callable[[str], Path]:
    """Return the unpacked report of a study, by the study's name."""
    directory = tmp_path_factory.mktemp("reports")
    model, data = hostile_study.models(directory)["bert"], hostile_study.write_data(directory / "rows.csv")

    @cache
    def unpacked(name: str) -> Path:
        result = hostile_study.answer(model, data, name, SHOWN[name][0])
        with zipfile.ZipFile(io.BytesIO(study_bundle(result, LABELS[1]))) as bundle:
            bundle.extract("report.html", directory / name)
        return directory / name / "report.html"

    return unpacked


SHORT = ("activation", "rpi_candidates")


@pytest.mark.parametrize("name", first(SHORT, SHOWN, "10 s each: two reports, light and dark, show the layout"))
def test_a_report_draws_its_figures_by_itself(browser_page, report_of, name):
    theme = SHOWN[name][1]
    page = browser_page(color_scheme=theme, viewport={"width": 420, "height": 900})
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    report = report_of(name).as_uri()
    page.goto(report)
    charts = page.locator(".chart")
    drawn = page.locator(".chart.js-plotly-plot .main-svg .xaxislayer-above")
    drawn.first.wait_for(state="attached", timeout=_WAIT)
    assert page.locator(".chart:not(.js-plotly-plot)").count() == 0
    assert charts.count() > 0
    assert asked == [report]
    assert not errors
    assert page.locator("img, iframe, main script").count() == 0
    assert TEXT in page.locator("main").inner_text() or name in ("predictions", "mistake_drivers")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    ink, paper = COLOURS[theme]
    assert page.locator(".chart .xtick text").first.evaluate("tick => getComputedStyle(tick).fill") == ink
    assert page.locator(".chart .main-svg").first.evaluate("svg => getComputedStyle(svg).backgroundColor") == paper
    told = Axe().run(page)
    assert told.violations_count == 0, told.generate_report()


def test_a_picture_of_a_chart_can_be_saved(browser_page, report_of):
    page = browser_page(viewport={"width": 1280, "height": 900})
    page.goto(report_of("predictions").as_uri())
    chart = page.locator(".chart.js-plotly-plot").first
    chart.hover()
    with page.expect_download(timeout=_WAIT) as download:
        chart.locator(".modebar-btn").first.click()
    picture = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == "confusion.svg"
    assert picture.startswith("<svg")
