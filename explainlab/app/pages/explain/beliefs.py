"""What the model believed on the way: under a decoder's heatmaps, on request, its prediction after every feature."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions.analysis import apart_words
from explainlab.analyses.intermediate_predictions.beliefs import beliefs
from explainlab.analyses.intermediate_predictions.figures import masked_curves
from explainlab.analyses.intermediate_predictions.masked import mean_apart
from explainlab.analyses.intermediate_predictions.result import IntermediatePredictionsText
from explainlab.app.beliefs import beliefs_request, no_beliefs
from explainlab.app.chart import draw_chart
from explainlab.app.heatmap import token_heatmap
from explainlab.app.once import once
from explainlab.app.pages.explain.controls import BELIEFS, question
from explainlab.app.place import Place
from explainlab.app.question import card_of
from explainlab.app.text import plain
from explainlab.models.speaking.completion import PREFIX as COMPLETION
from explainlab.request import Request
from explainlab.service.service import Service

ASK = "What the model believed on the way"
_MASKED = "Compare with the text whose rest is masked"
_MASKED_HELP = (
    "A prediction on the way stands for that of the whole text with everything after it masked, which progressive "
    "inference relies on. Here both are compared; it takes a pass for each feature."
)
_PLACE = Place("explain.beliefs")


def give_up_others(service: Service, requests: Sequence[Request]) -> None:
    """Forget the request for a text other than that of ``requests``, and give up its job."""
    _PLACE.keep(service, [beliefs_request(request, masked) for request in requests[:1] for masked in (False, True)])


def draw_beliefs(service: Service, request: Request, palette: str) -> None:
    """A folded heading; unfolded, the stored answer about the text of ``request``, or its job.

    A model that is no causal decoder gets a sentence why there is none; a model that is not here gets nothing.
    """
    card = card_of(request.model)
    if card is None:
        return
    why = no_beliefs(card)
    if why:
        st.caption(f":material/footprint: {ASK}: {why}")
        return
    folded = st.expander(ASK, icon=":material/footprint:", key=question.key(BELIEFS), on_change="rerun")
    if folded.open:
        with folded:
            _draw_open(service, request, palette)


def _draw_open(service: Service, request: Request, palette: str) -> None:
    masked = st.toggle(_MASKED, key=question.key("masked"), help=_MASKED_HELP)
    (answer,) = _PLACE.answer_all(service, [beliefs_request(request, masked)])
    if answer.result is None:
        _PLACE.draw_state(service, [answer])
    else:
        _draw_answer(answer.result, request, palette)


def _draw_answer(result: AnalysisResult[IntermediatePredictionsText], request: Request, palette: str) -> None:
    speaks = request.model.startswith(COMPLETION)
    meaning = "how likely each label word would be next, among the label words" if speaks else "the prediction"
    st.caption(
        f"A decoder reads from left to right, so it can be asked after every {request.unit} as if the text ended "
        f"there. Shown is {meaning}. Point at a {request.unit}, or use the arrow keys, to see every class."
    )
    for warning in result.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    drawn = once(result, beliefs, request, result.body, palette)
    token_heatmap(drawn, key="beliefs_map")
    apart = apart_words(mean_apart(result.body.positions))
    if apart:
        st.markdown(plain(apart.strip()))
        draw_chart(once(result, masked_curves, result.body), "beliefs_masked_chart", help=_MASKED_HELP)
