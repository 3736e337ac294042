"""Sections that several pages share: a question of its own button, masked texts, and predictions on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.intermediate_predictions.analysis import IntermediatePredictions
from explainlab.analyses.masked_distribution.analysis import check_of
from explainlab.analyses.masked_distribution.result import line
from explainlab.analyses.registry import complete
from explainlab.app import links
from explainlab.app.cost_estimates import draw_cost_estimate
from explainlab.app.entries import page_of
from explainlab.app.glossary import explained
from explainlab.app.page import draw_headline
from explainlab.app.place import PageState, Requests, require_valid, resolved
from explainlab.app.text import plain
from explainlab.data import examples_for
from explainlab.errors import ExplainLabError
from explainlab.figures.chart import Chart
from explainlab.models.loading import ModelCard
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.service import Service


def draw_asked(
    service: Service, place: PageState, button: str, make: Callable[[], Request], costs: str = ""
) -> AnalysisResult[Any] | None:
    """Draw the answer in words to the request of ``make``, submitted in ``place`` by a ``button``; return its result.

    ``costs`` describes the cost of the answer in plain words (empty: as its plan does).
    """
    try:
        request = make()
        require_valid([request])
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
    """Return all charts of a result."""
    return [*figures_of(result).charts.values()]


_HELP = (
    "Metrics that mask words ask the model about masked texts. Where these look like nothing that it was trained on, "
    "what it says of them may be chance."
)


def draw_masked_line(service: Service, request: Request, labels: Sequence[str], key: str) -> None:
    """Draw the line below the numbers that answer ``request``, of a model with these ``labels``, without computing.

    The check is that of the request's data set, or for a text of the examples with the model's labels.
    """
    examples = examples_for(labels)
    data = request.data or (examples.id if examples else None)
    asked = None if data is None else check_of(request, data)
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_masked"):
        known = None if asked is None else _known(service, asked)
        st.caption(plain(line(known.body if known else None)), help=explained(_HELP, "masked-text"), width="content")
        if asked is not None and st.button(
            "See the check" if known else "Check it", type="tertiary", key=f"{key}_check"
        ):
            shown = page_of(asked)
            if shown is not None:
                links.open_page(service, shown.entry.path, shown.view)


def _known(service: Service, asked: Request) -> AnalysisResult[Any] | None:
    """Return the stored check; None where there is none, or it is refused."""
    try:
        result: Result | None = service.find(resolved(asked))
    except ExplainLabError:
        return None
    return result if isinstance(result, AnalysisResult) else None


_IGNORED = {"question", "parameters", "output", "seed"}


def beliefs_request(request: Request, masked: bool = False) -> Request:
    """Return the complete request for the predictions on the way through the text of ``request``.

    ``masked``: also for the text with the rest masked. It leaves out output and seed: the predictions depend on
    neither.
    """
    shared = request.model_dump(exclude=_IGNORED)
    return complete(Request(question=IntermediatePredictions.id, **shared, parameters={"masked": masked}))


def no_beliefs(card: ModelCard) -> str:
    """Return, in Markdown, why the model of ``card`` has no predictions on the way; empty for a causal decoder."""
    reason = card.architecture.capabilities["causal decoder"]
    family = plain(card.architecture.family)
    return f"this {family} model cannot tell, as {reason} and reads the text as a whole." if reason else ""
