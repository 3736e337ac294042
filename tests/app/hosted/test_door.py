"""Without sign-in only browsers on this machine are answered, also behind a proxy that hides that it is one."""

from __future__ import annotations

import asyncio
import http.client
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import psutil
import pytest
import websockets
from starlette.responses import PlainTextResponse

from explainlab.app.hosted import Door
from explainlab.settings import ROOT, settings
from tests.app.hosted.conftest import ASGI, log_of
from tests.browser.provider import proxy
from tests.load.session import Session

PUBLIC = "https://explainlab.example.org"


@pytest.fixture(scope="module")
def local(serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    home = tmp_path_factory.mktemp("local")
    with serve(ASGI, {"EXPLAINLAB_HOME": str(home), "STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}) as url:
        yield url, home


def opened(url: str, **headers: str) -> bool:
    """Return True if the websocket of a page opens for a client with these headers."""

    async def attempt() -> bool:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            address = url.replace("http", "ws", 1) + "/_stcore/stream"
            async with websockets.connect(address, subprotocols=["streamlit"], additional_headers=sent, proxy=None):
                return True
        except websockets.InvalidHandshake:
            return False

    return asyncio.run(attempt())


def test_a_browser_on_this_machine_is_served(local: tuple[str, Path]) -> None:
    url, _ = local

    assert headings(url)[0] == "Status"
    assert httpx.get(f"{url}/api/ready").json()["ready"] is True
    assert httpx.get(url.replace("127.0.0.1", "localhost")).status_code == 200


def test_all_others_are_refused_and_logged(local: tuple[str, Path]) -> None:
    url, home = local
    port = url.rsplit(":", 1)[1]
    assert not opened(url), "a client without Origin, which a proxy that rewrites Host may pass on"
    assert not opened(url, Origin=PUBLIC)
    assert not opened(url, Origin="null")
    for headers in (
        {"Host": "explainlab.example.org"},
        {"Host": "127.0.0.1.example.org"},
        {"X-Forwarded-For": "203.0.113.9"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"Forwarded": "for=203.0.113.9"},
        {"Via": "1.1 proxy"},
        {"Origin": PUBLIC},
    ):
        answer = httpx.get(url, headers=headers)
        assert answer.status_code == 403, headers
        assert "only be used on the machine" in answer.text
    for address in addresses():
        assert httpx.get(f"http://{address}:{port}/", headers={"Host": "localhost"}).status_code == 403
        assert not opened(f"http://{address}:{port}", Origin="http://localhost")
    old = http.client.HTTPConnection("127.0.0.1", int(port))
    old._http_vsn, old._http_vsn_str = 10, "HTTP/1.0"
    old.request("GET", "/", headers={"Host": "127.0.0.1"})
    assert old.getresponse().status == 403, "nginx speaks HTTP/1.0 to what is behind it, browsers never do"
    refused = [line for line in log_of(home) if line.get("message") == "a connection was refused"]
    assert {line["reason"] for line in refused} == {
        "its peer is another machine",
        "its Host is not this machine's",
        "a proxy has passed it on",
        "its Origin is not this machine's",
    }
    assert all(line["peer"] for line in refused)


def test_a_request_that_names_two_users_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "proxy")
    door = Door(PlainTextResponse("served"))

    async def status(*users: str) -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(door), base_url=PUBLIC) as client:
            return (await client.get("/", headers=[("x-forwarded-email", user) for user in users])).status_code

    assert asyncio.run(status("ann@example.org")) == 200
    assert asyncio.run(status("ann@example.org", "bob@example.org")) == 403
    assert asyncio.run(status("ann@example.org", "ann@example.org")) == 403


def addresses() -> list[str]:
    """The addresses of this machine under which others reach it."""
    every = [each.address for of in psutil.net_if_addrs().values() for each in of if each.family == socket.AF_INET]
    return [address for address in every if not address.startswith("127.")]


# The app started alone, without this door -----------------------------------------------------------------------------


def headings(url: str) -> list[str]:
    """The headings that a page at this address shows: Status, which computes nothing."""

    async def visit() -> list[str]:
        async with Session(url, page="status") as session:
            return [each.body for each in session.shown("heading")]

    return asyncio.run(visit())


@pytest.mark.full("8 s: starts a server without the door, which no instance has")
def test_without_the_door_a_page_shows_a_visitor_from_beyond_nothing(serve) -> None:
    with serve(ROOT / "app.py", {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}) as url:
        port = url.rsplit(":", 1)[1]
        with proxy(url, X_Forwarded_For="203.0.113.9") as forwarded, proxy(url, Host="explainlab.example.org") as named:
            for door in (*(f"http://{address}:{port}" for address in addresses()[:1]), forwarded, named):
                assert headings(door) == ["ExplainLab"]
        assert headings(url)[0] == "Status"


@pytest.mark.full("8 s: starts a server for one setting")
def test_unless_told_to_serve_anyone(serve) -> None:
    with (
        serve(ROOT / "app.py", {"EXPLAINLAB_ALLOW_ANYONE": "true"}) as url,
        proxy(url, X_Forwarded_For="203.0.113.9") as forwarded,
    ):
        assert headings(forwarded)[0] == "Status"


# The real programs, as they come ---------------------------------------------------------------------------------

NGINX = """
daemon off; pid {home}/nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {home}; proxy_temp_path {home}; fastcgi_temp_path {home}; uwsgi_temp_path {home};
  scgi_temp_path {home};
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {url}; {more} }} }}
}}
"""
UPGRADE = "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;"
CADDY = "{{\n admin off\n auto_https off\n}}\nhttp://:{port} {{\n reverse_proxy {address}\n}}\n"


@pytest.fixture(params=["nginx", "nginx with websockets", "caddy"])
def proxied(request: pytest.FixtureRequest, local: tuple[str, Path], tmp_path: Path) -> Iterator[str]:
    """The address of a proxy with its defaults in front of the instance."""
    url, _ = local
    program = shutil.which(request.param.split()[0])
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file = tmp_path / "configuration"
    if "nginx" in program:
        more = UPGRADE if "websockets" in request.param else ""
        file.write_text(NGINX.format(home=tmp_path, port=port, url=url, more=more))
        command: Sequence[str] = [program, "-p", str(tmp_path), "-c", str(file)]
    else:
        file.write_text(CADDY.format(port=port, address=url.removeprefix("http://")))
        command = [program, "run", "--adapter", "caddyfile", "--config", str(file)]
    proxy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        proxy.terminate()
        proxy.wait(30)


def test_no_page_opens_through_a_proxy_with_its_defaults(proxied: str) -> None:
    for headers in ({}, {"Origin": PUBLIC}):
        assert not opened(proxied, **headers)
    answer = httpx.get(proxied, headers={"Host": "explainlab.example.org"})
    assert answer.status_code == 403 or "<title>Streamlit</title>" in answer.text, "the empty frame of every Streamlit"
