"""Charts of a model's mistakes by pairs of classes, of its confidence, and of the difference of two attributions."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.result import PredictionsData
from explainlab.attribution.records import Attribution, Completeness, Target
from explainlab.errors import RequestError
from explainlab.figures.chart import BLUE, GREY, NAME, RED, Chart, layout, percent, shortened
from explainlab.figures.declared import StudyFigures
from explainlab.figures.heatmap import comparable
from explainlab.figures.matrix import Cell, Matrix
from explainlab.result import Cost

_CELL_HEIGHT, _LEAST_HEIGHT, _FRAME_HEIGHT = 44, 240, 90
_MOST_WRITTEN = 30  # classes up to which every cell has its number in it
_HEADING = 16  # characters of a line above a column


def confusion_rows(body: PredictionsData) -> list[dict[str, Any]]:
    """Return a record for each cell: true and predicted class, number of rows, and their share of the true class."""
    rows = []
    for true, counts in zip(body.labels, body.confusion, strict=True):
        total = max(1, sum(counts))
        rows += [
            {"true": true, "predicted": predicted, "n": n, "share": n / total}
            for predicted, n in zip(body.labels, counts, strict=True)
        ]
    return rows


def confusion(body: PredictionsData) -> Chart:
    """Draw the matrix as a chart to keep: true classes down, predicted ones across, rows of the data in every cell."""
    return Chart("confusion", "Confusion matrix", confusion_words(body), _matrix(body).figure(), confusion_rows(body))


def confusion_words(body: PredictionsData) -> str:
    """Return a sentence about the matrix: its most frequent mistake."""
    wrong = [cell for cell in confusion_rows(body) if cell["true"] != cell["predicted"] and cell["n"]]
    if not wrong:
        return f"Confusion matrix of {body.n:,} rows: no mistake."
    worst = max(wrong, key=lambda cell: cell["n"])
    words = (
        f"{worst['n']:,} of {worst['true']} predicted as {worst['predicted']}, {percent(worst['share'])} of that class"
    )
    return f"Confusion matrix of {body.n:,} rows; most frequent mistake: {words}."


def confusion_cells(body: PredictionsData, true: str, predicted: str, dark: bool = False) -> dict[str, Any]:
    """Return the matrix as cells to press: see :meth:`explainlab.figures.matrix.Matrix.pressable`.

    A press selects ``{"true", "predicted"}``. The cells of ``true`` and ``predicted`` (empty: any class) are framed.
    """
    return _matrix(body).pressable({"true": true, "predicted": predicted}, dark)


def _matrix(body: PredictionsData) -> Matrix:
    """Return the matrix: blue where the model is right, red where it is wrong."""
    labels = body.labels
    cells = [
        Cell(
            row=i // len(labels),
            column=i % len(labels),
            key={"true": true, "predicted": predicted},
            share=share if true == predicted else -share,
            lines=(f"{n:,}",) if len(labels) <= _MOST_WRITTEN else (),
            hover=f"{true} predicted as {predicted}: {n:,}, {percent(share)} of that class",
        )
        for i, (true, predicted, n, share) in enumerate(cell.values() for cell in confusion_rows(body))
    ]
    tall = _FRAME_HEIGHT + max(_LEAST_HEIGHT, _CELL_HEIGHT * min(len(labels), 12))
    columns = ["\n".join(textwrap.wrap(shortened(label, 2 * NAME), _HEADING)) for label in labels]
    return Matrix(labels, columns, cells, titles=("Predicted", "True"), tall=tall)


def reliability_diagram(body: PredictionsData) -> Chart:
    """Draw accuracy in every bin of confidence, beside that of a calibrated model, and the texts in each bin."""
    bins = [b for b in body.calibration.bins if b.n]
    places = {
        "x": [(b.low + b.high) / 2 for b in bins],
        "width": [b.high - b.low for b in bins],
    }
    hover = [[f"{b.low:.2f} to {b.high:.2f}", b.n, b.confidence] for b in bins]
    figure = go.Figure(layout=layout("Confidence", "Accuracy", height=480, bargap=0))
    figure.add_bar(
        **places,
        y=[b.accuracy for b in bins],
        name="Accuracy",
        marker={"color": BLUE, "opacity": 0.75, "line": {"color": BLUE, "width": 1}},
        customdata=hover,
        hovertemplate="confidence %{customdata[0]}: accuracy %{y:.3f}, mean confidence %{customdata[2]:.3f}, "
        "%{customdata[1]:,} texts<extra></extra>",
    )
    figure.add_scatter(
        x=[b.confidence for b in bins],
        y=[b.confidence for b in bins],
        mode="markers",
        name="Mean confidence",
        marker={"color": RED, "symbol": "diamond", "size": 8},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="Calibrated", line={"color": GREY, "dash": "dash"}, hoverinfo="skip"
    )
    figure.add_bar(
        **places,
        y=[b.n for b in bins],
        yaxis="y2",
        text=[f"{b.n:,}" for b in bins],
        textposition="outside",
        cliponaxis=False,
        marker={"color": GREY, "opacity": 0.6},
        customdata=hover,
        hovertemplate="confidence %{customdata[0]}: %{y:,} texts<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(range=[0, 1], anchor="y2")
    most = max(b.n for b in bins)
    figure.update_layout(
        yaxis={"domain": [0.36, 1], "range": [0, 1.02]},
        yaxis2={"domain": [0, 0.24], "title": {"text": "Texts"}, "automargin": True, "range": [0, 1.3 * most]},
    )
    title = f"Reliability of {body.n:,} predictions"
    accuracy, ece = body.accuracy.mean, body.calibration.ece
    words = f"{title}. Accuracy {accuracy:.1%}; the expected calibration error is {ece:.3f}."
    return Chart("reliability", title, words, figure, [b.model_dump() for b in body.calibration.bins])


def difference(first: Attribution, second: Attribution) -> Attribution:
    """Return ``first`` minus ``second``, score by score: positive scores favour the class of ``first``.

    It costs no pass. Errors add up. Raises :class:`RequestError` unless both score the same
    features.
    """
    if not comparable([first, second]):
        raise RequestError("These maps score different features.", "Compare maps of one text, unit and tokenizer.")
    expected = None
    if first.completeness and second.completeness:
        expected = first.completeness.expected - second.completeness.expected
    scores = first.scores - second.scores
    errors = None
    if first.errors is not None and second.errors is not None:
        errors = first.errors + second.errors
    return replace(
        first,
        target=Target(first.target.index, f"{first.target.label} over {second.target.label}"),
        scores=scores,
        errors=errors,
        signed=True,
        completeness=None if expected is None else Completeness.of(scores, expected),
        cost=Cost(0, 0, 0.0),
        warnings=(),
        notes=("difference of the two maps",),
    )


def _of_data(result: AnalysisResult[PredictionsData]) -> list[Chart]:
    return [confusion(result.body), reliability_diagram(result.body)]


FIGURES = StudyFigures(of_data=_of_data)
