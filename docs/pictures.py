"""The pictures of the README and of the manual, taken from the running app.

    .venv/bin/python docs/pictures.py            every picture, in about four minutes
    .venv/bin/python docs/pictures.py explain    one of them

The script starts the app with an empty store and writes to ``docs/pictures/``. Look at the pictures before you commit
them.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from explainlab.app.pages.explain.form import first_view
from explainlab.settings import ROOT
from tests.browser.conftest import CHROMIUMS, unfold, wait_for_run
from tests.browser.explain_page import App, heatmaps, map_shows, press, text_box, view
from tests.servers import serving

FOLDER = ROOT / "docs" / "pictures"
MOVING = "moving"
MOST_BYTES, MOST_MOVING_BYTES = 100_000, 1_000_000
TALL, MARGIN = 5_000, 60
TRUST = "Can I trust this map?"
SENTENCE = "The script is weak, but the acting is superb."

_POINTER = """
addEventListener("DOMContentLoaded", () => {
  const pointer = document.createElement("div");
  pointer.style.cssText = "position:fixed;z-index:1000000;pointer-events:none;left:-40px;top:0;width:15px;" +
    "height:22px;background:#101814;clip-path:polygon(0 0,0 78%,30% 60%,50% 90%,72% 84%,52% 54%,95% 54%)";
  document.documentElement.append(pointer);
  addEventListener("mousemove", event => {
    pointer.style.left = `${event.clientX}px`;
    pointer.style.top = `${event.clientY}px`;
  }, true);
});
"""
"""A pointer that follows the mouse: a screenshot has none."""


@dataclass(frozen=True)
class Picture:
    """A part of a page: ``height`` pixels from the element with the text ``top`` on, after a press of ``button``.

    Without ``top`` the picture begins at the top of the page. ``ready`` is a text that is there once the page is done.
    """

    page: str
    top: str = ""
    height: int = 620
    button: str = ""
    ready: str = ""


PICTURES = {
    "explain": Picture("", "^Positive \\(", 1_090, button=TRUST),
    "integration": Picture("integration", "steps for this text", 905),
    "candidates": Picture("candidates", "^Choosing among", 960),
    "activation": Picture("activation", "^On this text", 845),
    "errors": Picture("errors", "^The model is right", 900),
    "error-row": Picture("errors", "^Why .*, which is predicted", 295, ready="Why .*, which is true"),
    "benchmark": Picture("benchmark", "^Methods by metrics: means", 890),
    "sanity": Picture("sanity", "^Over \\d+ texts", 1_110, button="Check"),
    "roar": Picture("roar", "^By Recursive ROAR", 890),
    "models": Picture("models", height=700),
    "runs": Picture("runs", height=520),
    "words": Picture("words", height=700),
}
"""A picture for each page that has something to show at once, and the one of a wrong row."""


# A picture -----------------------------------------------------------------------------------------------------------


def take(browser: Browser, url: str, picture: Picture) -> Image.Image:
    """Open the page of ``picture`` in a tall window and cut the picture out."""
    page = open_page(browser, f"{url}/{picture.page}", TALL)
    if picture.button:
        page.get_by_role("button", name=picture.button).first.click()
    is_done(page)
    if picture.ready:
        expect(page.get_by_text(re.compile(picture.ready)).first).to_be_visible()
        is_done(page)
    block = box_of(page.get_by_test_id("stMainBlockContainer"))
    top = page.get_by_text(re.compile(picture.top)).first if picture.top else page.get_by_role("heading").first
    taken = page.screenshot(
        clip={
            "x": block["x"] + MARGIN,
            "y": max(0.0, box_of(top)["y"] - 24),
            "width": block["width"] - 2 * MARGIN,
            "height": picture.height,
        }
    )
    page.close()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def open_page(browser: Browser, url: str, height: int, pointer: bool = False) -> Page:
    """Open a page in the light theme, with its navigation folded away; ``pointer``: it shows where the mouse is."""
    page = browser.new_page(
        viewport={"width": 900, "height": height},
        device_scale_factor=1.5,
        color_scheme="light",
        reduced_motion="reduce",
    )
    page.set_default_timeout(120_000)
    if pointer:
        page.add_init_script(_POINTER)
    page.goto(url)
    is_done(page)
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click(force=True)
    return page


def is_done(page: Page) -> None:
    """Wait until no job is left, every chart is drawn and the page has rested for a second."""
    for _ in range(2):
        wait_for_run(page)
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        expect(page.locator("[data-testid=stSkeleton], [data-testid=stSpinner]")).to_have_count(0)
        page.wait_for_timeout(1_000)


def box_of(element: Locator) -> FloatRect:
    """Return ``{"x", "y", "width", "height"}`` of an element."""
    box = element.bounding_box()
    assert box, element
    return box


# The moving picture --------------------------------------------------------------------------------------------------


@dataclass
class Film:
    """Frames of a page, with the milliseconds that each stays."""

    page: Page
    frames: list[Image.Image] = field(default_factory=list)
    stays: list[int] = field(default_factory=list)

    def hold(self, milliseconds: int) -> None:
        """Add the page as it is now."""
        taken = self.page.screenshot(caret="initial")
        self.frames.append(Image.open(io.BytesIO(taken)).convert("RGB"))
        self.stays.append(milliseconds)

    def point(self, element: Locator) -> None:
        """Move the pointer to the middle of an element, in a few frames."""
        box = box_of(element)
        self.page.mouse.move(box["x"] + box["width"] / 2 + 90, box["y"] + box["height"] / 2 + 60)
        for left in (60, 30, 10, 0):
            self.page.mouse.move(box["x"] + box["width"] / 2 + left, box["y"] + box["height"] / 2 + left * 0.6)
            self.hold(90)

    def save(self, path: Path) -> None:
        """Write an animated WebP that repeats for ever."""
        first, *others = self.frames
        first.save(
            path, save_all=True, append_images=others, duration=self.stays, loop=0, lossless=True, quality=80, method=6
        )


def record(browser: Browser, app: App) -> Film:
    """Type a sentence, see its colours, click on the other class, and ask whether the map can be trusted."""
    before = view(first_view().text, "integrated_gradients", unit="word")
    page = open_page(browser, app.link(before), 620, pointer=True)
    unfold(page)
    box = text_box(page)
    film = Film(page)
    box.fill("")
    film.hold(500)
    for end in range(3, len(SENTENCE) + 3, 3):
        box.fill(SENTENCE[:end])
        film.hold(110)
    film.hold(300)
    box.press("Enter")
    map_shows(page, SENTENCE)
    is_done(page)
    heatmaps(page).first.scroll_into_view_if_needed()
    film.hold(2_200)
    other = page.get_by_role("button", name="negative").first
    film.point(other)
    other.click()
    expect(heatmaps(page).locator(".legend")).to_contain_text("for negative")
    is_done(page)
    film.hold(1_500)
    ask = page.get_by_role("button", name=TRUST)
    ask.scroll_into_view_if_needed()
    film.point(ask)
    press(page, TRUST)
    expect(ask).to_have_count(0)
    is_done(page)
    film.hold(2_800)
    page.close()
    return film


def main(chosen: list[str]) -> None:
    """Take the ``chosen`` pictures, or all."""
    FOLDER.mkdir(exist_ok=True)
    system = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(ROOT / "app.py", Path(folder), {}) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=system, args=["--no-sandbox", "--disable-gpu"])
        for name in chosen or [MOVING, *PICTURES]:
            path, most = FOLDER / f"{name}.webp", MOST_MOVING_BYTES if name == MOVING else MOST_BYTES
            if name == MOVING:
                record(browser, App(server.url, Path(folder))).save(path)
            else:
                take(browser, server.url, PICTURES[name]).save(path, quality=75, method=6)
            size = path.stat().st_size
            print(f"{path.relative_to(ROOT)}: {size:,} bytes")
            assert size <= most, f"{path} has more than {most:,} bytes"
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
