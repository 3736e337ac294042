"""The answer about a data set: what a choice is worth on average, how often metrics agree, and every text."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates import figures as candidates
from explainlab.analyses.candidates.result import CandidatesData
from explainlab.analyses.wording import counted
from explainlab.app.chart import draw_chart
from explainlab.app.data.masked import draw_masked_line
from explainlab.app.data.texts import OpenText, draw_opener, draw_texts, row_opener
from explainlab.app.once import once
from explainlab.app.pages.candidates.controls import question
from explainlab.app.pages.candidates.view import CandidatesView
from explainlab.app.pages.candidates.worth import (
    draw_ablation,
    draw_answer,
    draw_choice,
    draw_definitions,
    sorted_by,
)
from explainlab.models.architectures import Architecture
from explainlab.service.service import Service


def draw_data(
    service: Service,
    view: CandidatesView,
    result: AnalysisResult[CandidatesData],
    architecture: Architecture | None,
    open_text: OpenText,
) -> None:
    """Every chart of the data set; ``open_text`` is called with a text that is to be shown above."""
    body = result.body
    draw_answer(view, result)
    sort = sorted_by(list(body.selection), view.sort)
    words, definitions = st.columns([8, 2], vertical_alignment="center")
    words.caption(
        f"Means of {counted(body.summary.n, 'text')} with 95% bootstrap intervals; the metric reported is chosen above."
    )
    with definitions:
        draw_definitions(body.metrics)
    draw_choice(result, sort, "candidates_data")
    draw_masked_line(service, result.request, (), "candidates_data")
    draw_ablation(service, view.ablation(architecture, of_data=True), sort, "candidates_data")
    if len(body.selection) > 1:
        draw_chart(once(result, candidates.same_winners, body), "candidates_same")
    draw_opener(question, body.texts, row_opener(body.texts, open_text))
    draw_texts("candidates_texts_all", lambda: _text_rows(body), result.skipped)


def _text_rows(body: CandidatesData) -> list[dict[str, Any]]:
    rows = []
    for text in body.texts:
        row = {"Row": text.row, "Text": text.text, "Label": text.label}
        for key, winner in text.winners.items():
            label = candidates.directed(body, key)
            place = f"layer {winner.layer}, draw {winner.draw}" if text.selection[key].decided else "no choice"
            row |= {label: winner.value, f"{label} at": place}
        rows.append(row)
    return rows
