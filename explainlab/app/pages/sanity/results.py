"""The answer of the Sanity page about random weights: charts over the units, the texts, and one text's maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.layer_randomisation.figures import rho_by_unit
from explainlab.analyses.layer_randomisation.result import RandomisationData, RandomisationRow
from explainlab.analyses.layer_randomisation.states import MODES
from explainlab.analyses.layer_randomisation.unit_morph import unit_morph
from explainlab.analyses.wording import counted
from explainlab.app.chart import draw_chart, draw_files, files_of
from explainlab.app.once import once
from explainlab.app.page import draw_open_in
from explainlab.app.pages.sanity.component import unit_morph as draw_unit_morph
from explainlab.app.pages.sanity.controls import draw_compared, open_row, question
from explainlab.app.pages.sanity.main import PAGE, TEXT
from explainlab.app.pages.sanity.view import SanityView
from explainlab.app.text import plain
from explainlab.service.service import Service

_RHO_HELP = (
    "Spearman's rank correlation of the map of the model and of the same model with random weights, over the content "
    "features: 1 is the same ranking, 0 none of it. A map that does not change does not come from the weights."
)
_TABLE = "sanity_texts"


def draw_randomisation(result: AnalysisResult[RandomisationData]) -> None:
    """The charts over the units, from the top down and one at a time."""
    body = result.body
    st.header("Random weights", anchor=False, help=_RHO_HELP)
    draw_compared()
    modes = [mode for mode in MODES if any(row.mode == mode for row in body.rows)]
    absolute = question.now("compared") == "absolute"
    for place, mode in zip(st.columns(len(modes), gap="large"), modes, strict=True):
        with place:
            draw_chart(once(result, rho_by_unit, body, mode, absolute), f"sanity_{mode}", help=_RHO_HELP)


def row_of(view: SanityView, body: RandomisationData) -> RandomisationRow:
    """The text that is open."""
    return next((text for text in body.texts if text.row == view.row), body.texts[0])


def draw_text(service: Service, view: SanityView, result: AnalysisResult[RandomisationData]) -> None:
    """The texts with their rank correlations, and the maps of the one that is open."""
    body = result.body
    st.header("One text", anchor=False, help="Pick a text to see its maps while unit after unit becomes random.")
    row = row_of(view, body)
    _draw_list(body, row)
    request = view.row_request(row.text, row.text_pair)
    (answer,) = PAGE.answers_in(TEXT, service, [request])
    TEXT.draw_state(service, [answer])
    if answer.result is None:
        if answer.running:
            st.skeleton(height=160)
        return
    morph = once(answer.result, unit_morph, answer.result.request, answer.result.body, view.palette)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**Row {row.row:,}**: {plain(morph.verdict)}", width="stretch")
        with st.popover("Export", icon=":material/download:", key="sanity_morph_export"):
            draw_files(files_of(morph), "sanity_morph")
    with st.container(border=True):
        draw_unit_morph(morph, "sanity_morph")
    draw_open_in(service, view.carried_row(row.text, row.text_pair), PAGE.name)


def _draw_list(body: RandomisationData, opened: RandomisationRow) -> None:
    rows = [text.row for text in body.texts]

    def picked() -> None:
        places = st.session_state[_TABLE].selection.rows
        if places and places[0] < len(rows):
            open_row(rows[places[0]])

    st.session_state[_TABLE] = {"selection": {"rows": [rows.index(opened.row)], "columns": [], "cells": []}}
    st.dataframe(
        pd.DataFrame(_records(body)),
        hide_index=True,
        key=_TABLE,
        on_select=picked,
        selection_mode="single-row-required",
        column_config={"Text": st.column_config.TextColumn(width="large"), **_numbers(body)},
        alt=f"{counted(len(rows), 'text')} with their rank correlations; pick one to open its maps below.",
    )


def _records(body: RandomisationData) -> list[dict[str, Any]]:
    """Of every text the rank correlations of its maps with those of the most random model."""
    labels = {own.method: own.label for own in body.methods}
    absolute = question.now("compared") == "absolute"
    mode, unit = _last(body)
    return [
        {
            "Row": text.row,
            "Text": text.text,
            **({} if text.text_pair is None else {"Second text": text.text_pair}),
            **{
                labels[method]: value
                for method, value in (text.absolute if absolute else text.values)[mode][unit].items()
            },
        }
        for text in body.texts
    ]


def _last(body: RandomisationData) -> tuple[Any, str]:
    """The mode and the unit of the most random model."""
    modes: Sequence[str] = [mode for mode in MODES if any(row.mode == mode for row in body.rows)]
    return modes[0], body.units[-1]


def _numbers(body: RandomisationData) -> dict[str, Any]:
    mode, unit = _last(body)
    words = f"ρ, everything random down to {unit}" if mode == "cascading" else f"ρ, {unit} random"
    return {own.label: st.column_config.NumberColumn(format="%.2f", help=words) for own in body.methods}
