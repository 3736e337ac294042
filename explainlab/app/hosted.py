"""Parts of a hosted instance around the app: the door, the headers of answers, and uploads that wait."""

from __future__ import annotations

import base64
import errno
import hashlib
import ipaddress
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from explainlab.files import write_file
from explainlab.request import digest
from explainlab.service.users import User
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
    """A gate that refuses a connection with 403 where no answer is allowed, and logs why."""

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
    """Return why a connection does not come from a browser on this machine; empty if it does.

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
    """Return a strict cookie of Streamlit's; that of the sign-in lasts as the setting says, unless it is deleted."""
    if cookie.startswith(SIGN_IN_COOKIE):
        cookie = re.sub(r"Max-Age=[1-9]\d*", f"Max-Age={settings().sign_in_hours * 3600}", cookie)
    return cookie if not tls or "secure" in cookie.lower().split("; ") else f"{cookie}; Secure"


def _is_behind_tls(scope: Scope) -> bool:
    """Return True if browsers reach the app by https: the connection, its proxy or the sign-in's address shows it."""
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
    """Return headers that allow no exchange with another server, and no script but Streamlit's own and blobs.

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
    """Return the scripts that Streamlit's page has in itself, as sources of a policy: by their SHA-256."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]


_ENDPOINT = "/_stcore/upload_file/"
_LEAST = 2**16
"""Bytes that a file counts at least, so that their number is bounded too."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_ROOM = "The disk of this instance is full: the file cannot be kept. Tell whoever runs it."
_NOBODY = "Sign in before you upload a file."


class _Session(NamedTuple):
    user: User
    proof: str
    sizes: dict[str, int]
    """Bytes by file; of one that is arriving, what its request says."""


def proof_of(headers: Mapping[str, str], cookies: Mapping[str, str]) -> str:
    """Return what proves who sends a request: the proxy's header or the cookies of the sign-in, as a digest."""
    how = settings().auth
    signed = sorted(item for item in cookies.items() if how == "oidc" and item[0].startswith(SIGN_IN_COOKIE))
    return digest([headers.get(settings().auth_header) if how == "proxy" else None, signed])


class WaitingUploads(MemoryUploadedFileManager):
    """Uploads until a page takes them, in a folder where Streamlit's own manager has them in memory.

    A session holds ``EXPLAINLAB_MAX_UPLOAD_MB`` at most, all sessions of a user ``EXPLAINLAB_MAX_WAITING_UPLOADS_MB``.
    Files are deleted with their session. Safe to use from any thread.
    """

    def __init__(self, upload_endpoint: str) -> None:
        super().__init__(upload_endpoint)
        folder = settings().home / "waiting"
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = TemporaryDirectory(dir=folder)
        self._sessions: dict[str, _Session] = {}
        self._changing = threading.RLock()

    def admit(self, session_id: str, user: User | None, proof: str) -> None:
        """Let requests with this ``proof`` upload for the session of ``user``; with None, let none do so."""
        with self._changing:
            known = self._sessions.get(session_id)
            if user is None:
                self.remove_session_files(session_id)
            elif known is None or (known.user, known.proof) != (user, proof):
                self._sessions[session_id] = _Session(user, proof, known.sizes if known else {})

    def knows(self, session_id: str, proof: str) -> bool:
        """Return whether the session has been admitted, with this ``proof``."""
        with self._changing:
            return session_id in self._sessions and self._sessions[session_id].proof == proof

    def reserve(self, session_id: str, file_id: str, size: int) -> str:
        """Keep room for a file of ``size`` bytes that arrives; why there is none, or nothing."""
        with self._changing:
            session = self._sessions.get(session_id)
            if session is None:
                return _NOBODY
            if file_id in session.sizes:
                return "This file is here already."
            of_user = sum(sum(each.sizes.values()) for each in self._sessions.values() if each.user == session.user)
            for held, most in (
                (sum(session.sizes.values()), settings().max_upload_mb),
                (of_user, settings().max_waiting_uploads_mb),
            ):
                if held + max(size, _LEAST) > most * 2**20:
                    return f"Uploads that wait for a page may have {most:,} MB. Reload the page and try again."
            session.sizes[file_id] = max(size, _LEAST)
            return ""

    def settle(self, session_id: str, file_id: str) -> None:
        """Give the room back if the file has not arrived."""
        with self._changing:
            if session_id in self._sessions and not self._path(session_id, file_id).exists():
                self._sessions[session_id].sizes.pop(file_id, None)

    def get_files(self, session_id: str, file_ids: Sequence[str]) -> list[UploadedFileRec]:
        """Return the files with their bytes."""
        known = super().get_files(session_id, file_ids)
        paths = {file: self._path(session_id, file.file_id) for file in known}
        return [file._replace(data=path.read_bytes()) for file, path in paths.items() if path.exists()]

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Write a file of a session that has not ended meanwhile."""
        with self._changing:
            if session_id in self._sessions:
                write_file(self._path(session_id, file.file_id), file.data)
                super().add_file(session_id, file._replace(data=b""))

    def remove_file(self, session_id: str, file_id: str) -> None:
        """Delete a file."""
        with self._changing:
            super().remove_file(session_id, file_id)
            self._path(session_id, file_id).unlink(missing_ok=True)
            self.settle(session_id, file_id)

    def remove_session_files(self, session_id: str) -> None:
        """Delete the files of a session that has ended; it may upload no more."""
        with self._changing:
            super().remove_session_files(session_id)
            ended = self._sessions.pop(session_id, None)
            for file_id in ended.sizes if ended else ():
                self._path(session_id, file_id).unlink(missing_ok=True)

    def _path(self, session_id: str, file_id: str) -> Path:
        return Path(self._folder.name) / digest([session_id, file_id])


class Uploads:
    """Passes on an upload, or the deletion of one, if its sender is the one whom the session has admitted.

    There must be room for an upload, of its user and on the disk.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403, 411, 413 or 507 where a file must not arrive or go."""
        if scope["type"] != "http" or _ENDPOINT not in scope["path"] or scope["method"] not in ("PUT", "DELETE"):
            await self._app(scope, receive, send)
            return
        _, session_id, file_id = scope["path"].rsplit("/", 2)
        waiting = get_instance().uploaded_file_mgr
        assert isinstance(waiting, WaitingUploads)
        status, problem = _refusal(waiting, session_id, file_id, HTTPConnection(scope))
        if not problem:
            try:
                await self._app(scope, receive, send)
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                status, problem = 507, _NO_ROOM
            finally:
                waiting.settle(session_id, file_id)
        log.warning("an upload was refused", extra={"reason": problem})
        await PlainTextResponse(problem, status)(scope, receive, send)


def _refusal(waiting: WaitingUploads, session_id: str, file_id: str, request: HTTPConnection) -> tuple[int, str]:
    """Return the status and the reason of a refusal; an upload or deletion without a reason may go on."""
    if not waiting.knows(session_id, proof_of(request.headers, request.cookies)):
        return 403, _NOBODY
    if request.scope["method"] == "DELETE":
        return 204, ""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        return 411, "Say how long the upload is (Content-Length)."
    problem = waiting.reserve(session_id, file_id, int(length))
    return 413 if "MB" in problem else 403, problem
