"""What is still being computed: progress, place in the queue, time left, and a cancel that really stops."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explainlab.attribution.registry import get_method
from explainlab.compute.jobs import Job
from explainlab.compute.service import Service
from explainlab.ui.session import owner, submit_again
from explainlab.ui.text import plain

_POLL_SECONDS = 0.4


def draw_jobs(service: Service, jobs: Sequence[Job]) -> None:
    """One row a job. While one is unfinished the rows renew themselves; when one ends the page is drawn again."""
    busy = any(not job.progress.finished for job in jobs)
    st.fragment(_rows, run_every=_POLL_SECONDS if busy else None)(service, jobs, [j.progress.finished for j in jobs])


def _rows(service: Service, jobs: Sequence[Job], ended_before: list[bool]) -> None:
    if [job.progress.finished for job in jobs] != ended_before:
        st.rerun()
    for job in jobs:
        if job.progress.finished or _given_up(job):
            _draw_ended(job)
        else:
            _draw_running(service, job)


def _draw_running(service: Service, job: Job) -> None:
    bar, button = st.columns([6, 1], vertical_alignment="center")
    progress = job.progress
    share = progress.done / progress.total if progress.total else 0.0
    bar.progress(min(1.0, share), text=f"**{plain(get_method(job.request.method).label)}**: {_state(service, job)}")
    button.button(
        "Cancel",
        key=f"cancel_{job.key}",
        icon=":material/stop:",
        on_click=service.worker.cancel,
        args=(job.key, owner()),
        width="stretch",
        disabled=job.stop.is_set(),
    )


def _draw_ended(job: Job) -> None:
    label = plain(get_method(job.request.method).label)
    message, button = st.columns([6, 1], vertical_alignment="center")
    if job.progress.status == "cancelled" or _given_up(job):
        message.info(f"**{label}** was cancelled.", icon=":material/cancel:")
    else:
        message.error(f"**{label}**: {plain(job.progress.error)}", icon=":material/error:")
    if button.button("Run again", key=f"again_{job.key}", width="stretch"):
        submit_again(job.request)
        st.rerun()


def _given_up(job: Job) -> bool:
    """Whether this session has cancelled a job that goes on for another one."""
    return owner() not in job.owners and not job.stop.is_set()


def _state(service: Service, job: Job) -> str:
    progress = job.progress
    if job.stop.is_set():
        return "stopping after this batch"
    if progress.status == "queued":
        ahead = service.worker.position(job.key)
        return f"waiting, {ahead} {'job' if ahead == 1 else 'jobs'} before it"
    if not progress.total:
        return progress.phase or "starting"
    left = progress.seconds_left
    return f"{progress.done} of {progress.total} {progress.phase}" + (f", {left:.0f} s left" if left else "")
