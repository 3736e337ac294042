"""The Status page: the state of the instance, refreshed by itself, its limits, and library versions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.wording import duration
from explainlab.app.entries import PageEntry
from explainlab.app.frame import draw_title, name_tab
from explainlab.app.progress import draw_stop, label, state, stop_word
from explainlab.app.session import user
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.models.loading import model_name
from explainlab.service import file_tasks
from explainlab.service.jobs import Job
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.status import QueueEntry, Station, Status, library_versions, status
from explainlab.service.store.retention import used
from explainlab.service.store.runs import line
from explainlab.service.users import LOCAL
from explainlab.settings import describe_settings, settings
from explainlab.workers.pool import Loaded
from explainlab.workers.shards import Counts

ENTRY = PageEntry(
    title="Status",
    icon=":material/monitor_heart:",
    url="status",
    help="What is running and what is waiting, which models are loaded, and what are the limits?",
    order=100,
)

_STORED_HELP = (
    "Results, links, notes and uploads. What is over a limit is deleted within the hour, the longest unused first. You "
    "delete what you have on the page Runs."
)
_RENEW_SECONDS = 2.0
_SHOWN_TEXT = 80
_MB = 2**20


def draw() -> None:
    """Draw the page."""
    name_tab(ENTRY.title)
    draw_title(ENTRY)
    _draw_now(get_service())
    _draw_used(get_service())
    _draw_limits()
    _draw_versions()


def _draw_now(service: Service) -> None:
    """Draw worker, store, device, queue and loaded models, refreshed every two seconds."""
    st.fragment(_draw, run_every=_RENEW_SECONDS)(service)


def _draw_used(service: Service) -> None:
    """Draw the amount of stored data, of the user and of all."""
    st.header("Stored", anchor=False, help=_STORED_HELP)
    try:
        stored = used(service.store, user())
    except ExplainLabError:  # the text above shows its problem
        return
    limits = settings()
    rows = [
        {"Whose": whose, "MB": round(size / _MB, 1), "At most": f"{most:,} MB" if most else "no limit"}
        for whose, size, most in (
            ("Yours", stored.own, limits.max_kept_mb_per_user),
            ("Everybody's", stored.all, limits.max_kept_mb),
        )
    ]
    st.dataframe(pd.DataFrame(rows if user() != LOCAL else rows[1:]), hide_index=True, width=400)


def _draw_limits() -> None:
    """Draw the limits on requests, and the models served."""
    st.header("Limits", anchor=False)
    rows = [
        {"Value": f"{_value(setting['name']):,}", "Limit": setting["help"].rstrip("."), "Setting": setting["name"]}
        for setting in describe_settings()
        if setting["name"].startswith("EXPLAINLAB_MAX_")
    ]
    served = {"Value": ", ".join(settings().model_patterns), "Limit": "Models served"}
    st.dataframe(
        pd.DataFrame([*rows, {**served, "Setting": "EXPLAINLAB_ALLOWED_MODELS"}]), hide_index=True, height="content"
    )


def _draw_versions() -> None:
    """Draw the versions of Python and the libraries."""
    st.header("Versions", anchor=False)
    st.dataframe(pd.DataFrame(library_versions().items(), columns=["Library", "Version"]), hide_index=True, width=400)


def _value(name: str) -> int:
    value: int = getattr(settings(), name.removeprefix("EXPLAINLAB_").lower())
    return value


def _draw(service: Service) -> None:
    current = status(service, user())
    _draw_problems(current)
    running = sum(place.running for place in current.places)
    first, second, third, fourth = st.columns(4)
    first.metric("Running", running)
    second.metric("Waiting", len(current.places) - running)
    third.metric("Loaded models", f"{sum(model.bytes for model in current.loaded) / _MB:,.0f} MB")
    free = "unknown" if current.free_bytes is None else f"{current.free_bytes / 2**30:,.1f} GB"
    fourth.metric(f"Free memory ({plain(current.device)})", free)
    st.header("Queue", anchor=False)
    _draw_queue(service, current.places)
    _draw_workers(current.workers)
    st.header("Loaded models", anchor=False)
    _draw_loaded(current.loaded)


def _draw_problems(current: Status) -> None:
    if not current.worker_alive:
        st.error(
            "The worker does not answer: nothing can be computed until the app is restarted.", icon=":material/error:"
        )
    if current.out_of_memory:
        st.error(
            "Memory does not suffice to load a model and read a word with it: free some of it, or restart the app.",
            icon=":material/memory:",
        )
    if current.problem:
        st.error(plain(current.problem), icon=":material/save:")


def _draw_queue(service: Service, places: Sequence[QueueEntry]) -> None:
    if not places:
        st.caption("Nothing is running or waiting.")
        return
    for place in places:
        _draw_place(service, place)
    own = [place.job for place in places if place.job is not None and place.own]
    if len(own) > 1:
        st.button(
            f"{stop_word(own)} all {len(own)} of mine",
            icon=":material/stop_circle:",
            key="status_cancel_all",
            on_click=service.withdraw,
            args=(own, user()),
        )


def _draw_place(service: Service, place: QueueEntry) -> None:
    """Draw a job in words, with buttons for users who may stop and move it."""
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        job = place.job
        if job is None:
            kind = "one text" if place.urgent else "a data set, or in advance"
            st.markdown(f"{'Running' if place.running else 'Waiting'}: another user's job, {kind}", width="stretch")
            return
        if place.own:
            job.seen = time.monotonic()  # this page waits for it too
        with st.container(width="stretch", gap=None):
            st.markdown(_title(service, job))
            st.caption(_about(job) if place.own else "Another user's job")
            if sum(job.parts.counts):
                st.caption(_parts(job.parts.counts))
        moves = ((-1, "Earlier", "upward", place.earlier), (1, "Later", "downward", place.later))
        for by, name, arrow, possible in () if place.running else moves:
            st.button(
                name,
                icon=f":material/arrow_{arrow}:",
                key=f"status_{name}_{job.key}",
                on_click=service.move,
                args=(job, by, user()),
                disabled=not possible,
            )
        draw_stop(job, f"status_cancel_{job.key}", partial(service.withdraw, [job], user()))


def _title(service: Service, job: Job) -> str:
    return f"**{plain(label(job))}**: {plain(state(service, job))}"


def _about(job: Job) -> str:
    """Return the model, if there is one, and the beginning of the text, the data set or the seed."""
    model = f"{model_name(job.request.model)}: " if job.request.model else ""
    return plain(f"{model}{line(file_tasks.about(job.request, user()), _SHOWN_TEXT)}")


def _parts(counts: Counts) -> str:
    return f"Its parts: {counts.done:,} done, {counts.taken:,} taken, {counts.waiting:,} waiting"


def _draw_loaded(loaded: Sequence[Loaded]) -> None:
    if not loaded:
        st.caption("No model is loaded yet.")
        return
    rows = [
        {"Model": model.id, "Precision": model.dtype, "Device": model.device, "MB": round(model.bytes / _MB, 1)}
        for model in loaded
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)


_HELP = (
    "What computes, on one device each. A large job is shared by all that are free. Texts a second are those that the "
    "model reads, changed ones too, in the last ten seconds; sent and received is what its server and it have said to "
    "each other. One that ends is started again, and its task with it."
)
_MORE = """EXPLAINLAB_WORKERS=2 streamlit run app.py
EXPLAINLAB_ENGINE=ray EXPLAINLAB_RAY_ADDRESS=HOST:PORT streamlit run app.py"""


def _draw_workers(stations: Sequence[Station]) -> None:
    """Draw the work in a sentence, a problem of a worker, a row a worker; for a single one, the way to add more."""
    st.header("Workers", anchor=False, help=_HELP)
    st.markdown(_sentence(stations))
    for station in stations:
        _draw_trouble(station)
    rows = pd.DataFrame([_row(station) for station in stations])
    st.dataframe(rows, hide_index=True, column_config=_columns(), height="content")
    if sum(station.condition.state != "spare" for station in stations) == 1:
        st.caption("Each of these lines starts the app with more, on this machine or on a cluster of Ray:")
        st.code(_MORE, language=None, wrap_lines=True)


def _sentence(stations: Sequence[Station]) -> str:
    """Return the number of workers and their state."""
    fast = f"{sum(station.condition.texts_per_second for station in stations):,.0f} texts a second"
    if len(stations) == 1:
        state = stations[0].state
        return f"This machine's worker is {state}{f': {fast}' if state == 'busy' else ''}."
    counts = Counter(station.state for station in stations)
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"{len(stations)} workers: {states}; together {fast}."


def _draw_trouble(station: Station) -> None:
    condition, where = station.condition, _where(station)
    if condition.state == "refused":
        st.error(
            f"{plain(where)} is not used. {plain(condition.problem)} Give both the same, then restart the app.",
            icon=":material/link_off:",
        )
    elif condition.state == "away":
        st.warning(
            f"Worker {plain(condition.name)} is away. {plain(condition.problem)} Until it is back single texts are "
            "answered by the server itself, and data sets wait.",
            icon=":material/cloud_off:",
        )
    elif condition.state == "lost":
        st.warning(f"{plain(where)} has ended. It is started again with its next task.", icon=":material/restart_alt:")
    elif condition.state == "starting" and condition.restarts:
        st.info(f"{plain(where)} has ended and is being started again.", icon=":material/restart_alt:")


def _where(station: Station) -> str:
    condition = station.condition
    return f"Worker {condition.name} ({condition.place})" if condition.place else f"Worker {condition.name}"


def _row(station: Station) -> dict[str, object]:
    condition = station.condition
    seen = condition.seen
    return {
        "Worker": condition.name,
        "Does": _does(station),
        "Where": condition.place or "not known yet",
        "Device": condition.device,
        "Models": ", ".join(map(model_name, condition.models)) or "none",
        "Texts/s": round(condition.texts_per_second, 1),
        "Memory": condition.memory_bytes,
        "Sign of life": "none yet" if seen is None else _ago(time.time() - seen),
        "Restarts": condition.restarts,
        "Sent": condition.sent,
        "Received": condition.received,
    }


def _does(station: Station) -> str:
    """Return the work of a worker in words, without details of other users' jobs."""
    if station.state == "spare":
        return "stands by for single texts"
    if station.state != "busy":
        return station.state
    if station.job is None:
        return "another user's job"
    return f"helps: {label(station.job)}" if station.job.helps else label(station.job)


def _ago(seconds: float) -> str:
    return "now" if seconds < 3 else f"{duration(seconds)} ago"


def _columns() -> dict[str, Any]:
    return {name: st.column_config.NumberColumn(format="bytes") for name in ("Memory", "Sent", "Received")}
