"""A further question about a data set, asked by the button of its section: the button, the job, or the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import complete
from explainlab.app.cost_estimates import draw_cost_estimate
from explainlab.app.page import draw_headline
from explainlab.app.place import Place, Requests
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.figures.chart import Chart
from explainlab.request import Request
from explainlab.service.service import Service


def draw_asked(
    service: Service, place: Place, button: str, make: Callable[[], Request], costs: str = ""
) -> AnalysisResult[Any] | None:
    """The answer in words to the request of ``make``, asked in ``place`` by a ``button``; returns its result.

    ``costs`` says in plain words what the answer takes; empty: its cost estimate.
    """
    try:
        request = complete(make())
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    answer = place.answer_if_requested(service, request)
    if answer is None:
        asked = (service, Requests((request,)))
        st.button(button, icon=":material/play_arrow:", on_click=place.ask, args=asked, key=f"{place.name}.ask")
        if costs:
            st.caption(plain(costs))
        else:
            draw_cost_estimate(service, lambda: [request])
        return None
    place.draw_state(service, [answer])
    if answer.result is None:
        return None
    draw_headline(answer.result)
    result: AnalysisResult[Any] = answer.result
    return result


def charts(result: AnalysisResult[Any]) -> list[Chart]:
    """All charts of a result."""
    return [*figures_of(result).charts.values()]
