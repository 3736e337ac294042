"""Charts of what intermediate predictions stand for: the predictions of the text whose rest is masked, by position."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import plotly.graph_objects as go

from explainlab.analyses.intermediate_predictions.masked import WORDS, apart, distances
from explainlab.analyses.intermediate_predictions.result import (
    IntermediatePredictionsData,
    IntermediatePredictionsText,
)
from explainlab.analyses.summary import interval
from explainlab.figures.chart import BLUE, GREY, RED, Chart, error_bars, layout, shown
from explainlab.figures.heatmap import spelled

_PARTS = 10


def masked_curves(body: IntermediatePredictionsText) -> Chart:
    """The target's probability on the way and of the masked text after each content feature, and their distance."""
    kept = [i for i, position in enumerate(body.positions) if position.masked is not None]
    target, names = body.target.label, [body.features[i].text for i in kept]
    far = distances(body.positions)
    on_the_way = [body.positions[i].probabilities[target] for i in kept]
    masked = [(body.positions[i].masked or {})[target] for i in kept]
    figure = go.Figure(layout=layout("Last feature read", "Probability, or distance", height=360))
    lines = (
        (f"{target}, on the way", on_the_way, BLUE, "solid"),
        (f"{target}, rest masked", masked, RED, "dash"),
        ("distance, all classes", far, GREY, "dot"),
    )
    for name, values, color, dash in lines:
        figure.add_scatter(
            x=list(range(1, len(kept) + 1)),
            y=values,
            mode="lines",
            name=shown(name),
            line={"color": color, "dash": dash},
            customdata=[shown(spelled(text)) for text in names],
            hovertemplate="after “%{customdata}”: %{y:.3f}<extra>" + shown(name) + "</extra>",
        )
    figure.update_yaxes(range=[-0.02, 1.02])
    columns = zip(kept, names, on_the_way, masked, far, strict=True)
    rows = [
        {"feature": i, "text": name, "on the way": own, "rest masked": other, "distance": distance}
        for i, name, own, other, distance in columns
    ]
    title = "On the way, and with the rest masked"
    alt = f"{title}. On average {fmean(far):.2f} {WORDS}, at most {max(far):.2f}."
    return Chart("masked", title, alt, figure, rows)


def masked_by_position(body: IntermediatePredictionsData) -> Chart:
    """The mean distance to the masked texts' predictions by tenths of a text, with intervals over the texts."""
    tenths: list[list[float]] = [[] for _ in range(_PARTS)]
    for text in body.texts:
        for values, tenth in zip(_in_parts([apart(position) for position in text.positions]), tenths, strict=True):
            if values:
                tenth.append(fmean(values))
    means = [interval(tenth) for tenth in tenths]
    parts = [f"{100 * i // _PARTS} to {100 * (i + 1) // _PARTS}%" for i in range(_PARTS)]
    figure = go.Figure(layout=layout("Part of the text read", "Distance", height=360))
    drawn = [mean for mean in means if mean.mean is not None]
    figure.add_scatter(
        x=[part for part, mean in zip(parts, means, strict=True) if mean.mean is not None],
        y=[mean.mean for mean in drawn],
        error_y=error_bars(drawn),
        mode="lines+markers",
        line={"color": BLUE},
        hovertemplate="%{x}: %{y:.3f}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(rangemode="tozero")
    rows = [
        {"part": part, "mean": mean.mean, "low": mean.low, "high": mean.high, "texts": len(tenth)}
        for part, mean, tenth in zip(parts, means, tenths, strict=True)
    ]
    title = f"How far predictions on the way are {WORDS}, {len(body.texts):,} texts"
    ends = f" First part {drawn[0].mean:.2f}, last {drawn[-1].mean:.2f}." if drawn else ""
    return Chart("masked-by-position", title, f"{title}.{ends}", figure, rows)


def _in_parts(far: Sequence[float | None]) -> list[list[float]]:
    """The distances of a text by tenths of its content features."""
    known = [distance for distance in far if distance is not None]
    parts: list[list[float]] = [[] for _ in range(_PARTS)]
    for place, distance in enumerate(known):
        parts[_PARTS * place // len(known)].append(distance)
    return parts
