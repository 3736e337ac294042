"""Errors: the mistakes of a model on a data set, and the words that speak for the wrong class."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.figures import confusion, confusion_cells, reliability_diagram
from explainlab.analyses.errors.result import PredictionsData
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_cells, draw_chart, theme
from explainlab.app.data_set import draw_cure, draw_mapping, draw_skipped
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.page import draw_headline
from explainlab.app.pages.errors import ENTRY, drivers, form, state
from explainlab.app.pages.errors.form import PAGE, ROWS, ErrorsView, pick
from explainlab.app.pages.errors.rows import draw_choice, draw_rows
from explainlab.app.question import card_of
from explainlab.app.sets import draw_further, draw_way_back, section_of
from explainlab.service.service import Service
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    state.draw_reported()
    ask = partial(state.ask, service)
    with PAGE.place_of_controls():
        card = form.draw_question(ask, PAGE.button)
    labels = card.labels if card else None
    draw_mapping(form.question, labels)
    draw_further(form.question, labels)
    view = state.settle(service)

    st.divider()
    if len(view.cells) > 1:
        section_of(PAGE, service).draw(service, view.cells, PAGE.answer_set(service, view.text_requests()))
        links.draw(PAGE.link(service, view))
    else:
        draw_way_back(PAGE, view)
        _draw_one(service, view)


def _draw_one(service: Service, view: ErrorsView) -> None:
    """Draw one model on one data set: the whole, the rows, and what drives the mistakes."""
    predictions = state.find(service, view)
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [predictions.answer])
    card = card_of(view.model)
    draw_cure(form.question, card.labels if card else None, predictions.answer)
    if predictions.table is not None:
        with above:
            draw_headline(predictions.answer.result)
        _draw_summary(view, predictions.answer.result)
        st.divider()
        with st.container(key=form.ROWS):
            st.header("Rows", anchor=False, help="Pick a row to see why the model says what it says.")
        order = draw_choice(view, predictions.table, predictions.answer.result.body.labels)
        if len(order):
            draw_rows(service, view, card, predictions.table, order)
        else:
            links.draw(PAGE.link(service, view))
        if predictions.table.rows.wrong.any():
            st.divider()
            drivers.draw_drivers(service, view, predictions.table)
    else:
        if predictions.answer.running:
            st.skeleton(height=160)
        links.draw(PAGE.link(service, view))


_MATRIX = "errors_confusion"
_HELP = {
    "accuracy": explained(
        "The share of rows whose predicted class is the true one, with Wilson's 95% interval.", "interval"
    ),
    "macro_f1": "The mean of every class's F1: rare classes count as much as frequent ones.",
    "ece": explained(
        "Expected calibration error: how far confidence is from accuracy, by bins (Guo et al. 2017).", "calibration"
    ),
    "confusion": "Press a cell to see its rows, and again to see all. The boxes for the true and the "
    "predicted class below do the same. Colours show the share of the true class.",
    "reliability": explained(
        "A well calibrated model is right as often as it is sure: its bars end on the diagonal.", "calibration"
    ),
}


def _draw_summary(view: ErrorsView, result: AnalysisResult[PredictionsData]) -> None:
    """Draw accuracy, macro F1, calibration, the matrix whose cells select, and the rows left out."""
    body = result.body
    _draw_numbers(body)
    matrix, calibration = st.columns(2, gap="large")
    with matrix:
        _draw_matrix(view, result)
    with calibration:
        draw_chart(cached_for(result, reliability_diagram, body), "errors_reliability", help=_HELP["reliability"])
    classes = st.expander("Classes", icon=":material/category:", key="errors_classes", on_change="rerun")
    if classes.open:
        classes.dataframe(
            pd.DataFrame([scores.model_dump() for scores in body.per_class]).rename(columns=str.capitalize),
            hide_index=True,
            column_config={
                name: st.column_config.NumberColumn(format="%.3f") for name in ("Precision", "Recall", "F1")
            },
        )
    if result.skipped:
        label = f"Rows left out: {len(result.skipped):,}"
        left_out = st.expander(label, icon=":material/block:", key="errors_skipped", on_change="rerun")
        if left_out.open:
            with left_out:
                draw_skipped(result.skipped)


def _draw_numbers(body: PredictionsData) -> None:
    accuracy, wrong = body.accuracy, body.n - sum(counts[i] for i, counts in enumerate(body.confusion))
    between = f"{100 * accuracy.low:.1f}% to {100 * accuracy.high:.1f}%"
    metrics = (
        ("Accuracy", f"{100 * accuracy.mean:.1f}%", between, _HELP["accuracy"]),
        ("Macro F1", f"{body.macro_f1:.3f}", f"{len(body.labels)} classes", _HELP["macro_f1"]),
        ("Calibration error", f"{100 * body.calibration.ece:.1f}%", "confidence against accuracy", _HELP["ece"]),
        ("Mistakes", f"{wrong:,}", f"of {body.n:,} rows", None),
    )
    for column, (label, value, beside, help_text) in zip(st.columns(len(metrics)), metrics, strict=True):
        column.metric(label, value, beside, delta_color="off", delta_arrow="off", help=help_text)


def _draw_matrix(view: ErrorsView, result: AnalysisResult[PredictionsData]) -> None:
    def pressed(cell: dict[str, str]) -> None:
        again = (cell["true"], cell["predicted"]) == (view.true, view.predicted)
        pick(ROWS, *(("", "") if again else (cell["true"], cell["predicted"])))

    chart = cached_for(result, confusion, result.body)
    cells = cached_for(result, confusion_cells, result.body, view.true, view.predicted, theme() == "dark")
    draw_cells(chart, cells, _MATRIX, (view.true, view.predicted), pressed, _HELP["confusion"])
