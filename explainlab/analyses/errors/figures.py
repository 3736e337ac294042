"""Charts of a model's mistakes by pairs of classes, of its confidence, and of the difference of two attributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd
import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.errors.result import PredictionsData
from explainlab.attribution.records import Attribution, Completeness, Target
from explainlab.errors import RequestError
from explainlab.figures.chart import BLUE, GREY, RED, Chart, add_cells, layout, percent
from explainlab.figures.declared import StudyFigures
from explainlab.figures.heatmap import comparable
from explainlab.figures.matrix import CELL, INK_ON_DARK
from explainlab.figures.svg import INK
from explainlab.result import Cost

_CELL_HEIGHT, _LEAST_HEIGHT, _FRAME_HEIGHT = 44, 240, 90
_MOST_WRITTEN = 30  # classes up to which every cell has its number in it


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
    figure = go.Figure(layout=layout("Predicted", "True", _height(body)))
    rows, labels = confusion_rows(body), body.labels
    by_class = [[cell for cell in rows if cell["true"] == label] for label in labels]
    shares = [[cell["share"] for cell in cells] for cells in by_class]
    texts = [[f"{cell['n']:,}" for cell in cells] for cells in by_class]
    hover = [
        [f"{cell['true']} predicted as {cell['predicted']}: {cell['n']:,}" for cell in cells] for cells in by_class
    ]
    colors = [(0, "rgba(47,128,208,0.03)"), (1, "rgba(47,128,208,0.55)")]
    add_cells(figure, labels, labels, shares, texts if len(labels) <= _MOST_WRITTEN else [], hover, colors)
    return Chart("confusion", "Confusion matrix", confusion_words(body), figure, rows)


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
    """Return the matrix as cells that can be pressed: blue where the model is right, red where it is wrong.

    A press selects ``{"true", "predicted"}`` under :data:`CELL`. The classes ``true`` and ``predicted`` (empty:
    any) are framed. Numbers have the text colour of a light page, or of a ``dark`` one. The figure is a Vega-Lite
    specification with its data.
    """
    frame = pd.DataFrame(confusion_rows(body))
    frame["kind"] = (frame["true"] == frame["predicted"]).map({True: "right", False: "wrong"})
    frame["of"] = [f"{percent(share)} of the class" for share in frame["share"]]
    framed = frame["true"].isin([true] if true else body.labels)
    framed &= frame["predicted"].isin([predicted] if predicted else body.labels)
    frame["framed"] = framed & bool(true or predicted)
    base = alt.Chart(frame).encode(
        x=alt.X("predicted:N", sort=body.labels, title="Predicted", axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("true:N", sort=body.labels, title="True"),
    )
    cells = base.mark_rect(cursor="pointer", cornerRadius=4, stroke=GREY).encode(
        color=alt.Color("kind:N", scale=alt.Scale(domain=["right", "wrong"], range=[BLUE, RED]), legend=None),
        fillOpacity=alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.55]), legend=None),
        strokeWidth=alt.condition(alt.datum.framed, alt.value(3), alt.value(0.6)),
    )
    # With a tooltip, the numbers would catch the press that is meant for the cell below.
    cells = cells.encode(
        tooltip=[alt.Tooltip(name, title=name.capitalize()) for name in ("true", "predicted", "n", "of")]
    )
    cells = cells.add_params(alt.selection_point(name=CELL, fields=["true", "predicted"]))
    layers = [cells]
    if len(body.labels) <= _MOST_WRITTEN:
        layers.append(
            base.mark_text(fontSize=14, color=INK_ON_DARK if dark else INK).encode(text=alt.Text("n:Q", format=","))
        )
    figure = alt.layer(*layers).properties(height=_height(body)).to_dict()
    del figure["config"]  # the page has its own
    return figure


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


def _height(body: PredictionsData) -> int:
    return _FRAME_HEIGHT + max(_LEAST_HEIGHT, _CELL_HEIGHT * min(len(body.labels), 12))


def _of_data(result: AnalysisResult[PredictionsData]) -> list[Chart]:
    return [confusion(result.body), reliability_diagram(result.body)]


FIGURES = StudyFigures(of_data=_of_data)
