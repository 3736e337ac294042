"""Every figure of every analysis, drawn and saved in Chromium: no text leaves its picture, and no legend is cut."""

from __future__ import annotations

import csv
import inspect
import json
from collections.abc import Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from playwright.sync_api import Page, expect
from plotly.offline import get_plotlyjs
from streamlit import __file__ as streamlit

from explainlab import explain, load_model
from explainlab.analyses.figures import figures_of
from explainlab.attribution.records import Attribution
from explainlab.data import examples_for, read_dataset
from explainlab.figures import scores
from explainlab.figures.chart import Chart
from explainlab.figures.export import component_file
from explainlab.figures.heatmap import Heatmap
from explainlab.figures.svg import draw_svg
from explainlab.models.classifier import Classifier
from explainlab.settings import ROOT
from tests.analyses import hostile_study
from tests.browser.explain_page import OpenPage

WIDTHS = (390, 1200)
FONT = next(Path(streamlit).parent.glob("static/static/media/SourceSansVF-Upright*.woff2"))
"""The font of the app's pages, which no saved picture can bring along."""
TEXT = "The first act drags, but the ending is beautiful and I forgave everything."

CUT = """svgs => svgs.flatMap(svg => {
  const canvas = svg.getBoundingClientRect();
  const inside = (box, frame) => box.left >= frame.left - 1 && box.right <= frame.right + 1
    && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  return [...svg.querySelectorAll("text")].filter(text => {
    const box = text.getBoundingClientRect();
    if (!box.width || text.closest(".hoverlayer")) return false;
    const legend = text.closest(".legend")?.querySelector(".bg");
    return !inside(box, canvas) || (legend && !inside(box, legend.getBoundingClientRect()));
  }).map(text => `${svg.closest("[data-name]").dataset.name}: ${text.textContent}`);
})"""
"""The texts of pictures that leave their canvas, or the frame of their legend, each with the picture's name."""


SAVED = """async () => {
  const saved = [];
  HTMLAnchorElement.prototype.click = () => {};
  URL.createObjectURL = blob => saved.push(blob.text());
  const buttons = [...document.querySelectorAll(".picture")].filter(button => button.textContent === "SVG");
  for (const button of buttons) {
    const before = saved.length;
    button.click();
    while (saved.length === before) await new Promise(done => setTimeout(done, 10));
  }
  return Promise.all(saved);
}"""
"""Presses every chart's button; the pictures that would be downloaded."""

FILLED = """() => [...document.querySelectorAll(".js-plotly-plot")].every(chart =>
  Math.abs(chart.querySelector(".main-svg").getBoundingClientRect().width - chart.clientWidth) < 2)"""
"""True if every chart is as wide as its place, a moment after the window has changed."""

Pictures = tuple[dict[str, Chart], dict[str, Heatmap]]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Pictures:
    """The charts and the heatmaps of every analysis, by names that tell them apart.

    They are of a text before a real model, and of a few rows before a tiny one with its classes.
    """
    directory = tmp_path_factory.mktemp("rows")
    charts: dict[str, Chart] = {}
    maps: dict[str, Heatmap] = {}
    values: list[Any] = []
    real = {"bert": load_model("embedded:bert-mini-sst2", device="cpu")}
    real["gpt2"] = load_model("embedded:gpt2-mini-ag-news", device="cpu")
    tiny = hostile_study.models(directory, real["bert"].labels)
    for name, kind in hostile_study.CASES:
        model = (real if kind == "text" else tiny)["gpt2" if name == "intermediate_predictions" else "bert"]
        result = hostile_study.answer(model, few_rows(directory, model), name, kind, TEXT)
        values.append(result.body)
        drawn = figures_of(result)
        charts |= {f"{name} {kind} {key}": chart for key, chart in drawn.charts.items()}
        maps |= {f"{name} {kind} {key}": entry.drawn for key, entry in drawn.maps.items()}
    maps["long names"] = next(iter(maps.values())).model_copy(update={"target": TEXT * 3, "model": "x" * 200})
    values += [
        explain(real["bert"], TEXT, method) for method in ("gradient_shap", "input_x_gradient", "attention_average")
    ]
    return charts | charts_of(values), maps


