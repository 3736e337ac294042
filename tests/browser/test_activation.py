"""The Activation page in a real browser: scrubbing asks nobody and is quick, all can use it, text stays text."""

from __future__ import annotations

import json
import re
from statistics import median

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from explainlab import load_model, study
from explainlab.analyses.activation.figures import activation_scrubber
from explainlab.app.pages.activation.form import ActivationView, DataChoice
from tests.browser.access import has_no_violation
from tests.browser.conftest import is_at_rest, press_mark, wait_for_run
from tests.browser.explain_page import NEWS, text_box
from tests.browser.hostile import HOSTILE
from tests.zoo import build

TEXT = "The champion sued the phone maker."
MILLISECONDS = 50
"""The time limit of one move."""


def view(text: str = TEXT, **fields) -> ActivationView:
    """Return a view that costs little."""
    return ActivationView(**{"model": NEWS, "text": text, "methods": ("input_x_gradient",), **fields})


def answered(page: Page, drawn: int = 3) -> Page:
    expect(page.locator(".js-plotly-plot")).to_have_count(drawn)
    expect(page.locator(".scrubber .token:not(.special)").first).to_be_visible()
    wait_for_run(page)
    return page


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Features revealed")


def revealed(page: Page) -> list[str]:
    return page.locator(".scrubber .token:not(.veiled)").all_inner_texts()


def newest(page: Page) -> Locator:
    return page.locator('.scrubber .token[aria-selected="true"]')


def test_scrubbing_fills_in_the_text_and_sends_nothing(app, browser_page):
    page, sent = browser_page(), []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(app.link(view(), "activation"))
    answered(page)
    is_at_rest(page)
    sent.clear()
    page.on("request", lambda request: sent.append(request.url))
    body = study(load_model(NEWS, device="cpu"), "activation", TEXT, methods=["input_x_gradient"], unit="word").body
    words = [feature.text for feature in body.features]
    best, worst, randomly, _ = body.curves
    target = body.target.index
    slider(page).press("Home")
    assert revealed(page) == []
    for k in range(1, len(words) + 1):
        page.keyboard.press("ArrowRight")
        expect(newest(page)).to_have_text(words[best.order[k - 1]])
        assert sorted(revealed(page)) == sorted(words[i] for i in best.order[:k])
        expect(page.locator(".row.target .value")).to_have_text(f"{100 * best.probabilities[k][target]:.1f}%")
        expect(slider(page)).to_have_attribute("aria-valuetext", re.compile(rf"^{k} of {len(words)} revealed"))
    page.get_by_role("button", name="Worst first").click()
    slider(page).press("Home")
    page.keyboard.press("ArrowRight")
    expect(newest(page)).to_have_text(words[worst.order[0]])
    page.get_by_role("button", name="Best first").click()
    page.get_by_role("combobox", name="Order of").select_option("Random")
    expect(newest(page)).to_have_text(words[randomly.order[0]])
    page.locator(".scrubber .token").nth(randomly.order[3]).click()
    expect(page.locator(".count")).to_have_text(f"4 of {len(words)}")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".count")).to_have_text(f"{len(words)} of {len(words)}")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.locator(".plot").click(position={"x": 1, "y": 20})
    expect(page.locator(".count")).to_have_text(f"0 of {len(words)}")
    assert not sent


@pytest.fixture
def patient_model(tmp_path) -> str:
    """Return a tiny model that reads long texts: its positions are turned, so that it has no table of them."""
    directory = build("llama", tmp_path / "patient")
    for name, key in (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length")):
        told = json.loads((directory / name).read_text(encoding="utf-8"))
        (directory / name).write_text(json.dumps({**told, key: 2048}), encoding="utf-8")
    return str(directory)


@pytest.mark.full("it measures time, so it needs a quiet machine")
def test_a_move_along_two_hundred_words_takes_less_than_a_twentieth_of_a_second(app, browser_page, patient_model):
    long = " ".join(["a funny and warm film"] * 41)
    page = answered(browser_page(app.link(view(long, model=patient_model, methods=("random",)), "activation")))
    assert int(slider(page).get_attribute("max")) >= 200
    spent = slider(page).evaluate(
        """slider => Array.from({ length: Number(slider.max) + 1 }, (_, k) => {
            const start = performance.now();
            slider.value = String(k);
            slider.dispatchEvent(new Event("input"));
            slider.getRootNode().querySelector(".scrubber").getBoundingClientRect();
            return performance.now() - start;
        })"""
    )
    assert median(spent) < MILLISECONDS, "other tests keep the machine busy, which delays some moves"


@pytest.mark.full("40 s: a study of a data set in the browser")
def test_hostile_text_is_text_axe_finds_nothing_and_a_point_opens_its_text(app, browser_page, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("text,label\nA goal at last.,Sports\nA new chip.,Sci/Tech\n")
    data = DataChoice(source=str(file), reference="kernel_shap:samples=16n")
    size = {"width": 1280, "height": 1000}
    page = answered(browser_page(app.link(view(HOSTILE, data=data), "activation"), viewport=size), drawn=8)
    expect(page.locator(".scrubber .text")).to_have_text(HOSTILE, use_inner_text=True)
    expect(text_box(page)).to_have_value(HOSTILE)
    assert page.locator(".scrubber script, .scrubber img, .js-plotly-plot img, .js-plotly-plot script").count() == 0
    page.get_by_text("All texts").click()
    page.get_by_text("Definitions").first.click()
    expect(page.get_by_text("by the trapezoid rule").first).to_be_visible()
    has_no_violation(page)
    boxes = page.locator(".st-key-activation_similarity .js-plotly-plot")
    press_mark(page, boxes.locator(".points path").first)
    expect(text_box(page)).to_have_value(re.compile("^A (goal at last|new chip)\\.$"))
    answered(page, drawn=8)
    page = browser_page(app.link(view(methods=("nothing",)), "activation"))
    expect(page.get_by_text("There is no method")).to_be_visible()
    has_no_violation(page)


def test_the_saved_scrubber_moves_without_a_server(browser_page, tmp_path):
    asked = view(HOSTILE)
    body = study(load_model(NEWS, device="cpu"), "activation", HOSTILE, methods=["random"], unit="word").body
    file = tmp_path / "activation.html"
    file.write_text(activation_scrubber(asked.text_request(), body).to_html(), encoding="utf-8")
    page = browser_page()
    page.goto(file.as_uri())
    slider(page).press("Home")
    assert revealed(page) == []
    slider(page).press("ArrowRight")
    expect(newest(page)).to_have_text(body.features[body.curves[0].order[0]].text)
    assert page.locator(".scrubber img, .scrubber script").count() == 0
    assert Axe().run(page).violations_count == 0
