"""The user of a session, and the gate before every page: sign-in, a trusted proxy, or this machine alone."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explainlab.app.components import component
from explainlab.app.hosted import CLOSED, WaitingUploads, proof_of, why_not_local
from explainlab.app.text import plain
from explainlab.errors import ResourceError
from explainlab.request import digest
from explainlab.service.service import service
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

PROXY_USER = "proxy_user"
"""The key of the proxy's header in ``st.user``, as `explainlab/app/asgi.py` configures Streamlit."""
_SETTLED, _CHECKED = "sign_in.settled", "sign_in.checked"
_ended: set[str] = set()
"""The sign-ins that are known to have ended; the store has those of earlier processes."""

_bring_back = component("bring_back", styles=())


def signed_in() -> User | None:
    """Return the user of this session; None for a visitor without access, or after the end of a sign-in.

    A user's id joins the provider's issuer and subject, or comes from the proxy's header.
    """
    how = settings().auth
    if how == "none":
        return LOCAL if settings().allow_anyone or _from_here() else None
    claims: dict[str, Any] = st.user.to_dict()  # looks for files of secrets each time
    if how == "proxy":
        name = claims.get(PROXY_USER)
        return User.known_as(f"proxy:{name}", name) if name else None
    if not (claims.get("is_logged_in") and claims.get("iss") and claims.get("sub")) or _has_ended(claims):
        return None
    name = claims.get("name") or claims.get("email") or claims["sub"]
    return User.known_as(f"{claims['iss']}#{claims['sub']}", name)


def gate() -> None:
    """Let users who are served pass; all others see how to sign in, and nothing else."""
    user = signed_in()
    watched = _admit_uploads(user)
    if user is None or not (watched or settings().auth == "none"):
        _draw_door(watched)
        st.stop()
    if settings().auth == "oidc" and not st.query_params and _SETTLED not in st.session_state:
        _bring_back(data={"signed_in": True}, key="bring_back", on_settled_change=_settle)
        st.stop()


def draw_account() -> None:
    """Draw the user and a button to sign out, in the sidebar."""
    user = signed_in()
    if user in (None, LOCAL):
        return
    with st.sidebar:
        st.caption(f":material/account_circle: {plain(user.name)}")
        if settings().auth == "oidc":
            st.button("Sign out", icon=":material/logout:", type="tertiary", on_click=_sign_out)


def _draw_door(watched: bool) -> None:
    st.title("ExplainLab", anchor=False)
    if settings().auth == "none":
        st.warning(CLOSED, icon=":material/lock:")
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
    elif not watched:
        st.warning(
            "Where people sign in, the app is started by `python -m streamlit run explainlab/app/asgi.py`.",
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
    """Return True if the browser runs on this machine, without a proxy and under no other host name.

    Streamlit gives the addresses of other machines alone, as text; a script under test has no connection at all.
    """
    headers = st.context.headers
    names = [name.lower() for name in headers]
    peer = st.context.ip_address if isinstance(st.context.ip_address, str) else "127.0.0.1"
    origin = headers.get("origin")
    return not names or not why_not_local(peer, headers.get_all("host"), names, origin, page=True)


def _admit_uploads(user: User | None) -> bool:
    """Let the session upload if it has a user; False where nothing watches over uploads, as without `asgi.py`."""
    context = get_script_run_ctx()
    if context is None or not isinstance(context.uploaded_file_mgr, WaitingUploads):
        return False
    context.uploaded_file_mgr.admit(context.session_id, user, proof_of(st.context.headers, st.context.cookies))
    return True


def _sign_out() -> None:
    """End the sign-in, also for copies of its cookie."""
    key = _sign_in_key(st.user.to_dict())
    _ended.add(key)
    with suppress(ResourceError):
        service().store.end_sign_in(key, settings().sign_in_hours)
    st.logout()


def _has_ended(claims: dict[str, Any]) -> bool:
    """Return True if the sign-in with these claims is too old, or its user has ended it."""
    if time.time() - (claims.get("iat") or 0) > settings().sign_in_hours * 3600:
        return True
    key = _sign_in_key(claims)
    if st.session_state.get(_CHECKED) != key:
        with suppress(ResourceError):
            if service().store.sign_in_ended(key):
                _ended.add(key)
            st.session_state[_CHECKED] = key
    return key in _ended


def _sign_in_key(claims: dict[str, Any]) -> str:
    """Return a name of this sign-in: no two have the same claims, as each has a time and a nonce."""
    return digest(["sign-in", {name: value for name, value in claims.items() if name != "tokens"}])
