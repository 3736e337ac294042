"""The Runs page in a real browser: ticked, compared, taken away, brought back, deleted; for all; text is text."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from explainlab.service.store.runs import Filters, Run, line
from tests.browser.access import has_no_violation
from tests.browser.conftest import unfold, wait_for_run
from tests.browser.explain_page import App, heatmaps, map_shows, press, recorded, text_box, view
from tests.browser.hostile import HOSTILE
from tests.load.session import Session

ROW = 35
MODEL_GONE = "embedded:<img src=x onerror=alert(1)>"


def ask(app: App, button: str, query: str = "", page: str = "") -> None:
    """Press a button of a page once it has its answer, in a session without a browser."""

    async def visit() -> None:
        async with Session(app.url, query, page) as session:
            await session.answered()
            await session.press(button)

    with ThreadPoolExecutor(1) as thread:  # this one has the browser's event loop
        thread.submit(asyncio.run, visit()).result()


def computed(app: App, text: str) -> list[Run]:
    """Return two maps of ``text`` that the Explain page has made, the newest first."""
    ask(app, "Explain", app.link(view(text, "occlusion", "input_x_gradient")).partition("?")[2])
    return recorded(app, Filters(words=line(text)), 2)


def tick(page: Page, row: int) -> None:
    """Tick a row of the table, which is drawn on a canvas."""
    page.get_by_test_id("stDataFrame").first.click(position={"x": 17, "y": ROW * (row + 1) + ROW // 2})
    wait_for_run(page)


def downloaded(page: Page, button: str) -> bytes:
    with page.expect_download() as download:
        press(page, button)
    return Path(download.value.path()).read_bytes()


def test_runs_are_ticked_compared_taken_away_and_deleted_and_all_can_read_them(app, browser_page):
    text = "A slow start and a lovely end."
    computed(app, text)
    page = browser_page(f"{app.url}/runs")
    search = page.get_by_role("textbox", name="Search")
    search.fill("lovely end")
    search.press("Enter")
    expect(page.get_by_text("2 runs", exact=True)).to_be_visible()
    tick(page, 0)
    tick(page, 1)
    press(page, "Compare")
    expect(page.get_by_role("heading", name="Two runs side by side")).to_be_visible()
    expect(heatmaps(page)).to_have_count(2)
    for which in range(2):
        map_shows(page, text, which)
    expect(page.get_by_text("Rank correlation", exact=True)).to_be_visible()
    has_no_violation(page)
    page.get_by_role("button", name="Open").first.click()
    expect(heatmaps(page)).to_have_count(1)
    assert page.url.count("run=") == 1
    assert "with=" not in page.url
    is_for_all(page)

    with zipfile.ZipFile(io.BytesIO(downloaded(page, "Bundle"))) as bundle:
        assert set(bundle.namelist()) == {"report.html", "map.svg", "scores.csv", "result.json"}
    press(page, "Compute again")
    expect(page.get_by_text("Computed again: exactly the same.")).to_be_visible()
    press(page, "Delete")
    press(page, "Yes, delete this run")
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    assert len(app.store.runs.page("local", Filters(words="lovely end")).runs) == 1


@pytest.mark.full("7 s: a study in the browser; the files are tested without one")
def test_a_studys_bundle_has_its_figures(app, browser_page):
    ask(app, "Predict", page="errors")
    (run,) = recorded(app, Filters(words="sentiment", question="predictions"), 1)
    page = browser_page(f"{app.url}/runs?run={run.id}")
    with zipfile.ZipFile(io.BytesIO(downloaded(page, "Bundle"))) as bundle:
        files = set(bundle.namelist())
        assert b"<td>sentiment</td>" in bundle.read("report.html")
    drawn = {f"figures/{name}.{ending}" for name in ("confusion", "reliability") for ending in ("json", "csv")}
    assert files == {"report.html", "result.json", "per_class.csv", "rows.csv", *drawn}


def import_file(page: Page, file: Path) -> None:
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_test_id("stFileUploader")).to_contain_text(file.name)
    press(page, "Import")


def test_a_result_is_taken_away_and_brought_back_and_all_can_read_the_list(app, browser_page, tmp_path):
    run = computed(app, HOSTILE)[0]
    page = browser_page(f"{app.url}/runs?run={run.id}")
    map_shows(page, HOSTILE)
    body = json.loads(downloaded(page, "JSON"))
    body["attributions"][0]["model"] = MODEL_GONE
    body["attributions"][0]["warnings"] = [HOSTILE]
    file, broken = tmp_path / "run.json", tmp_path / "broken.json"
    file.write_text(json.dumps(body))
    broken.write_text('{"attributions": [{"method": "<b>"}]}')
    press(page, "All runs")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    tick(page, 0)
    page.get_by_text("Import results").click()
    expect(page.get_by_role("button", name="Import")).to_be_visible()
    uploader = "[data-testid=stFileUploaderDropzone]"  # of which axe dislikes Streamlit's own markup
    is_for_all(page, {"exclude": [[uploader]]})
    import_file(page, broken)
    expect(page.get_by_text("is missing. Field required.")).to_be_visible()
    import_file(page, file)
    press(page, "Show")
    expect(page.get_by_text("imported from a file")).to_be_visible()
    map_shows(page, HOSTILE)
    expect(page.get_by_text("The model is gone.")).to_contain_text(MODEL_GONE)
    expect(page.get_by_test_id("stAlert").filter(has_text=HOSTILE)).to_be_visible()


@pytest.mark.full("the page test shows the same without a browser")
def test_a_run_leads_to_its_page(app, browser_page):
    text = "From a run to its page."
    run = next(one for one in computed(app, text) if one.question == "occlusion")
    page = browser_page(f"{app.url}/runs?run={run.id}")
    press(page, "Open in Explain")
    expect(page.get_by_role("heading", name="Explain", exact=True)).to_be_visible()
    map_shows(page, text)
    unfold(page)
    expect(text_box(page)).to_have_value(text)
    expect(page.get_by_role("button", name="Remove Occlusion")).to_be_visible()


def is_for_all(page: Page, context: dict[str, Any] | None = None) -> None:
    """Check that axe finds nothing, and that a narrow window needs no sideways scrolling."""
    has_no_violation(page, context)
    wide = page.viewport_size
    page.set_viewport_size({"width": 420, "height": 900})
    wait_for_run(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 0
    page.set_viewport_size(wide)
