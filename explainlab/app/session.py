"""What a browser session remembers: its name in the queue and, page by page, the view it asked for and submitted."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import streamlit as st

from explainlab.app.sign_in import signed_in
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.service.jobs import Job
from explainlab.service.service import Service
from explainlab.service.users import User

_OWNER = "session.owner"


class Asking(Protocol):
    """What a page shows, as the requests that it needs."""

    def requests(self) -> Sequence[Any]:
        """Everything to be computed for it."""


@dataclass(frozen=True)
class Pressed:
    """What one part of a page has asked, on request, since the view is shown."""

    questions: tuple[Any, ...] = ()

    def requests(self) -> Sequence[Any]:
        """The same: see :class:`Asking`."""
        return self.questions


def owner() -> str:
    """The name under which this session's jobs are queued."""
    return st.session_state.setdefault(_OWNER, uuid.uuid4().hex)


def user() -> User:
    """To whom what this session computes belongs, and whose uploads it reads.

    Raises :class:`RequestError` for a session of nobody known.
    """
    found = signed_in()
    if found is None:
        raise RequestError("Nobody is signed in here.", "Sign in and ask again.")
    return found


def asked(page: str) -> Any:
    """The view that this session last asked for on ``page``; None before it has."""
    return st.session_state.get(f"{page}.asked")


def ask(service: Service, page: str, view: Asking) -> None:
    """Make ``view`` the one that ``page`` shows; jobs that only the view before needed are given up."""
    before = asked(page)
    if before is not None:
        still = view.requests()
        for request in before.requests():
            with suppress(ExplainLabError):  # what may not be asked has no job
                job = service.job(request, user()) if request not in still else None
                if job is not None:
                    service.cancel(job.key, owner(), user())
    st.session_state[f"{page}.asked"] = view
    st.session_state[f"{page}.submitted"] = set()
    st.session_state[f"{page}.found"] = set()


def redraw(page: str, view: Asking) -> None:
    """Make ``view`` the one that ``page`` shows where it needs the same answers: what was given up stays so."""
    st.session_state[f"{page}.asked"] = view


def find(service: Service, page: str, request: Any) -> Any:
    """The stored answer to what ``page`` asks, or None; found for the first time, it is a run of this user's too."""
    result = service.find(request, user())
    seen: set[str] = st.session_state.setdefault(f"{page}.found", set())
    key = service.key(request, user())
    if result is not None and key not in seen:
        service.record(request, result, user())
        seen.add(key)
    return result


def submit_once(service: Service, page: str, request: Any, ahead: bool = False) -> None:
    """Queue ``request`` unless this session has done so since it asked; ``ahead``: before anybody waits for it."""
    done: set[str] = st.session_state.setdefault(f"{page}.submitted", set())
    key = service.key(request, user())
    if key not in done:
        service.submit(request, owner(), user(), ahead)
        done.add(key)


def submitted(page: str, job: Job) -> bool:
    """Whether :func:`submit_once` has queued the question of ``job``, and nobody has pressed to run it again."""
    return job.key in st.session_state[f"{page}.submitted"]


def guarded(act: Callable[..., None]) -> Callable[..., None]:
    """``act`` as a callback: an error that a user can mend is told above the page."""

    def callback(*args: Any) -> None:
        try:
            act(*args)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")

    return callback


def submit_again(page: str, job: Job) -> None:
    """Let :func:`submit_once` queue the question of ``job`` once more: it failed or was cancelled."""
    st.session_state[f"{page}.submitted"].discard(job.key)
