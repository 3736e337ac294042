"""The curve of a training: the loss of each epoch, and the accuracy on validation data."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.training.result import Made, TrainedEpoch, TrainingData
from explainlab.figures.chart import COLORS, SYMBOLS, Chart, layout, percent, shown
from explainlab.figures.declared import StudyFigures

_MARGIN = 0.05
"""The least room above and below the accuracies, which may all be equal."""


def loss(models: list[Made]) -> Chart:
    """Draw the mean loss of the texts in each epoch, a line a model."""
    rows = [
        {"model": made.model.id, "seed": made.model.seed, "epoch": epoch.epoch, "loss": epoch.loss}
        for made in models
        for epoch in made.model.epochs
    ]
    figure = _lines(models, "Loss", lambda epoch: epoch.loss)
    last = ", ".join(f"{made.model.epochs[-1].loss:.3f}" for made in models)
    return Chart("loss", "Loss by epoch", f"Mean loss by epoch; at the end {last}.", figure, rows)


def validation(models: list[Made]) -> Chart:
    """Draw the accuracy on validation data after each epoch, a line a model."""
    rows = [
        {"model": made.model.id, "seed": made.model.seed, "epoch": epoch.epoch, "accuracy": epoch.validation}
        | ({} if epoch.masked is None else {"masked": epoch.masked})
        for made in models
        for epoch in made.model.epochs
    ]
    figure = _lines(models, "Accuracy", lambda epoch: epoch.validation)
    both = [made for made in models if made.model.epochs[0].masked is not None]
    for line in _lines(both, "", lambda epoch: epoch.masked, ", masked texts").data:
        figure.add_trace(line.update(line_dash="dash"))
    shown_values = (
        value for made in models for epoch in made.model.epochs for value in (epoch.validation, epoch.masked)
    )
    known = [value for value in shown_values if value is not None]
    figure.update_yaxes(tickformat=".0%", range=[max(0.0, min(known) - _MARGIN), min(1.0, max(known) + _MARGIN) + 0.01])
    best = ", ".join(percent(made.model.epochs[made.model.best_epoch - 1].validation or 0.0) for made in models)
    alt = f"Accuracy on validation data by epoch; of the epoch that was kept {best}."
    return Chart("validation", "Validation by epoch", alt, figure, rows)


def _lines(models: list[Made], title: str, value: Callable[[TrainedEpoch], float | None], kind: str = "") -> go.Figure:
    figure = go.Figure(layout=layout("Epoch", title))
    for number, made in enumerate(models):
        epochs = made.model.epochs
        figure.add_scatter(
            x=[epoch.epoch for epoch in epochs],
            y=[value(epoch) for epoch in epochs],
            mode="lines+markers",
            name=shown(f"{made.model.id}, seed {made.model.seed}{kind}"),
            line={"color": COLORS[number % len(COLORS)], "width": 2},
            marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 9},
        )
    figure.update_xaxes(dtick=1)
    return figure


def _charts(result: AnalysisResult[TrainingData]) -> list[Chart]:
    models = result.body.models
    validated = [made for made in models if made.model.epochs[0].validation is not None]
    return [loss(models), *([validation(validated)] if validated else [])]


FIGURES = StudyFigures(None, _charts)
