"""Jobs on a page: progress, place in the queue, time left, and a button that cancels or pauses them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import streamlit as st

from explainlab.analyses.base import Pauses
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.wording import duration
from explainlab.app import links
from explainlab.app.session import user
from explainlab.app.text import plain
from explainlab.models.context import how_far
from explainlab.service import file_tasks
from explainlab.service.fleet.worker_reports import hands_of
from explainlab.service.jobs import Job
from explainlab.service.service import Service
from explainlab.service.store.made import shown_model
from explainlab.workers.worker import why_away

if TYPE_CHECKING:
    from explainlab.app.place import PageState

_POLL_SECONDS = 0.4
GO_ON = "Go on"
"""On the button that asks again for what was paused."""
_SO_FAR_SHARE = 0.05
_so_far: WeakKeyDictionary[Job, tuple[Any, float]] = WeakKeyDictionary()
"""The partial result of a job, and the second (monotonic) from which it may be made anew."""


def draw_jobs(service: Service, jobs: Sequence[Job], place: PageState) -> None:
    """Draw a row for each job of ``place`` until all have ended; the page reruns when one ends or predicts."""
    busy = any(not job.progress.finished for job in jobs)
    st.fragment(_rows, run_every=_POLL_SECONDS if busy else None)(service, jobs, place, _changes(jobs))


def finished_so_far(job: Job) -> Any:
    """Return the partial result of ``job``, or None; the same object until it is made anew.

    That takes a twentieth of the time at most, however many pages show it: the job should not wait for its readers.
    """
    result, until = _so_far.get(job, (None, 0.0))
    partial_result, start = job.partial_result, time.monotonic()
    if partial_result is None or start < until:
        return result
    made, end = partial_result(), time.monotonic()
    if made is None:
        return result
    _so_far[job] = made, end + (end - start) / _SO_FAR_SHARE
    return made


def _rows(service: Service, jobs: Sequence[Job], place: PageState, before: list[int]) -> None:
    answered = any(job.progress.status == "done" for job in jobs)  # since the page last looked for its result
    if answered or _changes(jobs) != before or not all(place.has_requested(job) for job in jobs):
        links.rerun()
    unfinished = [job for job in jobs if not (job.progress.finished or _given_up(job))]
    for job in unfinished:
        job.watch(user(), place.page)
    failed: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        if job in unfinished:
            _draw_running(service, job)
        elif job.progress.status == "cancelled" or _given_up(job):
            _draw_cancelled(job, place)
        else:
            failed[job.progress.error].append(job)
    for alike in failed.values():
        _draw_failed(alike, place)
    if len(unfinished) > 1:
        _draw_cancel_all(service, unfinished, place.name)


def _draw_cancel_all(service: Service, jobs: Sequence[Job], name: str) -> None:
    """Draw a button that stops all ``jobs`` for this user; ``name`` keeps it apart from others of the page."""

    def cancel() -> None:
        for job in jobs:
            service.cancel(job.key, user())

    words = f"{stop_word(jobs)} all {len(jobs)}"
    st.button(words, key=f"cancel_all_{name}", icon=":material/stop_circle:", on_click=cancel)


def draw_stop(job: Job, key: str, stop: Callable[[], None]) -> None:
    """Draw the button that stops ``job``: it pauses jobs that can go on later, and cancels all others."""
    st.button(
        stop_word([job]),
        key=key,
        icon=f":material/{'pause' if _pauses(job) else 'stop'}:",
        on_click=stop,
        disabled=job.stop.is_set(),
    )


def stop_word(jobs: Sequence[Job]) -> str:
    """Return the word on the button that stops ``jobs``: Pause or Cancel."""
    return "Pause" if all(map(_pauses, jobs)) else "Cancel"


def _changes(jobs: Sequence[Job]) -> list[int]:
    """Return the state that a page draws anew: finished jobs, finished parts of sets, and known predictions."""
    ended = [job.progress.finished for job in jobs]
    return [*ended, *(len(job.outcomes) for job in jobs if job.more), any(job.prediction is not None for job in jobs)]


def _draw_running(service: Service, job: Job) -> None:
    progress = job.progress
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, progress.share), text=f"**{plain(label(job))}**: {plain(state(service, job))}")
        draw_stop(job, f"cancel_{job.key}", partial(service.cancel, job.key, user()))


def _draw_cancelled(job: Job, place: PageState) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        pauses = _pauses(job)
        words = f"**{plain(label(job))}** {'is paused' if pauses else 'was cancelled'}. {plain(job.progress.error)}"
        st.info(words, icon=f":material/{'pause_circle' if pauses else 'cancel'}:")
        _draw_again([job], place)


def _draw_failed(jobs: Sequence[Job], place: PageState) -> None:
    """Draw the jobs that failed for the same reason."""
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f"**{plain(', '.join(map(label, jobs)))}**: {plain(jobs[0].progress.error)}"
        st.error(words, icon=":material/error:")
        _draw_again(jobs, place)


def _draw_again(jobs: Sequence[Job], place: PageState) -> None:
    def submit_again() -> None:
        for job in jobs:
            place.submit_again(job)

    words = GO_ON if all(map(_pauses, jobs)) else "Run again"
    st.button(words, key=f"again_{jobs[0].key}", on_click=submit_again)


def _pauses(job: Job) -> bool:
    """Return True if a stopped job continues from its finished part."""
    return isinstance(get_analysis(job.request.question), Pauses)


def label(job: Job) -> str:
    """Return the name of the computation."""
    request = job.request
    about = f", {len(job.requests)} cells" if job.more else ", whole data set" if request.data else ""
    return f"{get_analysis(request.question).label}{about}"


def _cell(job: Job) -> str:
    """Return the request of a set that is being answered."""
    place = min(len(job.outcomes), len(job.more))
    request = job.requests[place]
    about = f"{shown_model(request.model, user().id)} on {file_tasks.about(request, user())}"
    return f"cell {place + 1} of {len(job.requests)} ({about})"


def _given_up(job: Job) -> bool:
    """Return True if this user cancelled a job that continues for others."""
    return user() not in job.users and not job.stop.is_set()


def _where(service: Service, job: Job) -> str:
    """Return the number of workers on a job that several can share."""
    hands = hands_of(job, service.engine, service.workers) if job.asked.is_batch else 0
    several = sum(not worker.spare for worker in service.workers) > 1
    return f" on {hands} {'worker' if hands == 1 else 'workers'}" if hands and several else ""


def state(service: Service, job: Job) -> str:
    """Return the state of an unfinished job."""
    progress = job.progress
    if job.stop.is_set():
        return "stopping after this batch"
    ahead = service.engine.position(job.key)
    if ahead or progress.status == "queued":
        away = why_away(service.workers)
        before = f"{ahead} {'job' if ahead == 1 else 'jobs'} before it"
        return f"waiting for a worker. {plain(away)} It resumes automatically" if away else f"waiting, {before}"
    counted = progress.total and job.asked.is_batch
    phase = f"{how_far(progress.done, progress.total)} {progress.phase}" if counted else progress.phase or "starting"
    if job.more:
        phase = f"{_cell(job)}, {phase}"
    phase += _where(service, job)
    left = progress.seconds_left
    return phase if left is None else f"{phase}, about {duration(left)} left"
