"""The charts and the step morph in a real browser: scrubbing asks nobody, points can be pressed, pictures are saved."""

from __future__ import annotations

import re
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from explainlab.analyses.integration.figures import step_morph
from explainlab.request import Request
from tests.analyses.bodies import integration_body
from tests.browser.access import has_no_violation
from tests.browser.conftest import press_mark, wait_for_run

BODY = integration_body()


def ready(page: Page) -> Page:
    expect(page.locator(".js-plotly-plot")).to_have_count(7)
    expect(page.locator(".heatmap")).to_have_count(3)
    return page


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Steps")


def shades(page: Page, inside: str = ".st-key-morph") -> list[str]:
    return page.locator(f"{inside} .token").evaluate_all("t => t.map((x) => x.style.getPropertyValue('--strength'))")


def test_scrubbing_asks_nobody_hostile_words_are_text_charts_are_saved_and_points_pressed(browser_page, parts):
    page = ready(browser_page(f"{parts}/integration"))
    the_slider_moves_all_without_a_request_or_a_rerun_and_a_picked_token_keeps_the_frame(page)
    hostile_words_are_text_everywhere_all_can_read_them_and_a_chart_is_saved(page)
    a_pressed_point_tells_its_row_and_a_narrow_window_needs_no_sideways_scrolling(page)


def the_slider_moves_all_without_a_request_or_a_rerun_and_a_picked_token_keeps_the_frame(opened: Page) -> None:
    sent = []
    opened.on("request", lambda request: sent.append(request.url))
    opened.on("websocket", lambda socket: sent.append(socket.url))
    before = shades(opened)
    told, points = opened.locator(".told"), opened.locator(".axis .points")
    expect(told).to_contain_text("10 steps")
    assert points.get_attribute("d").count("M") == 10
    slider(opened).focus()
    opened.keyboard.press("ArrowRight")
    expect(told).to_contain_text("20 steps")
    expect(slider(opened)).to_have_attribute("aria-valuetext", re.compile("20 steps, error .*%"))
    assert points.get_attribute("d").count("M") == 20
    assert shades(opened) != before
    opened.keyboard.press("End")
    expect(told).to_contain_text("adaptive, 31 evaluations")
    expect(opened.get_by_text("run 1", exact=True)).to_be_visible()
    assert not sent
    opened.locator('.st-key-morph .token[aria-label^="ending,"]').click()
    expect(opened.get_by_text("picked: 8")).to_be_visible()
    expect(opened.get_by_text("Gradient of “ending” along the path")).to_be_visible()
    expect(opened.locator(".told")).to_contain_text("adaptive")


def hostile_words_are_text_everywhere_all_can_read_them_and_a_chart_is_saved(opened: Page) -> None:
    expect(opened.locator(".st-key-morph .text")).to_contain_text("<b>but</b>")
    expect(opened.locator(".st-key-strip .ytick", has_text="<b>but</b>")).to_have_count(1)
    assert opened.locator(".heatmap b, .st-key-strip b").count() == 0
    has_no_violation(opened)
    for kind, start in {"SVG": b"<svg", "PNG": b"\x89PNG", "CSV": b"steps,texts"}.items():
        opened.locator(".st-key-ideal_export button").first.click()
        with opened.expect_download() as download:
            opened.get_by_test_id("stPopoverBody").get_by_role("button", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"ideal-steps.{kind.lower()}"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(start)
        assert len(content) > 50


def a_pressed_point_tells_its_row_and_a_narrow_window_needs_no_sideways_scrolling(opened: Page) -> None:
    chart = opened.locator(".st-key-boxes .js-plotly-plot")
    points = chart.locator(".scatterlayer .trace").first.locator(".points path")
    expect(points).to_have_count(39 * 9)
    press_mark(opened, points.first)
    expect(opened.get_by_text("row: None")).to_have_count(0)
    expect(opened.get_by_text("row: ")).to_be_visible()
    opened.set_viewport_size({"width": 420, "height": 900})
    wait_for_run(opened)
    ready(opened)
    for drawn in opened.locator(".heatmap, .panel, .js-plotly-plot").all():
        box = drawn.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 420
    assert opened.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0


def test_the_saved_morph_scrubs_without_a_server(browser_page, tmp_path):
    file = tmp_path / "steps.html"
    file.write_text(
        step_morph(Request(model="tiny", text="", question="integrated_gradients"), BODY, "right", 0.05).to_html()
    )
    page = browser_page()
    page.goto(file.as_uri())
    before = shades(page, "#morph")
    slider(page).press("End")
    expect(page.locator(".told")).to_contain_text("adaptive, 31 evaluations")
    assert shades(page, "#morph") != before
    assert page.locator(".heatmap b").count() == 0
    page.locator('.token[aria-label^="ending,"]').click()
    expect(page.locator('.token[aria-selected="true"]')).to_have_attribute("aria-label", re.compile("^ending,"))
    assert Axe().run(page).violations_count == 0
