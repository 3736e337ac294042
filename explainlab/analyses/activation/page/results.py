"""The answer about one text: the curves, the table of methods, the text that fills in, what a decoder believes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.activation.analysis import DIRECTIONS
from explainlab.analyses.activation.figures import activation_curves
from explainlab.analyses.activation.page.component import activation_scrubber as draw_activation_scrubber
from explainlab.analyses.activation.page.main import PAGE
from explainlab.analyses.activation.page.view import ActivationView
from explainlab.analyses.activation.result import ActivationText, Direction, MethodMeans, MethodScores
from explainlab.analyses.activation.scrubber import activation_scrubber
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions import figures as intermediate
from explainlab.app.chart import draw_chart, draw_files, theme
from explainlab.app.once import once
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.attribution.registry import get_method
from explainlab.metrics.registry import get_metric, parse_metric
from explainlab.models.architectures import Architecture
from explainlab.service.service import Service

SINGLE_PASS = "sp_pi"
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
    service: Service, view: ActivationView, result: AnalysisResult[ActivationText], architecture: Architecture | None
) -> None:
    """Everything about one text before a model of ``architecture`` (None: not known yet)."""
    body = result.body
    _draw_facts(result)
    for warning in dict.fromkeys(f"{method.label}: {text}" for method in body.methods for text in method.warnings):
        st.warning(plain(warning), icon=":material/warning:")
    _draw_scrubber(view, result)
    draw_chart(
        once(result, activation_curves, body),
        "activation_curves",
        help=explained(" ".join(AREA_HELP.values()), *DIRECTIONS.values()),
    )
    _draw_table(body)
    st.header(
        "Read from left to right",
        anchor=False,
        help="A decoder reads from left to right, so after every feature it can be asked what it "
        "makes of the text so far.",
    )
    if architecture is not None:
        _draw_beliefs(service, view, architecture)


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


def _draw_facts(result: AnalysisResult[ActivationText]) -> None:
    body, cost = result.body, result.cost
    prediction = body.prediction
    likely = 100 * prediction.probabilities[prediction.label]
    count, unit = body.features_revealed, result.request.unit
    facts = [
        f"Prediction **{plain(prediction.label)}**, {likely:.1f}%",
        f"explained: **{plain(body.target.label)}**",
        f"{count:,} {unit}{'' if count == 1 else 's'}",
        f"{cost.forward:,} forward + {cost.backward:,} backward passes, {cost.seconds:.2f} s",
    ]
    st.markdown(" · ".join(facts))


def _draw_scrubber(view: ActivationView, result: AnalysisResult[ActivationText]) -> None:
    request = view.map_request(result.body.methods[0].id)
    scrubber = once(result, activation_scrubber, request, result.body, view.palette)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header(
            "The text as it is revealed",
            anchor=False,
            help="Move the slider, drag through the curve, or press Play or a word. The ring marks "
            "the newest feature, a grey bar a hidden one.",
            width="stretch",
        )
        with st.popover("Export", icon=":material/download:", key="activation_scrubber_export"):
            draw_files(scrubber, "activation_scrubber")
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


def _draw_beliefs(service: Service, view: ActivationView, architecture: Architecture) -> None:
    """The predictions after every feature, and what each one changed; for an encoder, why there are none."""
    if get_method(SINGLE_PASS).unsupported(architecture):
        words = "Only a causal decoder, which reads from left to right, has predictions half-way: every position of a"
        st.info(
            f"{words} {plain(architecture.family)} model has read the whole text.", icon=":material/visibility_off:"
        )
        return
    beliefs = PAGE.answer(service, view.belief_request())
    changes = PAGE.answer(service, view.map_request(SINGLE_PASS))
    PAGE.draw_state(service, [beliefs, changes])
    if beliefs.result is not None:
        chart = once(beliefs.result, intermediate.class_curves, beliefs.result.body)
        draw_chart(chart, "activation_beliefs")
    if changes.result is not None:
        chart = once(changes.result, intermediate.feature_changes, changes.result, view.palette, theme())
        draw_chart(chart, "activation_changes", help=plain(get_method(SINGLE_PASS).definition))
