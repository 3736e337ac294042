"""A Streamlit server and a Chromium for tests that need the real page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from explainlab.settings import ROOT
from tests.browser.explain_page import App, OpenPage
from tests.servers import serving

expect.set_options(timeout=120_000)

_SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",
    # A page reuses the scripts that another page of its process has compiled, unless it streams them; and none lives
    # long enough to be worth optimising compilers and many small collections. Together 29% of what opening a page
    # costs, measured in turns. Compiled by Sparkplug at once a page costs a tenth less to open, and axe half as much;
    # with feedback from a function's first call on, another tenth less.
    # The last two features are those of Playwright's own list that a local page could meet.
    "--disable-features=ScriptStreaming,BackgroundResourceFetch,HttpsUpgrades,PaintHolding",
    "--js-flags=--no-opt --no-maglev --always-sparkplug --no-lazy-feedback-allocation --min-semi-space-size=32",
)

_CALM = """
  const calm = new CSSStyleSheet();
  calm.replaceSync(`* { transition: none !important } [data-stale], summary, summary *, [role=tablist],
    [role=tablist] * { opacity: 1 !important }`);
  document.adoptedStyleSheets.push(calm);
"""
"""No colour is half-way to another, and what is about to be drawn anew does not fade. Told when a document begins:
later all that is there would be styled once more.
"""

CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser")
"""Names of Chromium in a system, the lightest first: that one has no window."""

Serve = Callable[..., AbstractContextManager[str]]
FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Return ``serve(script, env)``, which runs a Streamlit script on a new port with a new home."""

    @contextmanager
    def running(script: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
        home = Path((env or {}).get("EXPLAINLAB_HOME") or tmp_path_factory.mktemp("server"))
        with serving(script, home, env or {}) as server:
            yield server.url

    return running


@pytest.fixture(scope="session")
def app(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Yield one ExplainLab for all tests that need no fresh one; a test leaves no job of its own running there.

    However long its jobs of one text are expected to take on this machine, they keep their place in the queue.
    """
    home = tmp_path_factory.mktemp("app")
    with serve(ROOT / "app.py", {"EXPLAINLAB_HOME": str(home), "EXPLAINLAB_MAX_URGENT_SECONDS": "1000000"}) as url:
        yield App(url, home)


@pytest.fixture(scope="session")
def parts(serve: Serve) -> Iterator[str]:
    """Yield the pages of single parts, drawn from handmade data."""
    with serve(Path(__file__).with_name("parts_app.py")) as url:
        yield url


@pytest.fixture(scope="session")
def chromium(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """Yield one browser for all tests: the lightest Chromium of the system, else Playwright's own.

    With pytest's option ``--headed`` it has a window, and needs a whole Chromium.
    """
    headed = pytestconfig.getoption("--headed")
    with sync_playwright() as playwright:
        system = next(filter(None, map(shutil.which, CHROMIUMS[headed:])), None)
        browser = playwright.chromium.launch(executable_path=system, headless=not headed, args=list(_SWITCHES))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context_of(chromium: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """``context_of(**options)``: one for all tests with the same options.

    A page that stays keeps its process, and with it Streamlit's scripts, read and compiled, for all that follow.
    """
    contexts: dict[str, BrowserContext] = {}

    def having(**options) -> BrowserContext:
        key = repr(sorted(options.items()))
        if key not in contexts:
            contexts[key] = calm_context(chromium, reduced_motion="reduce", **options)
            stays = contexts[key].new_page()
            stays.route("**", lambda route: route.fulfill(body=""))
            stays.goto("http://127.0.0.1/")
        return contexts[key]

    yield having
    for one in contexts.values():
        one.close()


def calm_context(chromium: Browser, **options) -> BrowserContext:
    """Return a new context, in whose pages nothing fades."""
    context = chromium.new_context(**options)
    context.set_default_timeout(120_000)
    context.add_init_script(_CALM)
    return context


@pytest.fixture
def browser_page(context_of: Callable[..., BrowserContext], request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """``browser_page(url, **options)`` opens a page and waits until its script has run; scripts may not open dialogs.

    Without a url the page stays blank. The controls are unfolded, but with ``folded``. ``viewport``, ``color_scheme``
    and further options are those of Playwright's ``new_context``; only further ones need a context of their own, whose
    process has nothing compiled yet. A test that fails prints the words and the errors of its pages.
    """
    pages: list[Page] = []
    dialogs: list[str] = []
    errors: list[str] = []

    def open_page(url: str = "", folded: bool = False, viewport=None, color_scheme=None, **options) -> Page:
        page = context_of(**options).new_page()
        pages.append(page)
        if viewport:
            page.set_viewport_size(viewport)
        if color_scheme:
            page.emulate_media(color_scheme=color_scheme, reduced_motion="reduce")
        page.on("pageerror", lambda error: errors.append(f"{page.url}: {error.stack or error.message}"))
        page.on("crash", lambda _: errors.append(f"{page.url}: its process has ended"))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        if url:
            page.goto(url)
            if folded:
                wait_for_run(page)
            else:
                unfold(page)
        return page

    yield open_page
    for page in pages:
        if request.node.stash.get(FAILED, False) and not page.is_closed():
            print(page.url, *errors, sep="\n")
            with suppress(PlaywrightError):  # its process may have ended
                print(page.inner_text("body"))
            _cancel_all(page)
        page.close()
    assert not dialogs


def _cancel_all(page: Page) -> None:
    """Cancel all jobs of a failed test: they would run before those of other tests. The page may have gone blank."""
    with suppress(PlaywrightError):
        page.reload()
        wait_for_run(page)
        for button in reversed(page.get_by_role("button", name="Cancel").all()):
            button.click(timeout=10_000)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these tests last: once a browser runs, no other test of the process can have an event loop."""
    here = Path(__file__).parent
    items.sort(key=lambda item: here in item.path.parents)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Remember that a test has failed, for the fixtures that are torn down after it."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


def unfold(page: Page) -> None:
    """Unfold the controls of the page, if they are folded to a line."""
    wait_for_run(page)
    line = page.locator("[class*='_controls'] details:not([open]) > summary")
    if line.count():
        line.click()
        wait_for_run(page)


def wait_for_run(page: Page) -> None:
    """Wait until the page is connected and no script of it runs."""
    page.locator(
        '[data-testid="stApp"][data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]'
    ).wait_for()


def press_mark(page: Page, mark: Locator) -> None:
    """Press a mark of a chart, which its label may cover, once the page is at rest and nothing moves the mark."""
    _bring_to_rest(page, mark)
    box = mark.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def press_row(page: Page, table: Locator, row: int, x: int = 20) -> None:
    """Press a row of a table, counted from 1, at ``x`` pixels; a table is a canvas with rows of 35 pixels."""
    canvas = table.locator("canvas").first
    _bring_to_rest(page, canvas)
    canvas.click(position={"x": x, "y": 35 * row + 17}, force=True)


def _bring_to_rest(page: Page, target: Locator) -> None:
    """Bring ``target`` into view: a press during a run, or while the page scrolls, hits another place."""
    wait_for_run(page)
    page.keyboard.press("Shift")  # a reader's move ends the scrolling to what the press before has opened
    target.scroll_into_view_if_needed()
    target.element_handle().wait_for_element_state("stable")


def is_at_rest(page: Page) -> None:
    """Wait for the plan of the data set, the last run that the page starts by itself."""
    expect(page.get_by_text(re.compile("^Takes .* through the model for")).first).to_be_visible()
    wait_for_run(page)
