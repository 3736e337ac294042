"""A browser session: its name, its user, and the question that goes with its reader from page to page."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.typing import UploadedFile

from explainlab.app.sign_in import signed_in
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.service.users import User

if TYPE_CHECKING:
    from explainlab.app.view import SharedInputs

_NAME, _QUESTION, _ACTED = "session.name", "session.question", "session.acted"


def name() -> str:
    """Return the name of this session, which separates its pages from other sessions' pages."""
    drawn: str = st.session_state.setdefault(_NAME, uuid.uuid4().hex)
    return drawn


def user() -> User:
    """Return the user of this session, who owns its runs and uploads.

    Raises :class:`RequestError` if nobody is signed in.
    """
    known = signed_in()
    if known is None:
        raise RequestError("Nobody is signed in here.", "Sign in and try again.")
    return known


def act() -> None:
    """Record that the reader has asked for an answer: from now on the results of this session are stored."""
    st.session_state[_ACTED] = True


def has_acted() -> bool:
    """Return True if the reader has pressed a button; a mere visit stores nothing."""
    return bool(st.session_state.get(_ACTED))


@dataclass(frozen=True)
class _Question:
    """The inputs on ``page``, the page drawn last."""

    page: str
    inputs: SharedInputs


def remember_inputs(page: str, inputs: SharedInputs, first: SharedInputs) -> None:
    """Remember the ``inputs`` on ``page``; a session begins with the first ones that a reader has changed."""
    before: _Question | None = st.session_state.get(_QUESTION)
    if before is None and inputs == first:
        return
    kept: SharedInputs = {**(before.inputs if before else {}), **inputs}
    st.session_state[_QUESTION] = _Question(page, kept)


def arriving(page: str) -> SharedInputs | None:
    """Return the session's question, once when its reader comes to ``page`` from another page; else None."""
    question: _Question | None = st.session_state.get(_QUESTION)
    if question is None or question.page == page:
        return None
    st.session_state[_QUESTION] = _Question(page, question.inputs)
    return question.inputs


def delete_upload(file: UploadedFile) -> None:
    """Delete an upload that a page has read, which Streamlit would keep until the session ends."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)  # type: ignore[attr-defined]


def guarded(act: Callable[..., None]) -> Callable[..., None]:
    """Return ``act`` as a callback: its :class:`ExplainLabError` is shown above the page."""

    def callback(*args: Any) -> None:
        try:
            act(*args)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")

    return callback


def timezone() -> ZoneInfo:
    """Return the time zone of the browser."""
    return ZoneInfo(st.context.timezone or "UTC")
