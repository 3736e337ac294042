"""Activation: the model's predictions as a text is revealed, and the method that finds the decisive words first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.activation.analysis import DIRECTIONS
from explainlab.analyses.activation.figures import (
    WORDS,
    ActivationScrubber,
    activation_curves,
    activation_scrubber,
    mean_curves,
    quality_against_cost,
    similarity_boxes,
)
from explainlab.analyses.activation.result import ActivationData, ActivationText, Direction, MethodMeans, MethodScores
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions import figures as intermediate
from explainlab.analyses.wording import counted, interval_words
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart, draw_files, files_of, theme
from explainlab.app.components import component
from explainlab.app.data_set import OpenText, draw_opener, draw_texts, row_opener
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.heatmap import payload
from explainlab.app.page import draw_facts, draw_headline, draw_open_in
from explainlab.app.pages.activation import ENTRY, form
from explainlab.app.pages.activation.form import PAGE, ActivationView, question
from explainlab.app.place import PageState
from explainlab.app.question import card_of
from explainlab.app.sections import beliefs_request, draw_masked_line, no_beliefs
from explainlab.app.text import plain
from explainlab.attribution.registry import get_method
from explainlab.metrics.registry import get_metric, parse_metric
from explainlab.models.loading import ModelCard
from explainlab.service.service import Service
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = form.draw_text_controls(partial(PAGE.ask_text, service), PAGE.button)
    view = PAGE.settle(service)
    answer = PAGE.answer(service, view.text_request())
    link = PAGE.link(service, view)

    st.divider()
    PAGE.draw_early([answer])
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            draw_headline(answer.result)
        draw_text(service, view, answer.result, card_of(view.model))
    else:
        BELIEFS.keep(service, [])
        if answer.running:
            st.skeleton(height=160)
    draw_open_in(service, view.shared_inputs(), PAGE.name)

    PAGE.draw_data(
        service,
        view,
        "The same curves for many texts: which method is worth its cost on average?",
        card,
        partial(draw_data, service, partial(PAGE.open_text, service)),
    )
    links.draw(link)


SINGLE_PASS = "sp_pi"
BELIEFS = PageState("activation.beliefs")
"""The section on a decoder's beliefs on the way through the text, and the change by each feature."""
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
    """Draw everything about one text before the model of ``card`` (None: not known yet)."""
    body = result.body
    draw_facts(result, counted(body.features_revealed, result.request.unit))
    own = [(method.label, text) for method in body.methods for text in method.warnings if text not in result.warnings]
    for label, text in dict.fromkeys(own):
        st.warning(plain(f"{label}: {text}"), icon=":material/warning:")
    _draw_scrubber(view, result)
    draw_chart(
        cached_for(result, activation_curves, body),
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
    """Draw the definitions of both areas and of every method, one press away."""
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
    scrubber = cached_for(result, activation_scrubber, result.request, result.body, view.palette)
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
        draw_scrubber(scrubber, "activation_scrubber")


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
            **_number_columns(),
            "Flip": st.column_config.NumberColumn(help=FLIP_HELP),
        },
    )
    draw_definitions(body.baseline, body.methods)


def _number_columns() -> dict[str, Any]:
    """Return the formats of the columns of areas and costs, in both tables."""
    areas = {
        COLUMNS[way]: st.column_config.NumberColumn(help=help_text, format="%.3f")
        for way, help_text in AREA_HELP.items()
    }
    passes = st.column_config.NumberColumn(help="Forward and backward passes for each text.", format="localized")
    cost = st.column_config.NumberColumn(help=COST_HELP, format="%.4g×")
    return {**areas, COLUMNS["passes"]: passes, COLUMNS["relative"]: cost}


