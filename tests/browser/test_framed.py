"""The app in a frame of another site."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from explainlab.settings import ROOT
from tests.browser.conftest import Serve
from tests.test_deploy import demo_environment

ASGI = ROOT / "explainlab" / "app" / "asgi.py"


@contextmanager
def files(folder: Path) -> Iterator[int]:
    """Serve the files of a folder on a port of this machine."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.full("25 s: a server and a browser; the sign-in's test has the header of an instance that names no site")
def test_the_demo_is_shown_by_the_sites_that_are_named_and_by_no_other(
    serve: Serve, chromium: Browser, tmp_path: Path
) -> None:
    with files(tmp_path) as port:
        named = {"EXPLAINLAB_FRAME_SITES": f"https://example.org, http://localhost:{port}"}
        with serve(ASGI, {**demo_environment(), **named, "EXPLAINLAB_HOME": str(tmp_path / "home")}) as url:
            (tmp_path / "site.html").write_text(f'<iframe src="{url}" width="1000" height="1000"></iframe>')
            page = chromium.new_page()
            page.goto(f"http://localhost:{port}/site.html")
            framed = page.frame_locator("iframe").get_by_role("heading", name="Explain", exact=True)
            expect(framed).to_be_visible()
            with page.expect_event("console", lambda line: "frame-ancestors" in line.text):
                page.goto(f"http://127.0.0.1:{port}/site.html")
            expect(framed).to_have_count(0)
            page.close()
