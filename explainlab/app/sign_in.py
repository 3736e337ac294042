"""The user of a session, and the gate before every page: sign-in, a trusted proxy, or this machine alone."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from explainlab.app.components import component
from explainlab.app.text import plain
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

PROXY_USER = "proxy_user"
"""The key of the proxy's header in ``st.user``, as `explainlab/app/asgi.py` configures Streamlit."""
_SETTLED = "sign_in.settled"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")

_bring_back = component("bring_back", styles=())


def signed_in() -> User | None:
    """The user of this session; None for somebody who is not served.

    A user's id is made of the provider's issuer and subject, or of the proxy's header.
    """
    how = settings().auth
    claims: dict[str, Any] = st.user.to_dict()
    if how == "none":
        return LOCAL if settings().allow_anyone or _from_here() else None
    if how == "proxy":
        name = claims.get(PROXY_USER)
        return User(f"proxy:{name}", name) if name else None
    if not (claims.get("is_logged_in") and claims.get("iss") and claims.get("sub")):
        return None
    return User(f"{claims['iss']}#{claims['sub']}", claims.get("name") or claims.get("email") or claims["sub"])


def gate() -> None:
    """Let users who are served pass; all others see how to sign in, and nothing else."""
    if signed_in() is None:
        _draw_door()
        st.stop()
    if settings().auth == "oidc" and not st.query_params and _SETTLED not in st.session_state:
        _bring_back(data={"signed_in": True}, key="bring_back", on_settled_change=_settle)
        st.stop()


def draw_account() -> None:
    """The user and a button to sign out, in the sidebar."""
    user = signed_in()
    if user in (None, LOCAL):
        return
    with st.sidebar:
        st.caption(f":material/account_circle: {plain(user.name)}")
        if settings().auth == "oidc":
            st.button("Sign out", icon=":material/logout:", type="tertiary", on_click=st.logout)


def _draw_door() -> None:
    st.title("ExplainLab", anchor=False)
    if settings().auth == "none":
        st.warning(
            "This instance can only be used on the machine that it runs on. Whoever runs it can "
            "switch on sign-in (`EXPLAINLAB_AUTH`), or open it to everyone who can reach it "
            "(`EXPLAINLAB_ALLOW_ANYONE`).",
            icon=":material/lock:",
        )
    elif settings().auth == "proxy":
        st.warning(
            "The proxy in front of this instance did not say who you are. Open it by the proxy's address and sign in "
            "there; if you did, tell whoever runs it (`EXPLAINLAB_AUTH_HEADER`).",
            icon=":material/lock:",
        )
    elif not _has_provider():
        st.warning(
            "Sign-in is switched on, but no provider is set up: `.streamlit/secrets.toml` needs an `[auth]` section as "
            "in `assets/deploy/secrets.example.toml`.",
            icon=":material/lock:",
        )
    else:
        st.markdown("Why did a transformer classify a text as it did? Sign in to find out.")
        _bring_back(data={"signed_in": False}, key="bring_back")
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)


def _settle() -> None:
    st.session_state[_SETTLED] = True


def _has_provider() -> bool:
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


def _from_here() -> bool:
    """Whether the browser runs on this machine, without a proxy and under no other host name.

    Streamlit gives the addresses of other machines alone, as text; a script under test has no connection at all.
    """
    headers = st.context.headers
    if isinstance(st.context.ip_address, str) or any(name in headers for name in _FORWARDED):
        return False
    host = urlsplit(f"//{headers.get('host', 'localhost')}").hostname or ""
    return host == "localhost" or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
