"""The Benchmark page in a real browser: from a cell to its texts to their maps, links, hostile words, and for all."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from explainlab.app.pages.benchmark.form import BenchmarkView
from explainlab.metrics.registry import parse_metric
from tests.browser.access import has_no_violation
from tests.browser.conftest import press_mark, press_row, unfold, wait_for_run
from tests.browser.explain_page import SENTIMENT, heatmaps, map_shows, press, text_box
from tests.browser.hostile import HOSTILE, LABELS, SCRIPTS
from tests.browser.jobs import cancel
from tests.zoo import build

COMMON = ["film", "plot", "story", "actor", "scene", "music", "book", "slow", "warm", "dull", "long", "old"]
TINY = "layers=1,width=32,heads=2,vocabulary=200,batch_size=32,max_tokens=96,learning_rate=0.003,epochs=4"
COMP, AUPRC = (parse_metric(name).name for name in ("comprehensiveness", "auprc"))
TEXTS = [
    (HOSTILE, "negative"),
    ("A lovely, warm and funny film.", "positive"),
    ("A joy from the first scene to the last.", "negative"),
    ("Awful and boring from start to end.", "negative"),
    ("Beautiful, touching and wise.", "positive"),
]
ALL_MAPS = "On Explain: every method's map"


def written(path: Path, rows: list[dict]) -> str:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Return a file of texts whose first words are marked, except in the last text."""
    rows = [{"text": text, "label": label} for text, label in TEXTS]
    return written(tmp_path / "rows.jsonl", [{**row, "rationale": [[0, 6]]} for row in rows[:-1]] + rows[-1:])


def view(source: str, **fields) -> BenchmarkView:
    """Return a view that costs little."""
    asked = {"model": SENTIMENT, "methods": ("gradient", "lrp"), "metrics": (COMP,), "sample": "all", **fields}
    return BenchmarkView(source=source, **asked)


def answered(page: Page) -> Page:
    expect(page.get_by_role("heading", name="Agreement", exact=True)).to_be_visible()
    expect(page.locator(".st-key-benchmark_faithfulness svg.marks .mark-rect path").first).to_be_visible()
    wait_for_run(page)
    return page


def press_cell(page: Page, table: str, cell: int) -> None:
    press_mark(page, page.locator(f".st-key-benchmark_{table} svg.marks .mark-rect path").nth(cell))


def pick_first(page: Page, table: str) -> None:
    """Pick the first row of a table of texts."""
    press_row(page, page.locator(f".st-key-benchmark_texts_{table}"), 1)


def words(page: Page, text: str) -> Locator:
    """Return the first words on the page, not those of a table, that have this text."""
    return page.get_by_test_id("stMarkdownContainer").filter(has_text=text).first


def test_a_table_is_saved_and_leads_from_a_cell_and_from_two_methods_to_their_texts_to_all_maps(
    app, browser_page, source
):
    page = answered(browser_page(app.link(view(source), "benchmark"), viewport={"width": 1280, "height": 900}))
    expect(page.get_by_text(re.compile("^Over 5 texts, by .* cannot be distinguished"))).to_be_visible()
    is_saved_and_the_arrow_keys_go_through_it(page)
    press_cell(page, "agreement", 1)
    pair = page.locator(".st-key-benchmark_pair")
    expect(pair.get_by_text("with the lowest rank correlation")).to_be_visible()
    pick_first(page, "pair")
    expect(pair.get_by_text(ALL_MAPS)).to_be_visible()
    press_cell(page, "faithfulness", 0)
    cell = page.locator(".st-key-benchmark_cell")
    expect(cell.get_by_text("The texts behind a cell")).to_be_in_viewport()
    expect(cell.get_by_text("5 texts. Pick one")).to_be_visible()
    pick_first(page, "cell")
    expect(cell.get_by_text(ALL_MAPS)).to_be_visible()
    wait_for_run(page)
    reopened = answered(browser_page(page.url, folded=True))
    expect(reopened.locator(".st-key-benchmark_cell").get_by_text(ALL_MAPS)).to_be_visible()
    page.locator(".st-key-benchmark_open_Explain").get_by_role("button").click()
    expect(page.get_by_role("heading", name="Explain", exact=True)).to_be_visible()
    expect(heatmaps(page)).to_have_count(2)


def is_saved_and_the_arrow_keys_go_through_it(page: Page) -> None:
    page.locator(".st-key-benchmark_faithfulness_export").get_by_role("button").click()
    for kind, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            press(page, kind)
        saved = Path(download.value.path()).read_bytes()
        assert saved.startswith(begin)
        assert download.value.suggested_filename == f"table-faithfulness.{kind.lower()}"
    with page.expect_download() as download:
        press(page, "LaTeX")
    assert "booktabs" in Path(download.value.path()).read_text()
    page.keyboard.press("Escape")
    page.get_by_text("Methods by metrics, to sort").click()
    press_row(page, page.locator(".st-key-benchmark_faithfulness_table"), 1, x=400)
    chosen = page.locator(".st-key-benchmark_cell_method").get_by_role("combobox")
    expect(chosen).not_to_have_value("Choose")
    before = chosen.input_value()
    wait_for_run(page)
    page.keyboard.press("ArrowDown")
    expect(chosen).not_to_have_value(before)


