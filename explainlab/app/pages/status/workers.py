"""The workers on the page Status: where they are, what they do, how fast, and what is wrong with one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.wording import duration
from explainlab.app.progress import label
from explainlab.app.text import plain
from explainlab.models.loading import model_name
from explainlab.service.status import Station

_HELP = (
    "What computes, on one device each. A large job is shared by all that are free. Texts a second are those that the "
    "model reads, changed ones too, in the last ten seconds; sent and received is what its server and it have said to "
    "each other. One that ends is started again, and its task with it."
)
_MORE = """EXPLAINLAB_WORKERS=2 streamlit run app.py
EXPLAINLAB_ENGINE=ray EXPLAINLAB_RAY_ADDRESS=HOST:PORT streamlit run app.py"""


def draw_workers(stations: Sequence[Station]) -> None:
    """What they do in a sentence, what is wrong with one, a row a worker; of a single one, how to have more."""
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
    """How many there are and what they do."""
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
    """Of others' jobs only that there is one."""
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
