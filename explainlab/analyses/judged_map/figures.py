"""A chart of the texts behind metrics' values, and the heatmap of the scores that they evaluate."""

from __future__ import annotations

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.judged_map.result import JudgedData, JudgedText
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, layout, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap, number
from explainlab.request import Request

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def perturbed(body: JudgedText | JudgedData) -> Chart:
    """Return a chart of the target's probability on every perturbed text by level, with a line for each metric."""
    metrics = body.evaluated
    figure = go.Figure(layout=layout("Share of the features selected", "Probability of the target"))
    for i, metric in enumerate(metrics):
        figure.add_scatter(
            x=[step.level for step in metric.steps],
            y=[step.probability for step in metric.steps],
            mode="lines+markers",
            name=shown(f"{metric.label}: {number(metric.value)}"),
            line={"color": COLORS[i % len(COLORS)], "dash": _DASHES[i % len(_DASHES)], "width": 2},
            marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 9},
            hovertemplate="%{x}%: %{y:.4f}<extra>" + shown(metric.label) + "</extra>",
        )
    if isinstance(body, JudgedText):
        whole = body.prediction.probabilities[body.target.label]
        figure.add_hline(y=whole, line={"color": GREY, "width": 1.5, "dash": "dash"})
        figure.add_annotation(text="whole text", xref="paper", x=1, xanchor="right", y=whole, yanchor="bottom",
                              showarrow=False, font={"color": GREY})  # fmt: skip
    figure.update_xaxes(ticksuffix="%", rangemode="tozero")
    figure.update_yaxes(range=[-0.02, 1.05])
    title = "The target's probability for every text behind a value"
    values = ", ".join(f"{metric.label} {number(metric.value)}" for metric in metrics)
    rows = [
        {"metric": metric.label, "level": step.level, "probability": step.probability, "text": step.text}
        for metric in metrics
        for step in metric.steps
    ]
    short = [metric.label for metric in metrics if not metric.steps]
    notes = (f"The text is too short for {' and '.join(short)}: nothing was selected.",) if short else ()
    return Chart("behind-the-values", title, f"{title}. {values}.", figure, rows, notes)


def _charts(result: AnalysisResult[JudgedText | JudgedData]) -> list[Chart]:
    return [perturbed(result.body)]


def _heatmaps(result: AnalysisResult[JudgedText]) -> list[Map]:
    request, scores = result.request, result.request.parameters["scores"]
    shared = request.model_dump(include={"model", "text", "text_pair", "target", "output", "unit", "seed", "dtype"})
    attribution = result.body.attribution(Request(**shared, question="scores"), scores, signed=min(scores) < 0)
    return [Map("The map that was evaluated", heatmap(attribution))]


FIGURES = StudyFigures(_charts, _charts, _heatmaps)
