"""The answer about one text: the curves, the table of methods, the text that fills in, what a decoder believes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.activation.analysis import DIRECTIONS
from explainlab.analyses.activation.figures import activation_curves
from explainlab.analyses.activation.result import ActivationText, Direction, MethodMeans, MethodScores
from explainlab.analyses.activation.scrubber import activation_scrubber
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions import figures as intermediate
from explainlab.analyses.wording import counted
from explainlab.app.beliefs import beliefs_request, no_beliefs
from explainlab.app.chart import draw_chart, draw_files, files_of, theme
from explainlab.app.data.masked import draw_masked_line
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.page import draw_facts
from explainlab.app.pages.activation.component import activation_scrubber as draw_activation_scrubber
from explainlab.app.pages.activation.main import PAGE
from explainlab.app.pages.activation.view import ActivationView
from explainlab.app.place import Place
from explainlab.app.text import plain
from explainlab.attribution.registry import get_method
from explainlab.metrics.registry import get_metric, parse_metric
from explainlab.models.loading import ModelCard
from explainlab.service.service import Service

SINGLE_PASS = "sp_pi"
BELIEFS = Place("activation.beliefs")
"""What a decoder believed on the way through the text, and what each feature changed."""
AREA_HELP: dict[Direction, str] = {
    "activation": (
        "Highest scores first: the sooner the target becomes likely, the larger the area. Higher is better."
    ),
    "inverse_activation": (
        "Lowest scores first: the later the target becomes likely, the smaller the area. Lower is better."
    ),
}
COLUMNS = {
    "activation": "AS AUC ↑",
    "inverse_activation": "IAS AUC ↓",
    "passes": "Passes",
    "relative": "Cost",
}
FLIP_HELP = (
    "After how many features, best first, the prediction is the target and stays so; empty: not even at the end."
)
COST_HELP = (
    "The passes that a method needs beyond the single pass of any prediction (the paper's cost). The "
    "passes of the curves are not counted."
)


def draw_text(
    service: Service, view: ActivationView, result: AnalysisResult[ActivationText], card: ModelCard | None
) -> None:
    """Everything about one text before the model of ``card`` (None: not known yet)."""
    body = result.body
    draw_facts(result, counted(body.features_revealed, result.request.unit))
    own = [(method.label, text) for method in body.methods for text in method.warnings if text not in result.warnings]
    for label, text in dict.fromkeys(own):
        st.warning(plain(f"{label}: {text}"), icon=":material/warning:")
    _draw_scrubber(view, result)
    draw_chart(
        once(result, activation_curves, body),
        "activation_curves",
        help=explained(" ".join(AREA_HELP.values()), *DIRECTIONS.values()),
    )
    _draw_table(body)
    draw_masked_line(service, result.request, list(body.prediction.probabilities), "activation")
    st.header(
        "Read from left to right",
        anchor=False,
        help="A decoder reads from left to right, so after every feature it can be asked what it "
        "makes of the text so far.",
    )
    if card is not None:
        _draw_beliefs(service, view, card)


def draw_definitions(baseline: str, methods: Sequence[MethodScores] | Sequence[MethodMeans]) -> None:
    """What both areas and every method compute, one press away."""
    with st.expander("Definitions", icon=":material/functions:"):
        for direction, metric in DIRECTIONS.items():
            parsed = parse_metric(f"{metric}:baseline={baseline}")
            declared = get_metric(parsed.metric)
            words = f"{declared.plain} {declared.definition(parsed.parameters)} {AREA_HELP[direction]}"
            st.markdown(f"**{COLUMNS[direction]}, {plain(declared.label)}**: {plain(words)}")
        for chosen in methods:
            method = get_method(chosen.id)
            formula = f"{method.definition} ({method.source})"
            st.markdown(f"**{plain(chosen.label)}**: {plain(method.plain)} {plain(formula)}")


def _draw_scrubber(view: ActivationView, result: AnalysisResult[ActivationText]) -> None:
    scrubber = once(result, activation_scrubber, result.request, result.body, view.palette)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header(
            "The text as it is revealed",
            anchor=False,
            help="Move the slider, drag through the curve, or press Play or a word. The ring marks "
            "the newest feature, a grey bar a hidden one.",
            width="stretch",
        )
        with st.popover("Export", icon=":material/download:", key="activation_scrubber_export"):
            draw_files(files_of(scrubber), "activation_scrubber")
    with st.container(border=True):
        draw_activation_scrubber(scrubber, "activation_scrubber")


def _draw_table(body: ActivationText) -> None:
    rows = [
        {
            "Method": method.label,
            **{COLUMNS[way]: body.curve(method.method, way).auc for way in DIRECTIONS},
            "Flip": body.curve(method.method, "activation").flip,
            COLUMNS["passes"]: method.cost.passes,
            COLUMNS["relative"]: method.cost.relative,
        }
        for method in body.methods
    ]
    st.markdown("**Methods**")
    st.dataframe(
        pd.DataFrame(rows).astype({"Flip": "Int64"}),
        hide_index=True,
        column_config={
            **number_columns(),
            "Flip": st.column_config.NumberColumn(help=FLIP_HELP),
        },
    )
    draw_definitions(body.baseline, body.methods)


def number_columns() -> dict[str, Any]:
    """How the columns of areas and costs are written, in the table of a text and in that of a data set."""
    areas = {
        COLUMNS[way]: st.column_config.NumberColumn(help=help_text, format="%.3f")
        for way, help_text in AREA_HELP.items()
    }
    passes = st.column_config.NumberColumn(help="Forward and backward passes for each text.", format="localized")
    cost = st.column_config.NumberColumn(help=COST_HELP, format="%.4g×")
    return {**areas, COLUMNS["passes"]: passes, COLUMNS["relative"]: cost}


def _draw_beliefs(service: Service, view: ActivationView, card: ModelCard) -> None:
    """The predictions after every feature, and what each one changed; for an encoder, why there are none."""
    why = no_beliefs(card)
    if why:
        st.info(f"Half-way through the text, {why}", icon=":material/visibility_off:")
        BELIEFS.keep(service, [])
        return
    requests = [beliefs_request(view.text_request()), view.map_request(SINGLE_PASS)]
    beliefs, changes = PAGE.answers_in(BELIEFS, service, requests)
    BELIEFS.draw_state(service, [beliefs, changes])
    if beliefs.result is not None:
        chart = once(beliefs.result, intermediate.class_curves, beliefs.result.body)
        draw_chart(chart, "activation_beliefs")
    if changes.result is not None:
        chart = once(changes.result, intermediate.feature_changes, changes.result, view.palette, theme())
        draw_chart(chart, "activation_changes", help=plain(get_method(SINGLE_PASS).definition))
