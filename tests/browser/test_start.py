"""The first request to a fresh server, and the same link after a restart."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from explainlab.app.entries import entries
from explainlab.models.loading import model_name
from explainlab.service.store.runs import Filters
from explainlab.settings import ROOT
from tests.browser.conftest import unfold
from tests.browser.explain_page import (
    NEWS,
    App,
    has_the_frame,
    heatmaps,
    integrated_gradients,
    map_shows,
    press,
    recorded,
    select,
    text_box,
    view,
)

TEXT = "The team won the final game. Shares of its sponsor rose."
ASKED = view(
    TEXT,
    integrated_gradients(12),
    "occlusion",
    model=NEWS,
    target="Business",
    output="logit",
    unit="word",
    seed=7,
    palette="blue_orange",
    scale="shared",
)


def shows_what_was_asked(page: Page) -> None:
    expect(heatmaps(page)).to_have_count(2)
    map_shows(page, TEXT)
    unfold(page)  # they fold when the answer comes
    expect(text_box(page)).to_have_value(TEXT)
    expect(select(page, "Model")).to_have_value(model_name(NEWS))
    expect(select(page, "Target")).to_have_value("Business")
    for method in ("Integrated gradients", "Occlusion"):
        expect(page.get_by_role("button", name=f"Remove {method}")).to_be_visible()
    expect(select(page, "Output")).to_have_value("logit")
    expect(page.get_by_role("radio", name="word")).to_be_checked()
    press(page, "More")
    expect(select(page, "Colours")).to_have_value("Blue and orange")
    expect(page.get_by_role("radio", name="One for all")).to_be_checked()
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")
    expect(page.get_by_role("spinbutton", name="Steps", exact=True)).to_have_value("12")
    expect(page.get_by_text("The controls have changed")).to_have_count(0)


def costs(page: Page) -> list[str]:
    """Passes and seconds of each map: the very same only if nothing was computed again."""
    return page.get_by_test_id("stCaptionContainer").filter(has_text="forward").all_inner_texts()


@pytest.mark.full("106 s: it starts three servers")
def test_a_link_opens_the_same_view_on_a_cold_server_and_after_a_restart(serve, browser_page, tmp_path):
    home = {"EXPLAINLAB_HOME": str(tmp_path)}
    with serve(ROOT / "app.py", home) as url:
        app = App(url, tmp_path)
        page = browser_page(app.link(ASKED).replace("/?", "/explain?"))
        shows_what_was_asked(page)
        has_the_frame(page)
        press(page, "Explain")  # a visit alone stores nothing
        recorded(app, Filters(), 2)
        computed = costs(page)
    with serve(ROOT / "app.py", home) as url:
        again = browser_page(App(url, tmp_path).link(ASKED))
        shows_what_was_asked(again)
        assert costs(again) == computed
        assert len(computed) == 2


def test_the_other_address_of_the_home_page_has_the_frame(app, browser_page):
    page = browser_page(f"{app.url}/{entries()[0].url}")
    expect(page.get_by_role("heading", name="Explain", exact=True)).to_be_visible()
    expect(heatmaps(page)).to_have_count(2)
    has_the_frame(page)
