"""The answer about a data set: what a choice is worth on average, how often metrics agree, and every text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.compute.service import Service
from explainlab.figures import candidates
from explainlab.models.architectures import Architecture
from explainlab.ui.candidates_controls import question
from explainlab.ui.candidates_results import draw_ablation, draw_choice, draw_definitions, sorted_by
from explainlab.ui.candidates_view import CandidatesView
from explainlab.ui.chart import draw_chart

Body = dict[str, Any]

OpenText = Callable[[str, str | None], None]


def draw_data(
    service: Service, view: CandidatesView, body: Body, architecture: Architecture | None, open_text: OpenText
) -> None:
    """Every chart of the data set; ``open_text`` is called with a text that is to be shown above."""
    summary = body["summary"]
    sort = sorted_by(body, list(summary["selection"]), view.sort)
    words, definitions = st.columns([8, 2], vertical_alignment="center")
    words.caption(f"Means of {summary['n']} texts with 95% bootstrap intervals; the metric reported is chosen above.")
    with definitions:
        draw_definitions(body)
    draw_choice(body, sort, "candidates_data")
    draw_ablation(service, view.ablation(architecture, of_data=True), sort, "candidates_data")
    if len(summary["selection"]) > 1:
        draw_chart(candidates.same_winners(body), "candidates_same")
    _draw_opener(body, open_text)
    _draw_table(body)


def _draw_opener(body: Body, open_text: OpenText) -> None:
    texts, key = {text["row"]: text for text in body["texts"]}, question.key("opened_row")

    def take() -> None:
        row = st.session_state[key]
        if row in texts:
            open_text(texts[row]["text"], texts[row].get("text_pair"))
        st.session_state[key] = None

    st.selectbox(
        "Open a text in the section above",
        list(texts),
        index=None,
        key=key,
        on_change=take,
        format_func=lambda row: f"Row {row}: {texts[row]['text']}",
        placeholder="Choose a row",
    )


def _draw_table(body: Body) -> None:
    table = st.expander("All texts", icon=":material/table_rows:", key="candidates_texts_all", on_change="rerun")
    if not table.open:
        return
    rows = []
    for text in body["texts"]:
        row = {"Row": text["row"], "Text": text["text"], "Label": text["label"]}
        for key, winner in text["winners"].items():
            label = candidates.named(body, key)
            row |= {label: winner["value"], f"{label} at": f"layer {winner['layer']}, draw {winner['draw']}"}
        rows.append(row)
    table.dataframe(pd.DataFrame(rows), hide_index=True)
    if body["skipped"]:
        table.markdown("**Rows left out**")
        table.dataframe(pd.DataFrame(body["skipped"], columns=["Row", "Reason"]), hide_index=True)