@pytest.mark.full("hostile words are in the first tier on Explain and on the heatmap")
def test_hostile_class_names_and_words_are_words_here_and_on_explain(app, browser_page, tmp_path):
    labels, model = LABELS, build("bert", tmp_path / "hostile")
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    (model / "config.json").write_text(json.dumps({**config, **names}), encoding="utf-8")
    text = "<script>alert(1)</script> good"  # as long as the tiny model reads
    rows = [{"text": text, "label": labels[i % 2]} for i in range(3)]
    asked = view(written(tmp_path / "rows.jsonl", rows), model=str(model), cell_method="lrp", cell_metric=COMP, row=1)
    page = answered(browser_page(app.link(asked, "benchmark"), folded=True))
    expect(words(page, "window.__hit=1")).to_be_visible()
    expect(words(page, text)).to_be_visible()
    page.locator(".st-key-benchmark_open_Explain").get_by_role("button").click()
    map_shows(page, text)
    unfold(page)
    expect(text_box(page)).to_have_value(text)
    assert page.evaluate("window.__hit") is None


@pytest.mark.full("a long walk of 50 s that trains models")
def test_from_a_file_to_planted_truth_to_a_cell_to_a_text_with_hostile_words(app, browser_page, tmp_path):
    chosen, planted = random.Random(3), (SCRIPTS[0], "[link](https://evil.example) **x**")
    texts = [f"{' '.join(chosen.choices(COMMON, k=4))} <b>{i % 3}</b> &amp;" for i in range(800)]
    source = written(tmp_path / "<b>rows & $texts$.jsonl", [{"text": text, "label": "positive"} for text in texts])
    asked = view(source, methods=("gradient",), rows=12, sample="first")
    page = browser_page(app.link(asked, "benchmark"), viewport={"width": 1280, "height": 900})
    expect(page.get_by_role("heading", name="Is there a truth to compare with?")).to_be_visible()
    for label, text in (("Words", ", ".join(planted)), ("Settings of training", TINY)):
        page.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Tab")
        wait_for_run(page)
    press(page, "Plant, train and compare")
    expect(page.get_by_role("heading", name="Ground truth by planted words")).to_be_visible()
    expect(words(page, "The planted words alone decide")).to_be_visible()
    has_no_violation(page)
    press_cell(page, "ground_truth", 0)
    expect(page.get_by_text("12 texts. Pick one")).to_be_visible()
    pick_first(page, "cell")
    expect(page.get_by_text(ALL_MAPS)).to_be_visible()
    expect(words(page, re.compile(r"true (<script>window.__hit=1</script>|\[link\])"))).to_be_visible()
    expect(words(page, "<b>rows & $texts$")).to_be_visible()
    wait_for_run(page)
    assert page.evaluate("window.__hit") is None
    assert not page.locator("a[href*='evil.example']").count()


def test_axe_finds_nothing_on_answers_and_errors(app, browser_page, source, tmp_path):
    opened = {"cell_method": "lrp", "cell_metric": AUPRC, "row": 2, "first": "lrp", "second": "gradient"}
    asked = view(source, metrics=(COMP, AUPRC), **opened)
    page = answered(browser_page(app.link(asked, "benchmark")))
    expect(page.get_by_role("heading", name="Agreement with people, not faithfulness")).to_be_visible()
    for closed in ("Methods by metrics, to sort", "All pairs, to sort", "Definitions"):
        page.get_by_text(closed).first.click()
        wait_for_run(page)
    has_no_violation(page)
    plain = written(tmp_path / "plain.jsonl", [{"text": text, "label": label} for text, label in TEXTS])
    page = browser_page(app.link(view(plain, metrics=(AUPRC,)), "benchmark"))
    expect(page.get_by_text("its column 'rationale' is missing")).to_be_visible()
    has_no_violation(page)


@pytest.mark.full("cancelling is in the first tier on Explain")
def test_a_job_tells_its_texts_and_can_be_cancelled(app, browser_page, tmp_path):
    large = [{"text": f"Text {i}: " + "so long " * 100, "label": "positive"} for i in range(300)]
    page = browser_page(app.link(view(written(tmp_path / "large.jsonl", large), methods=("kernel_shap",)), "benchmark"))
    expect(page.get_by_text(re.compile("of 300 texts"))).to_be_visible()
    has_no_violation(page)
    cancel(page, "Evaluation, whole data set")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()


@pytest.mark.full("32 s: two models by one data set")
def test_several_cells_are_side_by_side_and_each_opens_alone(app, browser_page, source, tmp_path):
    rows = [{"text": text, "label": label} for text, label in TEXTS[1:3]]
    other = written(tmp_path / "<img src=x>.jsonl", rows)
    asked = view(source, methods=("input_x_gradient", "lrp"), sources=(other, f"{other}.gone"))
    page = browser_page(app.link(asked, "benchmark"), viewport={"width": 1280, "height": 900})
    expect(page.get_by_text(re.compile("^Over 2 of 3 cells"))).to_be_visible()
    wait_for_run(page)
    press_cell(page, "set_table", 0)
    expect(page.get_by_text(re.compile("^Over 5 texts"))).to_be_visible()
    press(page, "All 3 cells")
    expect(page.get_by_text(re.compile("^Over 2 of 3 cells"))).to_be_visible()
    page.get_by_text("Beside the published").click()
    expect(page.get_by_text("Beside Barkan et al. 2024 (paper 001), Table 2").first).to_be_visible()
    wait_for_run(page)
    has_no_violation(page)
