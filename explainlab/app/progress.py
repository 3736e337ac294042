"""What is still being computed: progress, place in the queue, time left, and a cancel that really stops."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explainlab.analyses.registry import get_analysis
from explainlab.app import links
from explainlab.app.session import owner, submit_again, submitted, user
from explainlab.app.text import plain
from explainlab.service.jobs import Job
from explainlab.service.service import Service

_POLL_SECONDS = 0.4


def draw_jobs(service: Service, jobs: Sequence[Job], page: str) -> None:
    """One row a job that ``page`` asked for. Unfinished, all renew themselves; when one ends the page does."""
    busy = any(not job.progress.finished for job in jobs)
    ended = [job.progress.finished for job in jobs]
    st.fragment(_rows, run_every=_POLL_SECONDS if busy else None)(service, jobs, page, ended)


def _rows(service: Service, jobs: Sequence[Job], page: str, ended_before: list[bool]) -> None:
    answered = any(job.progress.status == "done" for job in jobs)  # since the page looked for its result
    changed = [job.progress.finished for job in jobs] != ended_before
    if answered or changed or not all(submitted(page, job) for job in jobs):
        links.rerun()
    for job in jobs:
        if job.progress.finished or _given_up(job):
            _draw_ended(job, page)
        else:
            _draw_running(service, job)


def _draw_running(service: Service, job: Job) -> None:
    progress = job.progress
    share = progress.done / progress.total if progress.total else 0.0
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, share), text=f"**{plain(label(job))}**: {state(service, job)}")
        st.button(
            "Cancel",
            key=f"cancel_{job.key}",
            icon=":material/stop:",
            on_click=service.cancel,
            args=(job.key, owner(), user()),
            disabled=job.stop.is_set(),
        )


def _draw_ended(job: Job, page: str) -> None:
    name = plain(label(job))
    with st.container(horizontal=True, vertical_alignment="center"):
        if job.progress.status == "cancelled" or _given_up(job):
            st.info(f"**{name}** was cancelled.", icon=":material/cancel:")
        else:
            st.error(f"**{name}**: {plain(job.progress.error)}", icon=":material/error:")
        st.button("Run again", key=f"again_{job.key}", on_click=submit_again, args=(page, job))


def label(job: Job) -> str:
    """What the job computes, in words."""
    request = job.request
    return f"{get_analysis(request.question).label}{', whole data set' if request.data else ''}"


def _given_up(job: Job) -> bool:
    """Whether this session has cancelled a job that goes on for another one."""
    return owner() not in job.owners and not job.stop.is_set()


def state(service: Service, job: Job) -> str:
    """How far an unfinished job is, in words."""
    progress = job.progress
    if job.stop.is_set():
        return "stopping after this batch"
    if progress.status == "queued":
        ahead = service.engine.position(job.key)
        return f"waiting, {ahead} {'job' if ahead == 1 else 'jobs'} before it"
    if not progress.total:
        return progress.phase or "starting"
    left = progress.seconds_left
    return f"{progress.done} of {progress.total} {progress.phase}" + (f", {left:.0f} s left" if left else "")
