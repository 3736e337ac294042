"""Two who know who somebody is: an OpenID provider, and a proxy that says it in a header. Both are real."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from html import escape
from urllib.parse import urlencode, urlsplit

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "explainlab", "a secret between app and provider"
HOP = 65_536


class Provider:
    """A provider that signs in any reader by a button with a name; it checks client, secret, code and PKCE."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self._codes: dict[str, tuple[str, dict[str, str]]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._metadata),
                Route("/authorize", self._authorize),
                Route("/allow", self._allow),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    async def _metadata(self, _: Request) -> JSONResponse:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def _authorize(self, request: Request) -> HTMLResponse:
        asked = dict(request.query_params)
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        links = [
            f'<a href="/allow?{escape(urlencode({**asked, "who": name}))}">Go on as {name}</a>'
            for name in ("Ann", "Bob")
        ]
        return HTMLResponse(f"<title>Provider</title>{' '.join(links)}")

    async def _allow(self, request: Request) -> RedirectResponse:
        code, asked = secrets.token_urlsafe(16), dict(request.query_params)
        self._codes[code] = asked["who"], asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")

    async def _token(self, request: Request) -> Response:
        form = await request.form()
        who, asked = self._codes.pop(str(form["code"]))
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        proof = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        if request.headers.get("authorization") != expected:
            return JSONResponse({"error": "invalid_client"}, status_code=401)
        if base64.urlsafe_b64encode(proof).decode().rstrip("=") != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": f"{who.lower()}-0123",
            "name": f"{who} *Example* [x](/x)",
            "email": f"{who.lower()}@example.org",
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 600,
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self._key)
        return JSONResponse(
            {"access_token": secrets.token_urlsafe(8), "token_type": "Bearer", "expires_in": 600, "id_token": token}
        )

    async def _keys(self, _: Request) -> JSONResponse:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})


@contextlib.contextmanager
def provider() -> Iterator[str]:
    """The address of a running provider."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(Provider(url).app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(10)


@contextlib.contextmanager
def proxy(upstream: str, **headers: str) -> Iterator[str]:
    """The address of a proxy before ``upstream`` that sets these headers (``_`` for ``-``), whatever a browser sends.

    Every connection serves one request, or one websocket.
    """
    there = urlsplit(upstream)
    own = {name.replace("_", "-").lower(): value for name, value in headers.items()}

    class Hop(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = b""
            while b"\r\n\r\n" not in head and (chunk := self.request.recv(HOP)):
                head += chunk
            if not head:
                return
            lines, _, body = head.partition(b"\r\n\r\n")
            first, *others = lines.decode("latin-1").split("\r\n")
            kept = [line for line in others if line.partition(":")[0].lower() not in own]
            if not any(line.lower().startswith("upgrade:") for line in kept):
                kept = [line for line in kept if not line.lower().startswith("connection:")] + ["Connection: close"]
            sent = "\r\n".join([first, *kept, *(f"{name}: {value}" for name, value in own.items())])
            with socket.create_connection((there.hostname, there.port)) as onward:
                onward.sendall(sent.encode("latin-1") + b"\r\n\r\n" + body)
                threading.Thread(target=_pass_on, args=(self.request, onward), daemon=True).start()
                _pass_on(onward, self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Hop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(HOP):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
