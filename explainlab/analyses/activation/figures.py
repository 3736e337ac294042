"""Charts of activation curves: curves of one text, mean curves, quality against cost, closeness to a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.activation.result import (
    ActivationData,
    ActivationText,
    Curve,
    Direction,
    MeanCurve,
    MethodMeans,
    MethodScores,
)
from explainlab.analyses.attributions import method_request
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import mean_words
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods, parse_spec
from explainlab.figures.chart import Chart, add_band, layout, shown
from explainlab.figures.cost import CostPoint, color_symbols, cost_chart
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap
from explainlab.request import Request

WORDS: dict[Direction, str] = {"activation": "Activation", "inverse_activation": "Inverse activation"}
_DASHES: dict[Direction, str] = {"activation": "solid", "inverse_activation": "dot"}


def activation_curves(body: ActivationText) -> Chart:
    """Draw the target's probability after k features, in both directions of every method; a ring marks each flip."""
    label = body.target.label
    n = body.curves[0].k[-1]
    figure = go.Figure(layout=layout(f"Features revealed (of {n})", f"Probability of “{shown(label)}”"))
    styles, labels = _styles(body.methods), {method.method: method.label for method in body.methods}
    rows: list[dict[str, Any]] = []
    for curve in body.curves:
        name, way = curve.method, curve.direction
        values = [row[body.target.index] for row in curve.probabilities]
        color, symbol = styles[name]
        figure.add_scatter(
            x=curve.k,
            y=values,
            mode="lines+markers",
            name=shown(f"{labels[name]}, {WORDS[way].lower()}: AUC {curve.auc:.3f}"),
            line={"color": color, "dash": _DASHES[way], "width": 2},
            marker={"symbol": symbol, "size": 6 if n <= 60 else 3},
            hovertemplate="k = %{x}: %{y:.3f}<extra>" + shown(labels[name]) + "</extra>",
            legendgroup=name,
        )
        _mark_flip(figure, curve, values, color, labels[name])
        rows += [
            {"method": name, "direction": way, "k": k, "feature": place, "probability": value}
            for k, place, value in zip(curve.k, [None, *curve.order], values, strict=True)
        ]
    figure.update_yaxes(range=[-0.02, 1.02])
    title = f"Probability of {label} as features are revealed, best first and worst first"
    return Chart("activation-curves", title, f"{title}. {_flip_words(body, labels)}", figure, rows, _not_marked(body))


def mean_curves(body: ActivationData, direction: Direction) -> Chart:
    """Draw the mean curve of every method in one direction, each in the band of its 95% intervals."""
    figure = go.Figure(layout=layout("Share of the features revealed", "Mean probability of the target"))
    styles, table = _styles(body.rows), {row.method: row for row in body.rows}
    curves = [curve for curve in body.curves if curve.direction == direction]
    for curve in curves:
        color, _ = styles[curve.method]
        _band(figure, body.grid, curve, color)
    for curve in curves:
        row, (color, symbol) = table[curve.method], styles[curve.method]
        figure.add_scatter(
            x=body.grid,
            y=curve.mean,
            mode="lines+markers",
            name=shown(f"{row.label}: AUC {mean_words(row.area(direction))}"),
            line={"color": color, "dash": _DASHES[direction], "width": 2},
            marker={"symbol": symbol, "size": 7, "maxdisplayed": 10},
            hovertemplate="%{x:.0%}: %{y:.3f}<extra>" + shown(row.label) + "</extra>",
            legendgroup=curve.method,
        )
    figure.update_xaxes(tickformat=".0%")
    title = f"{WORDS[direction]} curves, {body.n} texts"
    nothing: list[None] = [None] * len(body.grid)
    rows = [
        {"method": curve.method, "share": x, "mean": mean, "low": low, "high": high}
        for curve in curves
        for x, mean, low, high in zip(
            body.grid,
            curve.mean,
            curve.low or nothing,
            curve.high or nothing,
            strict=True,
        )
    ]
    best = _best(body, direction)
    alt = f"{title}: means with 95% intervals. Best: {best.label}."
    return Chart(f"{direction}-means", title, alt, figure, rows)


def quality_against_cost(body: ActivationData, direction: Direction) -> Chart:
    """Draw every method's mean area against its passes a text, with the Pareto front."""
    points = [
        CostPoint(
            row.method,
            row.label,
            row.passes,
            row.area(direction).mean,
            row.area(direction),
            {"relative": row.relative, **row.area(direction).model_dump()},
        )
        for row in body.rows
    ]
    higher = direction == "activation"
    return cost_chart(points, f"{WORDS[direction]} AUC", higher, f"{direction}-against-cost", RANDOM)


