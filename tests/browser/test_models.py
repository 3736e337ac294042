"""The Models page in a real browser: a model is made, read, opened elsewhere and deleted; axe finds nothing."""

from __future__ import annotations

import re
import zipfile

import pytest
from playwright.sync_api import expect

from explainlab.app.pages.models.form import ModelsView
from tests.browser.access import has_no_violation
from tests.browser.conftest import unfold, wait_for_run
from tests.browser.explain_page import press, select
from tests.browser.test_travel import PHONE, fits

TINY = {"epochs": 2, "layers": 1, "width": 16, "heads": 2, "vocabulary": 300}


@pytest.mark.full("28 s: it trains a model; the page test does so without a browser")
def test_a_model_is_made_opened_and_deleted(app, browser_page):
    view = ModelsView(base="bert", source="embedded:sentiment", settings=TINY, validation_share=0.2)
    page = browser_page(app.link(view, "models"), viewport={"width": 1280, "height": 900})
    press(page, "Make the model")
    expect(page.get_by_text(re.compile("The model reads .* of 48 unseen texts right")).first).to_be_visible()
    page.locator("summary").filter(has_text="bert from sentiment").click()
    expect(page.get_by_text("Recipe embedded, seed 0; 8 steps in 2 epochs").nth(1)).to_be_visible()
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("films-1")
    name.press("Enter")
    expect(page.locator("summary").filter(has_text="films-1")).to_be_visible()
    wait_for_run(page)
    has_no_violation(page)
    page.set_viewport_size(PHONE)
    fits(page)
    with page.expect_download() as download:
        press(page, "Download")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert "films-1/model.safetensors" in archive.namelist()
    page.get_by_role("button", name="Errors", exact=True).first.click()
    expect(page.get_by_role("heading", name="Errors", exact=True)).to_be_visible()
    expect(page.get_by_text("Calibration error")).to_be_visible()
    wait_for_run(page)
    unfold(page)
    expect(select(page, "Model")).to_have_value("films-1")
    page.go_back()
    expect(page.get_by_role("heading", name="Your models")).to_be_visible()
    wait_for_run(page)
    if not page.get_by_role("button", name="Delete", exact=True).is_visible():
        page.locator("summary").filter(has_text="films-1").click()
    press(page, "Delete")
    press(page, "Yes, delete this model")
    expect(page.locator("summary").filter(has_text="films-1")).to_have_count(0)
    wait_for_run(page)
    expect(page.get_by_text("The model reads")).to_have_count(0)
