"""The hosted entry point: the same app with readiness, version, security headers, and JSON logs.

    python -m streamlit run explainlab/app/asgi.py

Queue and models live in one process. `streamlit run app.py` needs none of this.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

from explainlab.app.sign_in import PROXY_USER
from explainlab.service.logs import log_as_json
from explainlab.service.service import service
from explainlab.service.status import health, library_versions
from explainlab.settings import ROOT, settings

log = logging.getLogger(__name__)

_HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Streamlit needs inline scripts and styles; nothing is fetched from, or sent to, another server."""


class SecurityHeaders:
    """Adds security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, with the headers added to HTTP responses."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, send_on)


@asynccontextmanager
async def warm(_: Any) -> AsyncIterator[None]:
    """Before the first request: logs as JSON, the store open and the worker waiting."""
    log_as_json()
    await asyncio.to_thread(service)
    yield


async def ready(_: Request) -> JSONResponse:
    """200 while store and worker answer, else 503; also counts of running and waiting jobs."""
    state = await asyncio.to_thread(lambda: health(service()))
    return JSONResponse(state, status_code=200 if state["ready"] else 503)


async def tell_versions(_: Request) -> JSONResponse:
    """Versions of libraries, by name."""
    return JSONResponse(library_versions())


def tell_error(error: Exception) -> bool:
    """Log an unexpected error under a random number, and show that number."""
    number = secrets.token_hex(4)
    log.error("a page failed", exc_info=error, extra={"error_id": number})
    st.error(
        f"Something unexpected went wrong; the server's log has it under {number}. Reload the page, or report it.",
        icon=":material/error:",
    )
    return True


if settings().auth == "proxy":
    config.set_option("server.trustedUserHeaders", {settings().auth_header: PROXY_USER})

app = st.App(
    ROOT / "app.py",
    lifespan=warm,
    routes=[Route("/api/ready", ready), Route("/api/version", tell_versions)],
    middleware=[Middleware(SecurityHeaders)],
    on_script_error=tell_error,
)
