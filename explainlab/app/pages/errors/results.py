"""The answer about a data set as a whole: how often the model is right, how sure it is, what it takes for what."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.figures import confusion, confusion_cells, reliability_diagram
from explainlab.analyses.errors.result import PredictionsData
from explainlab.app.chart import draw_cells, draw_chart, theme
from explainlab.app.data.texts import draw_skipped
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.pages.errors.controls import ROWS, pick
from explainlab.app.pages.errors.view import ErrorsView

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


def draw_summary(view: ErrorsView, result: AnalysisResult[PredictionsData]) -> None:
    """Accuracy, macro F1, calibration, the matrix whose cells select, and what was left out."""
    body = result.body
    _draw_numbers(body)
    matrix, calibration = st.columns(2, gap="large")
    with matrix:
        _draw_matrix(view, result)
    with calibration:
        draw_chart(once(result, reliability_diagram, body), "errors_reliability", help=_HELP["reliability"])
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

    chart = once(result, confusion, result.body)
    cells = once(result, confusion_cells, result.body, view.true, view.predicted, theme() == "dark")
    draw_cells(chart, cells, _MATRIX, (view.true, view.predicted), pressed, _HELP["confusion"])
