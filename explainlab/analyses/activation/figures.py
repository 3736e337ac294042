"""Charts of activation curves, of one text and of many, and the scrubber that reveals a text feature by feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explainlab.analyses.activation.result import (
    ActivationData,
    ActivationText,
    Curve,
    Direction,
    MeanCurve,
    MethodMeans,
    MethodScores,
    text_verdict,
)
from explainlab.analyses.attributions import method_request
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import mean_words
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods, parse_spec
from explainlab.figures.chart import Chart, CostPoint, add_band, color_symbols, cost_chart, layout, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.export import SliderFigure, inert
from explainlab.figures.heatmap import FrameToken, Heatmap, Record, heatmap
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request

MOST_CLASSES = 8
"""More classes than these are drawn as one, with the sum of their probabilities."""
OTHERS = "all other classes"
_DECIMALS = 5


class Reveal(Record):
    """The model's predictions as features are revealed in one order.

    ``order`` holds their indices; ``probabilities`` [n + 1, classes] are those after k = 0..n of them; ``flip`` is the
    k from which on every prediction is the target (None: not at the end).
    """

    direction: Direction
    order: list[int]
    probabilities: list[list[float]]
    auc: str
    flip: int | None


class ScrubbedMethod(Record):
    """One method: its scores, drawn into the scrubber's heatmap, and its two ``reveals``.

    ``name`` is the method with its options; the other fields are those of
    :class:`explainlab.figures.heatmap.Heatmap`.
    """

    name: str
    label: str
    signed: bool
    limit_value: str
    explained: str
    special_share: float | None
    tokens: list[FrameToken]
    reveals: list[Reveal]


class ActivationScrubber(SliderFigure):
    """All methods of one text; ``classes`` names the columns of probabilities, ``target`` is the one explained.

    ``start`` is the k to open with, ``verdict`` the answer in words, ``name`` names the files.
    """

    name = "activation"
    component = "activation_scrubber"
    styles = ("token_heatmap", "step_morph", "steering", "activation_scrubber")

    heatmap: Heatmap
    methods: list[ScrubbedMethod]
    classes: list[str]
    target: int
    start: int
    verdict: str

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return a row for each k of every order: the feature just revealed, its score, and the class probabilities."""
        return [
            {
                "method": inert(method.name),
                "direction": reveal.direction,
                "k": k,
                "feature": "" if place is None else place,
                "text": None if place is None else inert(self.heatmap.tokens[place].name),
                "score": None if place is None else method.tokens[place].score,
                **{f"p({label})": p for label, p in zip(self.classes, probabilities, strict=True)},
            }
            for method in self.methods
            for reveal in method.reveals
            for k, (place, probabilities) in enumerate(zip([None, *reveal.order], reveal.probabilities, strict=True))
        ]


def activation_scrubber(request: Request, body: ActivationText, palette: str = DEFAULT) -> ActivationScrubber:
    """Return the scrubber of the study ``activation`` on one text, from its ``body``.

    ``request`` is that of the study. Each heatmap has a scale of its own: scores of different methods have no
    common unit.
    """
    shown, columns = _classes(body)
    drawn = [heatmap(method_attribution(request, body, method), palette) for method in body.methods]
    reveals: dict[str, list[Reveal]] = {method.method: [] for method in body.methods}
    for curve in body.curves:
        reveals[curve.method].append(_reveal(curve, columns))
    methods = [_method(method, heat, reveals[method.method]) for method, heat in zip(body.methods, drawn, strict=True)]
    first = methods[0].reveals[0]
    return ActivationScrubber(
        heatmap=drawn[0],
        methods=methods,
        classes=shown,
        target=shown.index(body.target.label),
        start=first.flip or max(1, len(first.order) // 3),
        verdict=text_verdict(body, request.unit),
    )


def _classes(body: ActivationText) -> tuple[list[str], list[list[int]]]:
    """Return the drawn classes, the likeliest of the whole text first, and the study's columns that each one sums."""
    likely = body.prediction.probabilities
    labels, target = list(likely), body.target.label
    ranked = sorted(labels, key=lambda label: -likely[label])
    if len(labels) <= MOST_CLASSES:
        return ranked, [[labels.index(label)] for label in ranked]
    others = [label for label in ranked if label != target][MOST_CLASSES - 2 :]
    shown = [label for label in ranked if label not in others]
    columns = [[labels.index(label)] for label in shown]
    return [*shown, OTHERS], [*columns, [labels.index(label) for label in others]]


def _method(scores: MethodScores, drawn: Heatmap, reveals: list[Reveal]) -> ScrubbedMethod:
    return ScrubbedMethod(
        name=scores.method,
        label=scores.label,
        signed=drawn.signed,
        limit_value=drawn.limit_value,
        explained=drawn.explained,
        special_share=drawn.special_share,
        tokens=[FrameToken.of(token) for token in drawn.tokens],
        reveals=reveals,
    )


def _reveal(curve: Curve, columns: Sequence[Sequence[int]]) -> Reveal:
    values = np.array(curve.probabilities)
    probabilities = np.stack([values[:, part].sum(axis=1) for part in columns], axis=1)
    return Reveal(
        direction=curve.direction,
        order=curve.order,
        probabilities=probabilities.round(_DECIMALS).tolist(),
        auc=f"{WORDS[curve.direction]} AUC {curve.auc:.3f}",
        flip=curve.flip,
    )


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

    if not isinstance(result.body, ActivationText):
        return ""
    return activation_scrubber(result.request, result.body, palette).to_html()


FIGURES = StudyFigures(lambda result: [activation_curves(result.body)], _of_data, _heatmaps, component=_component)
