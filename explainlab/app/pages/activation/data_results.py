"""The answer about a data set: mean curves, the table of areas with cost, quality against cost, similarity, texts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.activation.analysis import DIRECTIONS
from explainlab.analyses.activation.figures import WORDS, mean_curves, quality_against_cost, similarity_boxes
from explainlab.analyses.activation.result import ActivationData
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.wording import counted, interval_words
from explainlab.app.chart import draw_chart
from explainlab.app.data.masked import draw_masked_line
from explainlab.app.data.texts import OpenText, draw_opener, draw_texts, row_opener
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.page import draw_headline
from explainlab.app.pages.activation.controls import question
from explainlab.app.pages.activation.results import AREA_HELP, COLUMNS, draw_definitions, number_columns
from explainlab.service.service import Service

FRONT_HELP = "The Pareto front holds the methods that no other method beats at the same cost or less. {}"
SIMILARITY_HELP = (
    "The cosine between a method's scores and the reference's, without special tokens: 1 where they "
    "differ in size alone. Press a point to open its text above."
)


def draw_data(service: Service, open_text: OpenText, result: AnalysisResult[ActivationData]) -> None:
    """The answer and every chart of the data set; ``open_text`` is called with a text that is to be shown above."""
    draw_headline(result)
    body = result.body
    open_row = row_opener(body.texts, open_text)
    _draw_areas(body)
    draw_masked_line(service, result.request, (), "activation_data")
    for draw, name, help_text in ((mean_curves, "means", "{}"), (quality_against_cost, "costs", FRONT_HELP)):
        for column, way in zip(st.columns(2, gap="large"), DIRECTIONS, strict=True):
            with column:
                chart = once(result, draw, body, way)
                definition = explained(help_text.format(AREA_HELP[way]), DIRECTIONS[way])
                draw_chart(chart, f"activation_{name}_{way}", help=definition)
    if body.reference:
        chart = once(result, similarity_boxes, body)
        draw_chart(chart, "activation_similarity", lambda data: open_row(int(data[0])), SIMILARITY_HELP)
    draw_opener(question, body.texts, open_row)
    draw_texts("activation_texts_all", lambda: _text_rows(body), result.skipped)


def _draw_areas(body: ActivationData) -> None:
    """Both areas of every method with their intervals, and its cost: the form of the paper's Tables 2 and 3."""
    st.caption(
        f"Means of {counted(body.n, 'text')} with 95% bootstrap intervals, as in Tables 2 and 3 of Kariyappa et al."
    )
    rows = []
    for method in body.rows:
        row: dict[str, Any] = {"Method": method.label}
        for way in DIRECTIONS:
            row |= {COLUMNS[way]: method.area(way).mean, _interval_of(way): interval_words(method.area(way))}
        rows.append({**row, **{COLUMNS["passes"]: method.passes, COLUMNS["relative"]: method.relative}})
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=number_columns())
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
