"""What the model believed on the way: under the maps of a decoder, on request, its prediction after every feature."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions.analysis import IntermediatePredictions
from explainlab.analyses.intermediate_predictions.beliefs import beliefs
from explainlab.analyses.intermediate_predictions.result import IntermediatePredictionsText
from explainlab.analyses.registry import complete
from explainlab.app import session
from explainlab.app.heatmap import token_heatmap
from explainlab.app.once import once
from explainlab.app.progress import draw_jobs
from explainlab.app.question import card_of
from explainlab.app.session import Pressed
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.jobs import Job
from explainlab.service.service import Service

ASK = "What the model believed on the way"
_PLACE = "explain.beliefs"
_PASSED_OVER = {"question", "parameters", "output", "seed"}


def question(request: Request) -> Request:
    """The complete study of what was believed on the way through the text of ``request``.

    It tells every output, and nothing of it is drawn at random, so that neither makes another question of it.
    """
    shared = request.model_dump(exclude=_PASSED_OVER)
    return complete(Request(question=IntermediatePredictions.id, **shared))


def give_up_others(service: Service, requests: Sequence[Request]) -> None:
    """Forget what was asked of a text other than that of ``requests``, and give up its job."""
    shown = [Pressed((question(request),)) for request in requests[:1]]
    if session.asked(_PLACE) not in (None, Pressed(), *shown):
        session.ask(service, _PLACE, Pressed())


def draw_beliefs(service: Service, request: Request, palette: str) -> None:
    """A folded heading; unfolded, the stored answer about the text of ``request``, else the job that works on it.

    For a model that is no causal decoder, a sentence why there is none; for one that is not here, nothing.
    """
    card = card_of(request.model)
    if card is None:
        return
    reason = card.architecture.capabilities["causal decoder"]
    if reason:
        family = plain(card.architecture.family)
        why = f"this {family} model cannot tell, as {reason} and reads the text as a whole."
        st.caption(f":material/footprint: {ASK}: {why}")
        return
    folded = st.expander(ASK, icon=":material/footprint:", key="beliefs", on_change="rerun")
    if folded.open:
        with folded:
            _draw_open(service, request, palette)


def _draw_open(service: Service, request: Request, palette: str) -> None:
    try:
        found = _answer(service, question(request))
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    if isinstance(found, AnalysisResult):
        _draw_answer(found, request, palette)
    elif found is not None:
        draw_jobs(service, [found], _PLACE)


def _answer(service: Service, asked: Request) -> Result | Job | None:
    if session.asked(_PLACE) != Pressed((asked,)):
        session.ask(service, _PLACE, Pressed((asked,)))
    found = session.find(service, _PLACE, asked)
    if found is not None:
        return found
    session.submit_once(service, _PLACE, asked)
    job = service.job(asked, session.user())
    return job.result if job is not None and job.result is not None else job


def _draw_answer(result: AnalysisResult[IntermediatePredictionsText], request: Request, palette: str) -> None:
    prompted = any(feature.prompt for feature in result.body.features)
    meaning = "how probable each label word would be next, among the label words" if prompted else "the prediction"
    st.caption(
        f"A decoder reads from left to right, so it can be asked after every {request.unit}: {meaning}, had the text "
        f"ended there. Point at a {request.unit}, or walk through them with the arrow keys, for every class."
    )
    for warning in result.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    drawn = once(result, beliefs, request, result.body, palette)
    token_heatmap(drawn, key="beliefs_map")
