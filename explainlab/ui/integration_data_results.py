"""The answer about a data set: errors of all its texts, their ideal steps, and the rules against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.figures import integration_data
from explainlab.figures.chart import STYLES
from explainlab.ui.chart import draw_chart
from explainlab.ui.integration_controls import question
from explainlab.ui.integration_results import ERROR_HELP, IDEAL_HELP

Body = dict[str, Any]

OpenText = Callable[[str, str | None], None]


def draw_data(body: Body, rule: str, open_text: OpenText) -> None:
    """Every chart of the data set; ``open_text`` is called with a text that is to be shown above."""
    summary, texts = body["summary"], {text["row"]: text for text in body["texts"]}
    if not texts:
        st.info("No row of this data set could be studied.", icon=":material/info:")
        return
    rules = list(summary["mean"])
    rule = rule if rule in rules else rules[0]

    def open_row(row: int) -> None:
        text = texts.get(row)
        if text is not None:
            open_text(text["text"], text.get("text_pair"))

    boxes, histogram = st.columns([3, 2], gap="large")
    with boxes:
        chart = integration_data.error_boxes(body, rule)
        draw_chart(chart, "integration_boxes", lambda data: open_row(data[0]), ERROR_HELP)
    with histogram:
        draw_chart(integration_data.ideal_histogram(body, rule), "integration_ideal", help=IDEAL_HELP)
    means, within = st.columns([3, 2], gap="large")
    with means:
        draw_chart(integration_data.mean_by_rule(body), "integration_means")
    with within:
        draw_chart(integration_data.within_limit(body), "integration_within")
    _draw_opener(texts, open_row)
    _draw_table(body, rule)


def _draw_opener(texts: dict[int, Body], open_row: Callable[[int], None]) -> None:
    """The same as pressing a point, for those who do not point."""
    key = question.key("opened_row")

    def take() -> None:
        if st.session_state[key] is not None:
            open_row(st.session_state[key])
            st.session_state[key] = None

    st.selectbox(
        "Open a text in the section above",
        list(texts),
        index=None,
        key=key,
        on_change=take,
        format_func=lambda row: f"Row {row}: {texts[row]['text']}",
        placeholder="Choose a row, or press a point in the box plot",
    )


def _draw_table(body: Body, rule: str) -> None:
    table = st.expander("All texts", icon=":material/table_rows:", key="integration_table", on_change="rerun")
    if not table.open:
        return
    rows = [
        {
            "Row": text["row"],
            "Text": text["text"],
            "Label": text["label"],
            "Change of F": text["expected"],
            f"Ideal step, {STYLES[rule].label}": text["ideal_steps"].get(rule),
            "Adaptive evaluations": text["adaptive"]["evaluations"],
            "Adaptive error": text["adaptive"]["approximation_error"],
            "Cancels": text["cancels"],
        }
        for text in body["texts"]
    ]
    table.dataframe(pd.DataFrame(rows), hide_index=True)
    if body["skipped"]:
        table.markdown("**Rows left out**")
        table.dataframe(pd.DataFrame(body["skipped"], columns=["Row", "Reason"]), hide_index=True)
