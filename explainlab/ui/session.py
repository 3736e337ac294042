"""What a browser session remembers: its name in the queue, the view it asked for, and what it has submitted."""

from __future__ import annotations

import uuid

import streamlit as st

from explainlab.compute.service import Service
from explainlab.request import Request
from explainlab.ui.view import View

_OWNER, _ASKED, _SUBMITTED = "session.owner", "explain.asked", "explain.submitted"


def owner() -> str:
    """The name under which this session's jobs are queued."""
    return st.session_state.setdefault(_OWNER, uuid.uuid4().hex)


def asked() -> View | None:
    """The view this session last asked for."""
    return st.session_state.get(_ASKED)


def ask(service: Service, view: View) -> None:
    """Make ``view`` the one that is shown; jobs that only the view before needed are given up."""
    before = asked()
    if before is not None:
        still = view.requests()
        for request in before.requests():
            job = service.job(request)
            if request not in still and job is not None:
                service.worker.cancel(job.key, owner())
    st.session_state[_ASKED] = view
    st.session_state[_SUBMITTED] = set()


def submit_once(service: Service, request: Request) -> None:
    """Queue ``request`` unless this session has done so since it asked."""
    done: set[str] = st.session_state.setdefault(_SUBMITTED, set())
    if request.model_dump_json() not in done:
        service.submit(request, owner())
        done.add(request.model_dump_json())


def submit_again(request: Request) -> None:
    """Let :func:`submit_once` queue ``request`` once more: its job failed or was cancelled."""
    st.session_state[_SUBMITTED].discard(request.model_dump_json())
