"""The answer about a data set: errors of all its texts, their ideal steps, and the rules against each other."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.integration import data_figures as integration_data
from explainlab.analyses.integration.result import IntegrationErrorData
from explainlab.app.chart import draw_chart
from explainlab.app.data.texts import OpenText, draw_opener, draw_texts, row_opener
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.page import draw_headline
from explainlab.app.pages.integration.controls import question
from explainlab.app.pages.integration.results import ERROR_HELP, IDEAL_HELP
from explainlab.attribution.quadrature import Rule
from explainlab.figures.chart import STYLES


def draw_data(rule: Rule, open_text: OpenText, result: AnalysisResult[IntegrationErrorData]) -> None:
    """The answer and every chart of the data set; ``open_text`` is called with a text that is to be shown above."""
    draw_headline(result)
    body, tolerance = result.body, result.request.parameters["tolerance"]
    rules = list(body.summary.mean)
    rule = rule if rule in rules else rules[0]
    open_row = row_opener(body.texts, open_text)
    boxes, histogram = st.columns([3, 2], gap="large")
    with boxes:
        chart = once(result, integration_data.error_boxes, body, rule, tolerance)
        draw_chart(chart, "integration_boxes", lambda data: open_row(data[0]), ERROR_HELP)
    with histogram:
        chart = once(result, integration_data.ideal_histogram, body, rule, tolerance)
        draw_chart(chart, "integration_ideal", help=explained(IDEAL_HELP, "completeness"))
    means, within = st.columns([3, 2], gap="large")
    with means:
        draw_chart(once(result, integration_data.mean_by_rule, body, tolerance), "integration_means")
    with within:
        draw_chart(once(result, integration_data.within_limit, body), "integration_within")
    draw_opener(question, body.texts, open_row, "Choose a row, or press a point in the box plot")
    draw_texts("integration_table", lambda: _text_rows(body, rule), result.skipped)


def _text_rows(body: IntegrationErrorData, rule: Rule) -> list[dict[str, Any]]:
    return [
        {
            "Row": text.row,
            "Text": text.text,
            "Label": text.label,
            "Change of F": text.expected,
            f"Ideal step, {STYLES[rule].label}": text.ideal_steps.get(rule),
            "Adaptive evaluations": text.adaptive.evaluations,
            "Adaptive error": text.adaptive.approximation_error,
            "Cancels": text.cancels,
        }
        for text in body.texts
    ]
