"""Whose connections are answered at all, before any page: decided by the connection and its headers alone."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from explainlab.settings import settings

log = logging.getLogger(__name__)

CLOSED = (
    "This instance can only be used on the machine that it runs on. Whoever runs it can switch on sign-in "
    "(EXPLAINLAB_AUTH), or open it to everyone who can reach it (EXPLAINLAB_ALLOW_ANYONE)."
)
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
_UNSEEN = 100
"""Characters of a host that the log repeats."""


class Door:
    """Refuses a connection that must not be answered with 403, and logs why."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may be answered."""
        reason = _why_refused(scope) if scope["type"] in ("http", "websocket") else ""
        if not reason:
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        peer = connection.client.host if connection.client else "unknown"
        host = connection.headers.get("host", "")[:_UNSEEN]
        log.warning("a connection was refused", extra={"reason": reason, "peer": peer, "host": host})
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            words = CLOSED if settings().auth == "none" else "The request says more than once who sends it."
            await PlainTextResponse(words, status_code=403)(scope, receive, send)


def why_not_local(peer: str | None, hosts: Sequence[str], names: Sequence[str], origin: str | None, page: bool) -> str:
    """Why a connection does not come from a browser on this machine; empty if it does.

    ``peer`` is the other end's address, ``hosts`` its Host headers, ``names`` the names of all of its headers in lower
    case, ``origin`` its Origin header. ``page``: it is the connection of a page, where browsers always send an Origin.
    """
    if peer is None or not _is_loopback(peer):
        return "its peer is another machine"
    if len(hosts) != 1 or not _is_here(f"//{hosts[0]}"):
        return "its Host is not this machine's"
    if any(name in _FORWARDED for name in names):
        return "a proxy has passed it on"
    if (page or origin is not None) and not _is_here(origin or ""):
        return "its Origin is not this machine's"
    return ""


def _why_refused(scope: Scope) -> str:
    headers = Headers(scope=scope)
    how = settings().auth
    if how == "proxy" and len(headers.getlist(settings().auth_header)) > 1:
        return "it names its user more than once"
    if how != "none" or settings().allow_anyone:
        return ""
    if scope.get("http_version") == "1.0":
        return "a proxy has passed it on"  # no browser speaks HTTP/1.0; nginx does, to what is behind it
    client = scope.get("client")
    page = scope["type"] == "websocket"
    return why_not_local(client and client[0], headers.getlist("host"), headers.keys(), headers.get("origin"), page)


def _is_here(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "localhost" or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback
    except ValueError:
        return False
