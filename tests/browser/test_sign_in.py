"""The door: readers enter by an OpenID provider or a proxy's header, and a link survives the way in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from explainlab.app.pages.integration.form import IntegrationView, first_view
from explainlab.settings import ROOT
from tests.browser.access import has_no_violation
from tests.browser.conftest import Serve, unfold, wait_for_run
from tests.browser.explain_page import App, heatmaps, press, select, text_box, view
from tests.browser.provider import CLIENT, SECRET, provider, proxy

ASGI = ROOT / "explainlab" / "app" / "asgi.py"
TEXT = "Funny, warm and never dull."
SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "a secret of the app, long enough to sign"
client_id = "{client}"
client_secret = "{secret}"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


@pytest.fixture(scope="module")
def signing(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A hosted ExplainLab that asks a provider who somebody is."""
    home = tmp_path_factory.mktemp("hosted")
    with provider() as known:
        secrets = home / "secrets.toml"
        secrets.write_text(SECRETS.format(client=CLIENT, secret=SECRET, provider=known), encoding="utf-8")
        env = {"EXPLAINLAB_HOME": str(home), "EXPLAINLAB_AUTH": "oidc", "STREAMLIT_SECRETS_FILES": str(secrets)}
        with serve(ASGI, env) as url:
            yield App(url, home)


@pytest.fixture
def stranger(context_of: Callable[..., BrowserContext]) -> Iterator[Page]:
    """A page of a browser that knows nobody; with the other tests' context it has their compiled scripts."""
    context = context_of()
    context.clear_cookies()
    page = context.new_page()
    yield page
    page.close()
    context.clear_cookies()


def go(page: Page, url: str) -> None:
    page.goto(url)
    wait_for_run(page)


def shows_only_the_door(page: Page) -> None:
    expect(page.get_by_role("heading", name="ExplainLab")).to_be_visible()
    expect(page.get_by_test_id("stSidebarNavLink")).to_have_count(0)
    for box in ("textbox", "combobox"):
        expect(page.get_by_role(box)).to_have_count(0)


def sign_in(page: Page, name: str) -> None:
    press(page, "Sign in")
    page.get_by_role("link", name=f"Go on as {name}").click()


@pytest.mark.full("51 s: a server and a provider of identities")
def test_a_shared_link_survives_the_sign_in(signing: App, stranger: Page) -> None:
    asked = first_view().model_copy(update={"text": TEXT, "target": "negative", "steps": "2,4", "compare": (2, 4)})
    assert isinstance(asked, IntegrationView)
    link = signing.link(asked, "integration")
    go(stranger, link)
    shows_only_the_door(stranger)
    expect(stranger.get_by_text(TEXT)).to_have_count(0)
    sign_in(stranger, "Ann")
    expect(stranger.get_by_role("heading", name="Integration", exact=True)).to_be_visible()
    wait_for_run(stranger)
    unfold(stranger)
    expect(text_box(stranger)).to_have_value(TEXT)
    expect(select(stranger, "Target")).to_have_value("negative")
    assert stranger.url.startswith(f"{signing.url}/integration?r=")
    expect(stranger.get_by_text("Ann *Example* [x](/x)")).to_be_visible()
    copied = stranger.context.cookies()
    press(stranger, "Sign out")
    shows_only_the_door(stranger)
    stranger.context.add_cookies(copied)
    go(stranger, link)
    shows_only_the_door(stranger)


def test_the_front_door_is_for_all_allows_no_script_of_others_and_who_came_by_it_needs_no_second_sign_in(
    signing: App, stranger: Page, tmp_path: Path
) -> None:
    tells_how_it_is(signing, stranger)
    refused: list[str] = []
    stranger.on("console", lambda line: refused.append(line.text) if "Content Security Policy" in line.text else None)
    answer = stranger.goto(signing.url)
    assert answer.headers["x-frame-options"] == "DENY"
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert re.search("script-src 'self' blob: 'sha256-[^ ]+';", policy)
    wait_for_run(stranger)
    shows_only_the_door(stranger)
    has_no_violation(stranger)
    sign_in(stranger, "Bob")
    expect(stranger.get_by_role("heading", name="Explain", exact=True)).to_be_visible()
    expect(heatmaps(stranger)).to_have_count(2)
    go(stranger, f"{signing.url}/errors")
    press(stranger, "Predict")
    expect(stranger.locator(".st-key-errors_confusion svg.marks")).to_be_visible()
    stranger.get_by_text("File, columns and labels").click()
    file = {"name": "films.csv", "mimeType": "text/csv", "buffer": b"text,label\na film,positive\n"}
    with stranger.expect_response("**/upload_file/**", timeout=30_000) as arrived:
        stranger.locator("input[type=file]").first.set_input_files(file)
    assert arrived.value.status == 204
    assert not refused
    go(stranger, f"{signing.url}/status")
    expect(stranger.get_by_role("heading", name="Status", exact=True)).to_be_visible()
    assert stranger.url == f"{signing.url}/status"
    table = stranger.get_by_test_id("stDataFrame").first
    table.hover()
    expect(stranger.get_by_role("button", name="Search").first).to_be_visible()
    expect(stranger.get_by_role("button", name="Download as CSV")).to_have_count(0)
    go(stranger, signing.link(view(TEXT, "occlusion", model=str(tmp_path))))
    expect(stranger.get_by_text("is not served here").first).to_be_visible()


def tells_how_it_is(signing: App, stranger: Page) -> None:
    ready = stranger.request.get(f"{signing.url}/api/ready")
    assert (ready.status, ready.json()["ready"]) == (200, True)
    assert ready.json().keys() >= {"running", "waiting"}  # how many: jobs of the tests before may be left
    assert stranger.request.get(f"{signing.url}/api/version").json().keys() >= {"python", "streamlit", "torch"}


# A proxy that knows -------------------------------------------------------------------------------------------------


@contextmanager
def hosted(serve: Serve, home: Path, **env: str) -> Iterator[str]:
    with serve(ASGI, {"EXPLAINLAB_HOME": str(home), **env}) as url:
        yield url


@pytest.mark.full("58 s: two servers")
def test_the_proxys_header_says_who_it_is_and_logs_hold_no_text(serve: Serve, stranger: Page, tmp_path: Path) -> None:
    with hosted(serve, tmp_path, EXPLAINLAB_AUTH="proxy", EXPLAINLAB_AUTH_HEADER="X-Who") as url:
        go(stranger, url)
        shows_only_the_door(stranger)
        expect(stranger.get_by_text("did not say who you are")).to_be_visible()
        with proxy(url, X_Who="ann@example.org") as by_proxy:
            link = App(by_proxy, tmp_path).link(view("a secret film", "occlusion"))
            stranger.set_extra_http_headers({"X-Who": "bob@example.org"})
            go(stranger, link)
            expect(heatmaps(stranger)).to_have_count(1)
            expect(stranger.get_by_text(re.compile("ann@.?example.org"))).to_be_visible()
            unfold(stranger)
            expect(text_box(stranger)).to_have_value("a secret film")
            expect(stranger.get_by_role("button", name="Sign out")).to_have_count(0)
    log = (tmp_path / "log.txt").read_text(encoding="utf-8")
    jobs = [line for line in map(json.loads, log.splitlines()) if "status" in line]
    assert [(job["user"], job["method"], job["status"]) for job in jobs] == [
        ("proxy:ann@example.org", "occlusion", "done")
    ]
    assert "secret film" not in log
