"""Sanity: whether a map comes from what a model has learned, and whether it can be fooled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.layer_randomisation.figures import UnitMorph, rho_by_unit, unit_morph
from explainlab.analyses.layer_randomisation.result import RandomisationData, RandomisationRow
from explainlab.analyses.layer_randomisation.states import MODES
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.wording import counted
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart, draw_files, files_of
from explainlab.app.components import component
from explainlab.app.data_set import draw_cure, draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.heatmap import payload, token_heatmap
from explainlab.app.page import draw_open_in, draw_words
from explainlab.app.pages.sanity import ENTRY, form, overview
from explainlab.app.pages.sanity.form import (
    ATTACK_SECTION,
    PAGE,
    SUBSTITUTION_SECTION,
    TEXT_SECTION,
    SanityView,
    open_row,
    question,
)
from explainlab.app.pages.sanity.overview import method_lines, open_questions
from explainlab.app.place import PageState, resolved
from explainlab.app.question import card_of
from explainlab.app.sections import charts, draw_asked
from explainlab.app.sets import draw_further, draw_way_back, section_of
from explainlab.app.text import plain
from explainlab.figures.declared import Map
from explainlab.request import Request
from explainlab.service.service import Service
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = PAGE.draw_data_question(partial(PAGE.ask_text, service))
    labels = card.labels if card else None
    draw_mapping(form.question, labels, needs_label=False)
    draw_further(form.question, labels, needs_label=False)
    view = PAGE.settle(service)

    st.divider()
    if len(view.cells) > 1:
        section_of(PAGE, service).draw(service, view.cells, PAGE.answer_set(service, view.text_requests()))
    else:
        draw_way_back(PAGE, view)
        _draw_one(service, view)
    links.draw(PAGE.link(service, view))


def _draw_answer(service: Service, view: SanityView, result: AnalysisResult[RandomisationData]) -> None:
    """Draw the answer in words: the finding for all methods, and a line for each, of all answered questions."""
    report = get_analysis(result.request.question).report(result)
    lines = method_lines(view, result.body, lambda request: service.find(resolved(request)))
    draw_words(report.headline, result, lambda: report.lines, lines)
    missing = open_questions(view, lambda request: service.has(resolved(request)))
    if missing:
        st.caption(missing)


def _draw_one(service: Service, view: SanityView) -> None:
    """Draw one model on one data set."""
    answer = PAGE.answer(service, view.request())
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [answer])
    card = card_of(view.model)
    draw_cure(form.question, card.labels if card else None, answer)
    if answer.result is None:
        if answer.running:
            st.skeleton(height=320)
        return
    with above:
        _draw_answer(service, view, answer.result)
    _draw_randomisation(answer.result)
    st.divider()
    draw_text(service, view, answer.result)
    st.divider()
    row = row_of(view, answer.result.body)
    _draw_attacks(service, view, (row.text, row.text_pair))
    st.divider()
    _draw_substitution(service, view, (row.text, row.text_pair))
    st.divider()
    overview.draw_stability(service, view)
    st.divider()
    overview.draw_axioms(service, view)


_RHO_HELP = (
    "Spearman's rank correlation of the map of the model and of the same model with random weights, over the content "
    "features: 1 is the same ranking, 0 none of it. A map that does not change does not come from the weights."
)
_TABLE = "sanity_texts"


def _draw_randomisation(result: AnalysisResult[RandomisationData]) -> None:
    """Draw the charts over the units, from the top down and one at a time."""
    body = result.body
    st.header("Random weights", anchor=False, help=_RHO_HELP)
    form.FORM.draw("compared")
    modes = [mode for mode in MODES if any(row.mode == mode for row in body.rows)]
    absolute = question.now("compared") == "absolute"
    for place, mode in zip(st.columns(len(modes), gap="large"), modes, strict=True):
        with place:
            draw_chart(cached_for(result, rho_by_unit, body, mode, absolute), f"sanity_{mode}", help=_RHO_HELP)


def row_of(view: SanityView, body: RandomisationData) -> RandomisationRow:
    """Return the text that is open."""
    return next((text for text in body.texts if text.row == view.row), body.texts[0])


def draw_text(service: Service, view: SanityView, result: AnalysisResult[RandomisationData]) -> None:
    """Draw the texts with their rank correlations, and the maps of the open one."""
    body = result.body
    st.header("One text", anchor=False, help="Pick a text to see its maps while unit after unit becomes random.")
    row = row_of(view, body)
    _draw_list(body, row)
    request = view.row_request(row.text, row.text_pair)
    (answer,) = PAGE.answers_in(TEXT_SECTION, service, [request])
    TEXT_SECTION.draw_state(service, [answer])
    if answer.result is None:
        if answer.running:
            st.skeleton(height=160)
        return
    morph = cached_for(answer.result, unit_morph, answer.result.request, answer.result.body, view.palette)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**Row {row.row:,}**: {plain(morph.verdict)}", width="stretch")
        with st.popover("Export", icon=":material/download:", key="sanity_morph_export"):
            draw_files(files_of(morph), "sanity_morph")
    with st.container(border=True):
        draw_unit_morph(morph, "sanity_morph")
    draw_open_in(service, view.row_inputs(row.text, row.text_pair), PAGE.name)


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
    """Return the rank correlations of every text's maps with the maps of the most random model."""
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
    """Return the mode and the unit of the most random model."""
    modes: Sequence[str] = [mode for mode in MODES if any(row.mode == mode for row in body.rows)]
    return modes[0], body.units[-1]


