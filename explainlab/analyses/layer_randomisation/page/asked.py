"""Further questions on the Sanity page, asked by buttons: an answer in words and charts, its job, or the button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.layer_randomisation.page.main import AXIOMS, STABILITY
from explainlab.analyses.layer_randomisation.page.view import SanityView
from explainlab.analyses.registry import evaluations
from explainlab.app.chart import draw_chart
from explainlab.app.once import once
from explainlab.app.page import draw_headline
from explainlab.app.place import Place, Requests
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.figures.chart import Chart
from explainlab.request import Request
from explainlab.service.service import Service

_AXIOMS_HELP = (
    "What a map must fulfil, on functions made of this very model so that the right answer is known: a word that the "
    "function does not read must score nothing, equal words must score the same. Press The numbers for the reasons."
)
_STABILITY_HELP = (
    "Every text is explained again: with its embeddings moved a little, with typos and near words. Infidelity asks "
    "whether sums of scores foretell what masking those words does."
)


def draw_asked(service: Service, place: Place, button: str, make: Callable[[], Request]) -> AnalysisResult[Any] | None:
    """The answer to the request that ``make`` gives, asked in ``place`` by a ``button``; returns its result."""
    try:
        request = make()
        gradients = evaluations(request)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    answer = place.answer_if_requested(service, request)
    if answer is None:
        asked = (service, Requests((request,)))
        st.button(button, icon=":material/play_arrow:", on_click=place.ask, args=asked, key=f"{place.name}.ask")
        st.caption(f"At most about {gradients:,} gradients for each text.")
        return None
    place.draw_state(service, [answer])
    if answer.result is None:
        return None
    draw_headline(answer.result)
    result: AnalysisResult[Any] = answer.result
    for chart in once(result, _charts, result):
        draw_chart(chart, f"{place.name}_{chart.name}")
    return result


def draw_stability(service: Service, view: SanityView) -> None:
    """Whether maps hold for texts that are nearly the same."""
    st.header("Stability", anchor=False, help=_STABILITY_HELP)
    draw_asked(service, STABILITY, "Explain again", view.stability_request)


def draw_axioms(service: Service, view: SanityView) -> None:
    """Which axioms the maps fulfil on this model."""
    st.header("Axioms", anchor=False, help=_AXIOMS_HELP)
    draw_asked(service, AXIOMS, "Try the axioms", view.axioms_request)


def _charts(result: AnalysisResult[Any]) -> list[Chart]:
    """All of an attack and of the axioms; of an evaluation its table."""
    charts = figures_of(result).charts
    return [chart for name, chart in charts.items() if name.startswith("table-")] or [*charts.values()]
