"""What browsers may do with a page, and how long and where they keep its cookies."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explainlab.settings import settings

SIGN_IN_COOKIE = "_streamlit_user"


class SecurityHeaders:
    """Adds security headers to every response, and makes its cookies as strict as they can be."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; change the headers of HTTP responses."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                cookies = headers.getlist("set-cookie")
                del headers["set-cookie"]
                for cookie in cookies:
                    headers.append("set-cookie", _strict(cookie, _is_behind_tls(scope)))
                headers.update(_security_headers())
            await send(message)

        await self._app(scope, receive, send_on)


def _strict(cookie: str, tls: bool) -> str:
    """A cookie of Streamlit's; that of the sign-in lasts as long as the setting says, unless it is being deleted."""
    if cookie.startswith(SIGN_IN_COOKIE):
        cookie = re.sub(r"Max-Age=[1-9]\d*", f"Max-Age={settings().sign_in_hours * 3600}", cookie)
    return cookie if not tls or "secure" in cookie.lower().split("; ") else f"{cookie}; Secure"


def _is_behind_tls(scope: Scope) -> bool:
    """Whether browsers reach the app by https: as the connection, its proxy or the sign-in's address says."""
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "").split(",")[0].strip()
    return "https" in (scope["scheme"], forwarded) or _sign_in_address().startswith("https:")


@lru_cache(maxsize=1)
def _sign_in_address() -> str:
    try:
        return str(st.secrets["auth"]["redirect_uri"])
    except (FileNotFoundError, KeyError):
        return ""


@lru_cache(maxsize=1)
def _security_headers() -> dict[str, str]:
    """Nothing is fetched from, or sent to, another server; scripts are Streamlit's own, and blobs for components.

    ``X-Frame-Options`` cannot name a site: it is there where no site may show the app in a frame.
    """
    sites = settings().framing_sites
    ancestors = " ".join(sites) or "'none'"
    policy = [
        "default-src 'none'",
        f"script-src 'self' blob: {' '.join(_inline_scripts())}",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'self'",
        "form-action 'none'",
        f"frame-ancestors {ancestors}",
    ]
    return {
        "Content-Security-Policy": "; ".join(policy),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        **({} if sites else {"X-Frame-Options": "DENY"}),
    }


def _inline_scripts() -> list[str]:
    """The scripts that Streamlit's page has in itself, as sources of a policy: by their SHA-256."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]
