"""The Errors page in a real browser: cells, rows and arrow keys move, text stays text, all can use it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from explainlab.app.pages.errors.form import ErrorsView
from tests.browser.access import has_no_violation
from tests.browser.conftest import press_mark, press_row, unfold, wait_for_run
from tests.browser.explain_page import SENTIMENT, map_shows, press, text_box
from tests.browser.hostile import HOSTILE
from tests.zoo import build

ROWS = [
    ("A dull, slow and lifeless film.", "negative"),
    ("A lovely, warm and funny film.", "positive"),
    (HOSTILE, "negative"),
    ("A joy from the first scene to the last.", "negative"),
    ("Awful.", "positive"),
    ("Boring from start to end.", "positive"),
]


def written(path: Path, rows: list[tuple[str, str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return str(path)


@pytest.fixture
def source(tmp_path) -> str:
    return written(tmp_path / "rows.csv", ROWS)


def view(source: str, **fields) -> ErrorsView:
    """Return a view that costs little; rows as in the file."""
    chosen = {"model": SENTIMENT, "method": "input_x_gradient", "sort": "row", **fields}
    return ErrorsView(source=source, **chosen)


def opened(page: Page, row: int) -> Page:
    expect(heading(page, row)).to_be_visible()
    expect(page.locator(".heatmap").first).to_be_visible()
    wait_for_run(page)
    return page


def heading(page: Page, row: int) -> Locator:
    return page.get_by_role("heading", name=f"Row {row}", exact=True)


def press_cell(page: Page, table: str = "confusion", place: int = 2) -> None:
    press_mark(page, page.locator(f".st-key-errors_{table} svg.marks .mark-rect path").nth(place))


def test_cells_rows_and_arrow_keys_move_a_remark_stays_and_a_row_opens_in_explain(app, browser_page, source):
    page = browser_page(app.link(view(source), "errors"), viewport={"width": 1280, "height": 700})
    opened(page, 3)
    map_shows(page, HOSTILE)
    expect(page.locator(".heatmap")).to_have_count(3)
    expect(page.get_by_text("4 of 6 rows")).to_be_visible()
    press_cell(page)
    expect(page.get_by_text("2 of 6 rows")).to_be_visible()
    expect(page.get_by_role("heading", name="Rows")).to_be_in_viewport()
    opened(page, 5)
    press_cell(page)
    expect(page.get_by_text("4 of 6 rows")).to_be_visible()
    opened(page, 3)
    press_row(page, page.locator(".st-key-errors_table"), 2)
    opened(page, 4)
    press(page, "Next")
    opened(page, 5)
    page.keyboard.press("ArrowLeft")
    opened(page, 4)
    note = page.get_by_role("textbox", name="Note")
    note.fill("<b>why</b>?")
    page.keyboard.press("ArrowRight")
    wait_for_run(page)
    expect(heading(page, 4)).to_be_visible()
    note.blur()
    wait_for_run(page)
    again = opened(browser_page(page.url, folded=True), 4)
    expect(again.get_by_role("textbox", name="Note")).to_have_value("<b>why</b>?")
    page.keyboard.press("ArrowLeft")
    opened(page, 3)
    page.locator(".st-key-errors_open_Explain").get_by_role("button").click()
    expect(page.get_by_role("heading", name="Explain", exact=True)).to_be_visible()
    map_shows(page, HOSTILE)
    unfold(page)
    expect(text_box(page)).to_have_value(HOSTILE)
    assert page.locator(".heatmap script, .heatmap img").count() == 0


@pytest.mark.full("12 s: two models by one data set")
def test_a_cell_of_several_opens_its_own_page_and_leads_back(app, browser_page, source, tmp_path):
    other = written(tmp_path / "<img src=x>.csv", ROWS[:2])
    asked = view(source, sources=(other, f"{other}.gone"))
    page = browser_page(app.link(asked, "errors"), viewport={"width": 1280, "height": 900})
    over = page.get_by_text(re.compile("^Over 2 of 3 cells"))
    expect(over).to_be_visible()
    wait_for_run(page)
    has_no_violation(page)
    press_cell(page, "set_table", 1)
    expect(page.get_by_text(re.compile("^The model is right about 100.0% of 2 rows"))).to_be_visible()
    press(page, "All 3 cells")
    expect(over).to_be_visible()


@pytest.mark.full("24 s: a study of a data set in the browser")
def test_a_word_that_drives_mistakes_lists_its_rows_and_axe_finds_nothing(app, browser_page, tmp_path):
    data = written(tmp_path / "rows.csv", [*ROWS, ("A long film.", "positive")])
    asked = view(data, row=4, edit="A dull film.")
    page = opened(browser_page(app.link(asked, "errors"), viewport={"width": 1280, "height": 1000}), 4)
    expect(page.locator(".heatmap")).to_have_count(5)
    press(page, "Explain all mistakes")
    table = page.locator(".st-key-errors_words_folded_table")
    table.locator("canvas").first.wait_for()
    expect(page.locator(".heatmap")).to_have_count(5)
    has_no_violation(page)
    press_row(page, table, 1)
    expect(page.locator(".st-key-errors_picked").get_by_text("Picked: ")).to_be_visible()


def bytes_received(page: Page) -> list[int]:
    """Return the bytes of each message that the server will send to ``page``, a list that grows."""
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda message: received.append(len(message))))
    return received


@pytest.mark.full("it predicts two thousand rows")
def test_one_of_two_thousand_rows_sends_the_browser_as_much_as_one_of_ten(app, browser_page, tmp_path):
    """The seconds depend on the machine; ``tests/pages/test_errors.py`` compares what both cost the server."""
    model, sent = str(build("bert", tmp_path / "tiny")), {}
    for size in (10, 2_000):
        page = browser_page()
        received = bytes_received(page)
        source = written(tmp_path / f"{size}.csv", [(f"so long {i}", "negative") for i in range(size)])
        page.goto(app.link(view(source, model=model, show="all"), "errors"))
        opened(page, 1)
        for number in (2, 3):  # rows that were explained ahead
            page.keyboard.press("ArrowRight")
            opened(page, number)
        received.clear()
        page.keyboard.press("ArrowLeft")
        opened(page, 2)
        sent[size] = sum(received)
    assert 0 < sent[2_000] < 2 * sent[10], sent
