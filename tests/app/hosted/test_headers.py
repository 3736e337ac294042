"""The headers of pages: the rights of scripts, the sites that may show the app in a frame, and the cookies."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explainlab.app.hosted import SecurityHeaders
from explainlab.errors import RequestError
from explainlab.settings import settings


async def answer(_: Request) -> Response:
    response = Response()
    response.set_cookie("_streamlit_user", "a", max_age=30 * 24 * 3600, httponly=True)
    response.set_cookie("_streamlit_xsrf", "b")
    response.delete_cookie("_streamlit_user_tokens")
    return response


def cookies(url: str, **headers: str) -> list[str]:
    app = Starlette(routes=[Route("/", answer)], middleware=[Middleware(SecurityHeaders)])

    async def get() -> list[str]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url) as client:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            return (await client.get("/", headers=sent)).headers.get_list("set-cookie")

    return asyncio.run(get())


def test_the_cookie_of_a_sign_in_lasts_as_long_as_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "sign_in_hours", 8)
    user, _, deleted = cookies("http://localhost")
    assert "Max-Age=28800" in user
    assert "HttpOnly" in user
    assert "Max-Age=0" in deleted


def test_cookies_are_secure_behind_tls() -> None:
    assert not any("Secure" in cookie for cookie in cookies("http://localhost"))
    for secure in (cookies("https://localhost"), cookies("http://localhost", X_Forwarded_Proto="https")):
        assert len(secure) == 3
        assert all(cookie.endswith("; Secure") for cookie in secure)


@pytest.mark.parametrize(
    "sites", ["example.org", "https://example.org/path", "https://a.org; script-src *", "*", "'self'"]
)
def test_a_site_that_may_show_the_app_is_an_address(sites: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPLAINLAB_FRAME_SITES", sites)
    settings.cache_clear()
    try:
        with pytest.raises(RequestError, match="EXPLAINLAB_FRAME_SITES"):
            settings()
    finally:
        monkeypatch.undo()
        settings.cache_clear()
