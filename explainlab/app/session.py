"""A browser session: its name in the queue, and its user."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import streamlit as st

from explainlab.app.sign_in import signed_in
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.service.users import User

_OWNER = "session.owner"


def owner() -> str:
    """The name under which this session's jobs are queued."""
    name: str = st.session_state.setdefault(_OWNER, uuid.uuid4().hex)
    return name


def user() -> User:
    """The user of this session, who owns its runs and uploads.

    Raises :class:`RequestError` if nobody is signed in.
    """
    known = signed_in()
    if known is None:
        raise RequestError("Nobody is signed in here.", "Sign in and try again.")
    return known


def guarded(act: Callable[..., None]) -> Callable[..., None]:
    """``act`` as a callback: its :class:`ExplainLabError` is shown above the page."""

    def callback(*args: Any) -> None:
        try:
            act(*args)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")

    return callback
