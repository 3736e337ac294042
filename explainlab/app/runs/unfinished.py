"""The jobs that a stopped server left unfinished, or that are paused: above the runs, to go on with or to forget."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from explainlab.analyses.registry import get_analysis
from explainlab.analyses.wording import duration
from explainlab.app import session
from explainlab.app.progress import GO_ON
from explainlab.app.runs import page as runs_page
from explainlab.models.loading import model_name
from explainlab.request import digest
from explainlab.service import file_tasks
from explainlab.service.access import Unanswered
from explainlab.service.service import Service
from explainlab.service.store.runs import line
from explainlab.settings import settings


def draw_unfinished(service: Service) -> None:
    """A table of the unanswered requests, if any, and actions on the ticked rows, or on all."""
    rows = service.cut_short(session.user())
    if not rows:
        return
    jobs = "1 job had" if len(rows) == 1 else f"{len(rows)} jobs had"
    with st.container(border=True):
        st.warning(
            f"{jobs} not finished when the server stopped, or when paused. A data set goes on where it stopped.",
            icon=":material/power_off:",
        )
        table = st.dataframe(
            pd.DataFrame([_row(unanswered) for unanswered in rows]),
            key=f"unfinished_{digest([unanswered.key for unanswered in rows])[:16]}",
            hide_index=True,
            on_select="rerun",
            selection_mode="multi-row",
            column_config={"Requested": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm")},
            alt=f"{len(rows)} unfinished jobs, the oldest first. Tick those to run again or to forget.",
        )
        ticked = [rows[index] for index in table.selection.rows if index < len(rows)]
        _draw_actions(service, ticked or rows, "all" if len(ticked) in (0, len(rows)) else f"{len(ticked)} of them")


def _draw_actions(service: Service, chosen: Sequence[Unanswered], which: str) -> None:
    user, pauses = session.user(), all(get_analysis(own.request.question).pauses for own in chosen)

    def again() -> None:
        for unanswered in chosen:
            service.submit(unanswered.request, user)
        unwatched = duration(settings().max_unwatched_seconds)
        st.info(
            "They are in the queue; their results will be listed here. "
            f"Follow single texts on Status: they stop when no page has shown them for {unwatched}.",
            icon=":material/hourglass_top:",
        )

    def forget() -> None:
        service.forget([unanswered.key for unanswered in chosen], user)

    with st.container(horizontal=True):
        st.button(
            f"{GO_ON} with {which}" if pauses else f"Run {which} again",
            key="unfinished_again",
            icon=":material/replay:",
            on_click=session.guarded(again),
        )
        st.button(
            f"Forget {which}", key="unfinished_forget", icon=":material/delete:", on_click=session.guarded(forget)
        )


def _row(unanswered: Unanswered) -> dict[str, object]:
    request = unanswered.request
    return {
        "Requested": pd.Timestamp(unanswered.asked).tz_convert(runs_page.timezone()),
        "What": runs_page.label(request.question),
        "Text or data": line(file_tasks.about(request, session.user())),
        "Model": model_name(request.model),
    }
