"""How long the grid of the controls takes, asked before it is trained: in words, and what smaller ones take."""

from __future__ import annotations

from contextlib import suppress

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study
from explainlab.analyses.roar.page.main import PAGE
from explainlab.analyses.roar_estimate.result import RoarEstimate
from explainlab.analyses.wording import capital, duration
from explainlab.app.place import Place, Requests
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.service.service import Service

TIME = Place("roar.time")
"""The estimate that a press has asked for."""
_MOST_SMALLER = 6


def ask_time(service: Service) -> None:
    """Time an epoch and the measures of the controls (a callback); the next run says what is wrong with them."""
    with suppress(ExplainLabError):
        TIME.ask(service, Requests((PAGE.draft().time_request(),)), record=False)


def draw_time(service: Service) -> None:
    """The estimate for the controls, if it was asked for or is known."""
    try:
        view = PAGE.draft()
        answer = TIME.answer_if_requested(service, view.time_request())
    except ExplainLabError:  # told where the grid is asked for
        return
    if answer is not None:
        TIME.draw_state(service, [answer])
        if answer.result is not None:
            _draw(answer.result)
            if len(view.cells) > 1:
                st.caption(f"This is the first of {len(view.cells)} cells.")


def _draw(result: AnalysisResult[RoarEstimate]) -> None:
    st.info(plain(get_study(result.request.question).report(result).headline), icon=":material/timer:")
    if result.body.smaller:
        rows = [{"Grid": capital(own.changed), "Time": duration(own.seconds)} for own in result.body.smaller]
        smaller = st.expander("Smaller grids", icon=":material/compress:", key="roar_smaller", on_change="rerun")
        if smaller.open:
            alt = "What smaller grids take, the longest first."
            smaller.dataframe(pd.DataFrame(rows[:_MOST_SMALLER]), hide_index=True, alt=alt)