def similarity_boxes(body: ActivationData) -> Chart:
    """Draw the cosine of every method's scores with the reference's: a box a method, a point a text."""
    labels, styles = {row.method: row.label for row in body.rows}, _styles(body.rows)
    figure = go.Figure(layout=layout("Cosine similarity", "", height=110 + 70 * len(labels)))
    rows: list[dict[str, Any]] = []
    for name, label in labels.items():
        cosines = [(text.row, text.similarity[name]) for text in body.texts]
        rows += [{"row": number, "method": name, "cosine": value} for number, value in cosines]
        known = [(number, value) for number, value in cosines if value is not None]
        figure.add_box(
            x=[value for _, value in known],
            y=[shown(label)] * len(known),
            customdata=[number for number, _ in known],
            orientation="h",
            boxpoints="all",
            jitter=0.5,
            pointpos=0,
            name=shown(label),
            line={"color": styles[name][0], "width": 1.5},
            marker={"color": styles[name][0], "symbol": styles[name][1], "size": 5, "opacity": 0.6},
            hovertemplate="row %{customdata}: %{x:.3f}<extra></extra>",
            showlegend=False,
        )
    figure.update_yaxes(autorange="reversed")
    title = f"Similarity to {body.reference}, {body.n} texts"
    means = {name: cosine.mean for name, cosine in body.similarity.items() if cosine.mean is not None}
    listed = ", ".join(f"{labels[name]} {mean:.3f}" for name, mean in means.items())
    none = sum(row["cosine"] is None for row in rows)
    notes = (f"{none} of {len(rows)} similarities are not defined: all scores are zero.",) if none else ()
    return Chart("similarity", title, f"{title}. Means: {listed}.", figure, rows, notes)


def _styles(methods: Sequence[MethodScores] | Sequence[MethodMeans]) -> dict[str, tuple[str, str]]:
    return color_symbols([method.method for method in methods], RANDOM)


def _mark_flip(figure: go.Figure, curve: Curve, values: Sequence[float], color: str, label: str) -> None:
    """Draw a ring where the prediction becomes the target for good, unless that is at the start or never."""
    if not curve.flip:
        return
    figure.add_scatter(
        x=[curve.flip],
        y=[values[curve.flip]],
        mode="markers",
        marker={"symbol": "circle-open", "size": 16, "color": color, "line": {"width": 2.5}},
        hovertemplate="predicted from k = %{x} on<extra>" + shown(label) + "</extra>",
        legendgroup=curve.method,
        showlegend=False,
    )


def _flip_words(body: ActivationText, labels: dict[str, str]) -> str:
    rising = [curve for curve in body.curves if curve.direction == "activation" and curve.flip]
    if not rising:
        return "The prediction does not flip."
    listed = ", ".join(f"{labels[curve.method]} {curve.flip}" for curve in rising)
    return f"Predicted from k: {listed}."


def _not_marked(body: ActivationText) -> tuple[str, ...]:
    flips = {curve.flip for curve in body.curves}
    label = body.target.label
    notes = []
    if None in flips:
        notes.append(f"The whole text is not predicted as {label}, so no flip is marked.")
    if 0 in flips:
        notes.append(f"Curves without a ring are predicted as {label} from the fully masked text on.")
    return tuple(notes)


def _band(figure: go.Figure, grid: Sequence[float], curve: MeanCurve, color: str) -> None:
    """Draw the intervals of ``curve``; a single text has none."""
    if curve.low is None or curve.high is None:
        return
    add_band(figure, grid, curve.low, curve.high, color, curve.method)


def _best(body: ActivationData, direction: Direction) -> MethodMeans:
    choose = max if direction == "activation" else min
    return choose(body.rows, key=lambda row: row.area(direction).mean)


def _of_data(result: AnalysisResult[ActivationData]) -> list[Chart]:
    body = result.body
    directions = list(WORDS)
    drawn = [draw(body, way) for draw in (mean_curves, quality_against_cost) for way in directions]
    return [*drawn, *([similarity_boxes(body)] if body.reference else [])]


def _heatmaps(result: AnalysisResult[ActivationText]) -> list[Map]:
    return [
        Map(method.label, heatmap(method_attribution(result.request, result.body, method)))
        for method in result.body.methods
    ]


def method_attribution(request: Request, body: ActivationText, method: MethodScores) -> Attribution:
    """Return the scores of ``method`` in the ``body`` that answers ``request``, as an attribution."""
    settings = parse_spec(method.method).parameters.model_dump(mode="json") if method.id in methods() else {}
    return body.attribution(method_request(request, method.id, settings), method.scores, signed=method.signed)


def _component(result: AnalysisResult[ActivationText | ActivationData], palette: str) -> str:
    from explainlab.analyses.activation.scrubber import activation_scrubber  # it draws with the functions above

    if not isinstance(result.body, ActivationText):
        return ""
    return activation_scrubber(result.request, result.body, palette).to_html()


FIGURES = StudyFigures(lambda result: [activation_curves(result.body)], _of_data, _heatmaps, component=_component)