def _draw_beliefs(service: Service, view: ActivationView, card: ModelCard) -> None:
    """Draw the predictions after every feature, and the change by each; for an encoder, why there are none."""
    why = no_beliefs(card)
    if why:
        st.info(f"Half-way through the text, {why}", icon=":material/visibility_off:")
        BELIEFS.keep(service, [])
        return
    requests = [beliefs_request(view.text_request()), view.map_request(SINGLE_PASS)]
    beliefs, changes = PAGE.answers_in(BELIEFS, service, requests)
    BELIEFS.draw_state(service, [beliefs, changes])
    if beliefs.result is not None:
        chart = cached_for(beliefs.result, intermediate.class_curves, beliefs.result.body)
        draw_chart(chart, "activation_beliefs")
    if changes.result is not None:
        chart = cached_for(changes.result, intermediate.feature_changes, changes.result, view.palette, theme())
        draw_chart(chart, "activation_changes", help=plain(get_method(SINGLE_PASS).definition))


FRONT_HELP = "The Pareto front holds the methods that no other method beats at the same cost or less. {}"
SIMILARITY_HELP = (
    "The cosine between a method's scores and the reference's, without special tokens: 1 where they "
    "differ in size alone. Press a point to open its text above."
)


def draw_data(service: Service, open_text: OpenText, result: AnalysisResult[ActivationData]) -> None:
    """Draw the answer and every chart of the data set; ``open_text`` is called with a text to be shown above."""
    draw_headline(result)
    body = result.body
    open_row = row_opener(body.texts, open_text)
    _draw_areas(body)
    draw_masked_line(service, result.request, (), "activation_data")
    for draw, name, help_text in ((mean_curves, "means", "{}"), (quality_against_cost, "costs", FRONT_HELP)):
        for column, way in zip(st.columns(2, gap="large"), DIRECTIONS, strict=True):
            with column:
                chart = cached_for(result, draw, body, way)
                definition = explained(help_text.format(AREA_HELP[way]), DIRECTIONS[way])
                draw_chart(chart, f"activation_{name}_{way}", help=definition)
    if body.reference:
        chart = cached_for(result, similarity_boxes, body)
        draw_chart(chart, "activation_similarity", lambda data: open_row(int(data[0])), SIMILARITY_HELP)
    draw_opener(question, body.texts, open_row)
    draw_texts("activation_texts_all", lambda: _text_rows(body), result.skipped)


def _draw_areas(body: ActivationData) -> None:
    """Draw both areas of every method with their intervals, and its cost: the form of the paper's Tables 2 and 3."""
    st.caption(
        f"Means of {counted(body.n, 'text')} with 95% bootstrap intervals, as in Tables 2 and 3 of Kariyappa et al."
    )
    rows = []
    for method in body.rows:
        row: dict[str, Any] = {"Method": method.label}
        for way in DIRECTIONS:
            row |= {COLUMNS[way]: method.area(way).mean, _interval_of(way): interval_words(method.area(way))}
        rows.append({**row, **{COLUMNS["passes"]: method.passes, COLUMNS["relative"]: method.relative}})
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=_number_columns())
    draw_definitions(body.baseline, body.rows)


def _interval_of(way: str) -> str:
    return f"{COLUMNS[way].split()[0]} interval"


def _text_rows(body: ActivationData) -> list[dict[str, Any]]:
    labels = {row.method: row.label for row in body.rows}
    rows = []
    for text in body.texts:
        row = {"Row": text.row, "Text": text.text, "Label": text.label, "Explained": text.target}
        row["Features"] = text.features
        for name, areas in text.auc.items():
            row |= {f"{labels[name]}, {WORDS[way].lower()}": areas[way] for way in DIRECTIONS}
        rows.append(row)
    return rows


_activation_scrubber = component("activation_scrubber", ActivationScrubber.scripts(), ActivationScrubber.styles)


def draw_scrubber(scrubber: ActivationScrubber, key: str) -> None:
    """Draw ``scrubber``: moving, playing and switching between its methods ask nobody and tell nobody."""
    _activation_scrubber(data=payload(scrubber), key=key)