def charts_of(values: Sequence[Any]) -> dict[str, Chart]:
    """The charts of no single result: those that are made of an attribution alone, and of several values of a kind."""
    charts: dict[str, Chart] = {}
    folders = sorted(path.parent.name for path in (ROOT / "explainlab" / "analyses").glob("*/figures.py"))
    for module in (scores, *(import_module(f"explainlab.analyses.{folder}.figures") for folder in folders)):
        for name, draw in inspect.getmembers(module, inspect.isfunction):
            signature = inspect.signature(draw, eval_str=True)
            if name.startswith("_") or signature.return_annotation is not Chart:
                continue
            first, *others = signature.parameters.values()
            if any(other.default is other.empty for other in others):
                continue
            several = get_args(first.annotation) if get_origin(first.annotation) is Sequence else ()
            fitting = [value for value in values if isinstance(value, several or Attribution)]
            if several or first.annotation is Attribution:
                charts[name] = draw(fitting if several else fitting[0])
    return charts


@pytest.fixture(scope="module")
def page_file(figures: Pictures, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all charts, in the app's font, each with its buttons that save it, and all heatmaps' SVG."""
    charts, maps = figures
    drawn = [{**json.loads(chart.figure.to_json()), "config": chart.config} for chart in charts.values()]
    places = "".join(
        f'<div class="st-key-chart-{i}" data-name="{escape(name)}"><div class="chart"></div></div>'
        for i, name in enumerate(charts)
    )
    pictures = "".join(f'<div class="map" data-name="{escape(name)}">{draw_svg(m)}</div>' for name, m in maps.items())
    saving = component_file("chart_pictures.js").replace("export default function", "function pictures")
    file = tmp_path_factory.mktemp("page") / "figures.html"
    file.write_text(f"""<!doctype html><meta charset="utf-8"><style>
      @font-face {{ font-family: "Source Sans"; src: url("{FONT.as_uri()}"); font-weight: 200 900; }}
      :root {{ --st-text-color: #101814; --st-background-color: #fff; --st-border-color: #ccc;
        --st-font: "Source Sans"; }}
      body {{ margin: 16px; font: 16px "Source Sans"; }}
    </style><body class="stApp">Fonts load when they are used. {places}{pictures}
    <script type="application/json" id="figures">{json.dumps(drawn).replace("<", chr(92) + "u003c")}</script>
    <script>{get_plotlyjs()}</script>
    <script type="module">await document.fonts.ready;
    {component_file("study_charts.js")}
    {saving}
    document.querySelectorAll(".chart").forEach((chart, i) => pictures({{
      data: {{ chart: `chart-${{i}}`, name: String(i) }}, parentElement: chart.parentElement }}));
    document.body.dataset.ready = "yes";</script>""")
    return file


@pytest.mark.full("a walk of 80 s over all figures")
def test_no_text_is_cut_on_a_page_or_in_a_saved_picture_in_a_narrow_and_in_a_wide_window(
    browser_page: OpenPage, figures: Pictures, page_file: Path
) -> None:
    page = browser_page(viewport={"width": WIDTHS[0], "height": 900})
    page.goto(page_file.as_uri())
    page.locator("body[data-ready]").wait_for()
    expect(page.locator(".js-plotly-plot")).to_have_count(len(figures[0]))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(FILLED)
        assert cut(page, ".js-plotly-plot svg.main-svg") == []
        assert cut(page, ".map svg") == []
        saved = browser_page(viewport={"width": width, "height": 900})
        saved.set_content("".join(
            f'<div data-name="saved {escape(name)}">{picture}</div>'
            for name, picture in zip(figures[0], page.evaluate(SAVED), strict=True)
        ))  # fmt: skip
        assert cut(saved, "body > div > svg") == []


def few_rows(directory: Path, model: Classifier) -> str:
    """A file of :data:`TEXT` and the first embedded examples that fit ``model``, with something marked in each."""
    file = directory / f"{len(model.labels)}.csv"
    rows = read_dataset(examples_for(model.labels).id, limit=3).rows
    with file.open("w", newline="", encoding="utf-8") as opened:
        texts = [(TEXT, rows[0].label), *((row.text, row.label) for row in rows)]
        csv.writer(opened).writerows([("text", "label", "rationale"), *((*row, "[[0, 3]]") for row in texts)])
    return str(file)


def cut(page: Page, pictures: str) -> list[str]:
    """Return the texts in ``pictures`` that are cut off."""
    return page.locator(pictures).evaluate_all(CUT)
