"""The Explain page as tests drive it: a running app with a store of its own, and names for what is on the page."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, TimeoutError, expect
from pydantic import BaseModel

from explainlab.app.entries import entries
from explainlab.app.pages.explain.form import Choice, View
from explainlab.service.store.runs import Filters, Run
from explainlab.service.store.store import Store
from explainlab.settings import Settings

SENTIMENT = "embedded:bert-mini-sst2"
NEWS = "embedded:gpt2-mini-ag-news"

OpenPage = Callable[..., Page]


def view(text: str, *methods: str | Choice, model: str = SENTIMENT, **fields) -> View:
    """A view of ``text``; a method without parameters is given by its id."""
    choices = (Choice(method=method) if isinstance(method, str) else method for method in methods)
    return View(model=model, text=text, methods=tuple(choices), **fields)


def integrated_gradients(steps: int) -> Choice:
    """Return a choice of a slow method: at 10,000 steps it runs for as long as a test needs."""
    return Choice(method="integrated_gradients", parameters={"rule": "midpoint", "steps": steps})


@dataclass(frozen=True)
class App:
    """A running app and its home folder."""

    url: str
    home: Path

    @property
    def store(self) -> Store:
        """The store that the app uses, opened once more."""
        return Store(Settings(home=self.home).store_url)

    def link(self, asked: BaseModel, page: str = "") -> str:
        """Return a link to this view on a page, by default the first one, for any reader."""
        view_id = self.store.save_view(asked.model_dump(mode="json"))
        self.store.share_view(view_id, "link")
        return f"{self.url}/{page}?r={view_id}"


def recorded(app: App, filters: Filters, count: int) -> list[Run]:
    """Wait for ``count`` runs and return the newest ones: a press becomes a run after the page is drawn."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = app.store.runs.page("local", filters, 0, count).runs
        if len(found) == count:
            return list(found)
        time.sleep(0.2)
    raise AssertionError(f"There are no {count} runs of {filters}.")


def text_box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Text", exact=True)


def select(page: Page, label: str) -> Locator:
    return page.get_by_role("combobox", name=label, exact=True)


def choose(page: Page, label: str, option: str, typed: str = "") -> None:
    """Choose an option of a list, after typing."""
    offered = page.get_by_role("option", name=option).first
    _in_list(page, label, offered, lambda: offered.click(timeout=12_000), typed)


def offers(page: Page, label: str, options: list[str]) -> None:
    """Wait until a list offers these options and no others."""
    offered = page.get_by_test_id("stSelectboxVirtualDropdown").get_by_role("option")
    _in_list(page, label, offered.first, lambda: expect(offered).to_have_text(options, timeout=12_000))


def _in_list(page: Page, label: str, offered: Locator, act: Callable[[], None], typed: str = "") -> None:
    """Open a list and act in it. A list closes when the page moves under it: then it is opened again."""
    for _ in range(10):
        if not offered.is_visible():
            select(page, label).fill(typed) if typed else select(page, label).click()
        try:
            return act()
        except (TimeoutError, AssertionError) as error:
            last = error
    raise AssertionError(f"The list {label} was opened ten times in vain.") from last


def press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()


def has_the_frame(page: Page) -> None:
    """The title that app.py sets, and in the navigation the declared pages only: without it, files would be listed."""
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page).to_have_title(re.compile("ExplainLab$"))
    expect(page.get_by_test_id("stSidebarNavLink")).to_contain_text([entry.title for entry in entries()])


def heatmaps(page: Page) -> Locator:
    return page.locator(".heatmap")


def map_shows(page: Page, text: str, which: int = 0) -> None:
    """Wait for the map that shows ``text``."""
    expect(heatmaps(page).nth(which).locator(".text")).to_have_text(text, use_inner_text=True)