def _numbers(body: RandomisationData) -> dict[str, Any]:
    mode, unit = _last(body)
    words = f"ρ, everything random down to {unit}" if mode == "cascading" else f"ρ, {unit} random"
    return {own.label: st.column_config.NumberColumn(format="%.2f", help=words) for own in body.methods}


Texts = tuple[str, str | None]
"""A text, and the second one of a pair."""
_ATTACK_HELP = (
    "Word embeddings are moved a little, in the direction that drives the map away, while the predicted class stays. "
    "Constrained: its probability stays too. Of a map that can be fooled so, do not rely on the top words."
)
_WORDS_HELP = (
    "A few words give way to near ones, so that everybody can read what was changed, while the predicted class stays. "
    "Constrained: its probability stays too, nearly."
)


def _draw_attacks(service: Service, view: SanityView, row: Texts) -> None:
    """Draw moved embeddings: the target of the attack, and the answer or the button; below it the texts of ``row``."""
    st.header("Attacks", anchor=False, help=_ATTACK_HELP)
    form.FORM.columns("attacked", card=card_of(view.model))
    _draw(service, ATTACK_SECTION, "Attack", view.attack_request, lambda: view.row_attack(*row))


def _draw_substitution(service: Service, view: SanityView, row: Texts) -> None:
    """Draw the section of replaced words in the same way."""
    st.header("Attacks by words", anchor=False, help=_WORDS_HELP)
    form.FORM.draw("reworded")
    _draw(
        service, SUBSTITUTION_SECTION, "Replace words", view.substitution_request, lambda: view.row_substitution(*row)
    )


def _draw(
    service: Service, place: PageState, button: str, make: Callable[[], Request], make_row: Callable[[], Request]
) -> None:
    """Draw the answer to the request of ``make``, which a ``button`` submits, with the maps of its ``make_row``."""
    result = draw_asked(service, place, button, make)
    if result is None:
        return
    for chart in cached_for(result, charts, result):
        draw_chart(chart, f"sanity_{chart.name}")
    text = service.find(resolved(make_row()))
    if isinstance(text, AnalysisResult):
        _draw_maps(text, place.name)


def _maps(result: AnalysisResult[Any]) -> list[Map]:
    return [*figures_of(result).maps.values()]


def _draw_maps(result: AnalysisResult[Any], key: str) -> None:
    """Draw the maps of one text before the attacks and after each, two beside each other."""
    st.markdown(f"**The open text**: {plain(get_analysis(result.request.question).report(result).headline)}")
    columns = st.columns(2, gap="large")
    for place, drawn in enumerate(cached_for(result, _maps, result)):
        with columns[place % 2], st.container(border=True):
            st.markdown(f"**{plain(drawn.title)}**")
            token_heatmap(drawn.drawn, f"{key}_map_{place}")


_unit_morph = component("unit_morph", UnitMorph.scripts(), UnitMorph.styles)


def draw_unit_morph(morph: UnitMorph, key: str) -> None:
    """Draw all maps of ``morph`` behind a slider that asks nobody."""
    _unit_morph(data=payload(morph), key=key)
