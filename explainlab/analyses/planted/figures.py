"""The two accuracies of a planted truth beside what each must be."""

from __future__ import annotations

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.planted.result import PlantedData
from explainlab.figures.chart import BLUE, GREY, Chart, error_bars, layout
from explainlab.figures.declared import StudyFigures


def accuracies(body: PlantedData) -> Chart:
    """Draw accuracy with and without the planted words, with intervals; a cross marks the expected value."""
    rows = [("with the words", body.accuracy, body.best_accuracy), ("words masked", body.masked, body.chance)]
    names = [name for name, _, _ in rows]
    figure = go.Figure(layout=layout("Accuracy", "", height=180))
    figure.add_scatter(
        x=[accuracy.mean for _, accuracy, _ in rows],
        y=names,
        error_x=error_bars([accuracy for _, accuracy, _ in rows]),
        mode="markers",
        marker={"color": BLUE, "size": 10},
        name="this model",
    )
    figure.add_scatter(
        x=[goal for _, _, goal in rows],
        y=names,
        mode="markers",
        marker={"color": GREY, "symbol": "cross", "size": 10},
        name="must be near",
    )
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(type="category", autorange="reversed")
    title = "Accuracy with the planted words, and with them masked"
    told = "; ".join(f"{name} {accuracy.mean:.1%}, must be near {goal:.1%}" for name, accuracy, goal in rows)
    cells = [{"rows": name, **accuracy.model_dump(), "must be near": goal} for name, accuracy, goal in rows]
    return Chart("planted-accuracies", title, f"{title}: {told}.", figure, cells)


def _of_data(result: AnalysisResult[PlantedData]) -> list[Chart]:
    return [accuracies(result.body)]


FIGURES = StudyFigures(of_data=_of_data)
