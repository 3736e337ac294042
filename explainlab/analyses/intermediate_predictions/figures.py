"""A decoder's predictions after every feature: class probabilities, the changes, and a heatmap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions.masked import WORDS, apart, distances
from explainlab.analyses.intermediate_predictions.result import (
    IntermediatePredictionsData,
    IntermediatePredictionsText,
)
from explainlab.analyses.summary import interval
from explainlab.attribution.records import Attribution
from explainlab.figures.chart import (
    BLUE,
    GREY,
    RED,
    STYLES,
    Chart,
    error_bars,
    hatched,
    layout,
    percent,
    shortened,
    shown,
)
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import Heatmap, heatmap, number, spelled
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.request import Request
from explainlab.text.units import Feature

LABEL = "Intermediate predictions"
"""The heatmap's name, in the place of a method's."""


def beliefs(request: Request, body: IntermediatePredictionsText, palette: str = DEFAULT) -> Heatmap:
    """Draw the predictions on the way through the text of ``request``.

    A feature's colour is the probability of the target after it; full colour is certainty. Its card has the probability
    of every class, the likeliest first.
    """
    target = body.target.label
    probabilities = [position.probabilities for position in body.positions]
    drawn_request = request.model_copy(update={"question": LABEL, "output": "probability"})
    read = body.attribution(drawn_request, [by_class[target] for by_class in probabilities], signed=False)
    drawn = heatmap(read, palette, scale=1.0)
    tokens = [
        token.model_copy(
            update={
                "value": _percent(by_class[target]),
                "told": [(label, _percent(p)) for label, p in sorted(by_class.items(), key=lambda item: -item[1])],
            }
        )
        for token, by_class in zip(drawn.tokens, probabilities, strict=True)
    ]
    scale = {"limit_value": "100%", "explained": "", "shared": False, "special_share": None}
    return drawn.model_copy(update={"tokens": tokens, **scale, "scale_label": f"probability of {target}, so far"})


def _percent(probability: float) -> str:
    return f"{100 * probability:.1f}%"


_MOST_NAMED = 60  # features up to which each has its name on the axis
_MOST_LINES = 8  # classes up to which each has a colour of its own
_LONGEST = 14
_PARTS = 10
_COLORS = (BLUE, *(STYLES[name].color for name in ("left", "midpoint", "trapezoid", "adaptive")), RED)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def class_curves(body: IntermediatePredictionsText) -> Chart:
    """Draw every class's probability after each content feature of one text.

    Of more than eight classes, those that are likeliest at some point are drawn beside the target; the rows hold all.
    """
    target, kept = body.target.label, _content(body.features)
    names = [body.features[i].text for i in kept]
    read = [body.positions[i].probabilities for i in kept]
    peaks = {label: max(row[label] for row in read) for label in read[0]}
    ranked = sorted(peaks, key=lambda label: (label != target, -peaks[label]))
    figure = go.Figure(layout=layout("Last feature read", "Probability", height=360))
    for i, label in enumerate(ranked[:_MOST_LINES]):
        figure.add_scatter(
            x=list(range(1, len(kept) + 1)),
            y=[row[label] for row in read],
            mode="lines",
            name=shown(label) + (" (explained)" if label == target else ""),
            line={"color": _COLORS[i % len(_COLORS)], "dash": _DASHES[i % len(_DASHES)], "width": 3 - (i > 0)},
            customdata=[shown(spelled(name)) for name in names],
            hovertemplate="after “%{customdata}”: %{y:.3f}<extra>" + shown(label) + "</extra>",
        )
    figure.update_yaxes(range=[-0.02, 1.02])
    _name_features(figure, names)
    rows = [
        {"feature": i, "text": name, **{f"p({label})": p for label, p in row.items()}}
        for i, name, row in zip(kept, names, read, strict=True)
    ]
    title = "What the model believes after every feature"
    left = len(ranked) - _MOST_LINES
    notes = (f"{left} classes that are never as likely are not drawn.",) if left > 0 else ()
    return Chart("intermediate-predictions", title, f"{title}. {_settled(read, target)}", figure, rows, notes)


def feature_changes(attribution: Attribution, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """Draw SP-PI's scores as bars in the order of the text: the change of the target's logit by each feature."""
    kept = [i for i, feature in enumerate(attribution.features) if not feature.special]
    names, scores = [attribution.features[i].text for i in kept], [float(attribution.scores[i]) for i in kept]
    hues = getattr(PALETTES[palette], theme)
    figure = go.Figure(layout=layout("Feature", f"Change of the {attribution.request.output}", height=300))
    figure.add_bar(
        x=list(range(1, len(kept) + 1)),
        y=scores,
        marker={
            "color": [hues.positive if score > 0 else hues.negative for score in scores],
            "line": {"color": GREY, "width": 1},
            "pattern": hatched(scores),
        },
        customdata=[shown(spelled(name)) for name in names],
        hovertemplate="“%{customdata}”: %{y:+.3g}<extra></extra>",
    )
    figure.update_yaxes(zeroline=True, zerolinecolor=GREY)
    _name_features(figure, names)
    rows = [{"feature": i, "text": name, "change": score} for i, name, score in zip(kept, names, scores, strict=True)]
    title = f"What each feature changes when it is read (SP-PI), for {attribution.target.label}"
    up, down = (choose(range(len(kept)), key=scores.__getitem__) for choose in (max, min))
    extremes = (
        f"Highest: {spelled(names[up])} {number(scores[up])}; lowest: {spelled(names[down])} {number(scores[down])}."
    )
    return Chart("feature-changes", title, f"{title}. {extremes}", figure, rows)


def settled(body: IntermediatePredictionsData) -> Chart:
    """Return a chart of texts by the tenth of the text after which the predicted class no longer changes."""
    shares = [text.settled for text in body.texts]
    places = [math.ceil(10 * share - 1e-9) - 1 for share in shares]  # (0, 10%] is the first
    tenths = [places.count(i) for i in range(10)]
    figure = go.Figure(layout=layout("Share of the features read", "Texts (count)", height=360, bargap=0.1))
    figure.add_bar(
        x=[low / 10 + 0.05 for low in range(10)],
        y=tenths,
        width=0.09,
        text=[count or "" for count in tenths],
        textposition="outside",
        cliponaxis=False,
        marker={"color": BLUE},
        customdata=[f"{10 * low} to {10 * low + 10}%" for low in range(10)],
        hovertemplate="%{customdata}: %{y} texts<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    mean = percent(body.summary.settled.mean)
    title = f"When the prediction is settled, {len(shares):,} texts"
    alt = f"{title}: on average once {mean} of the features are read."
    rows = [text.model_dump(include={"row", "label", "settled"}) for text in body.texts]
    return Chart("settled", title, alt, figure, rows)


def masked_curves(body: IntermediatePredictionsText) -> Chart:
    """Draw the target's probability after each content feature, that of the masked text, and their distance."""
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
    _name_features(figure, names)
    columns = zip(kept, names, on_the_way, masked, far, strict=True)
    rows = [
        {"feature": i, "text": name, "on the way": own, "rest masked": other, "distance": distance}
        for i, name, own, other, distance in columns
    ]
    title = "On the way, and with the rest masked"
    alt = f"{title}. On average {fmean(far):.2f} {WORDS}, at most {max(far):.2f}."
    return Chart("masked", title, alt, figure, rows)


def masked_by_position(body: IntermediatePredictionsData) -> Chart:
    """Draw the mean distance to the masked texts' predictions by tenths of a text, with intervals over the texts."""
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
    """Return the distances of a text by tenths of its content features."""
    known = [distance for distance in far if distance is not None]
    parts: list[list[float]] = [[] for _ in range(_PARTS)]
    for place, distance in enumerate(known):
        parts[_PARTS * place // len(known)].append(distance)
    return parts


def _content(features: Sequence[Feature]) -> list[int]:
    return [i for i, feature in enumerate(features) if not feature.special]


def _name_features(figure: go.Figure, names: Sequence[str]) -> None:
    """Write the features' words below a short text, and their numbers below a longer one."""
    figure.update_xaxes(range=[0.5, len(names) + 0.5], showgrid=False)
    if len(names) <= _MOST_NAMED:
        texts = [shown(shortened(spelled(name), _LONGEST) or "(nothing)") for name in names]
        figure.update_xaxes(tickvals=list(range(1, len(names) + 1)), ticktext=texts, tickangle=-60)


def _settled(read: Sequence[dict[str, float]], target: str) -> str:
    """Say from which feature on the model predicts the target."""
    other = [i for i, row in enumerate(read) if max(row, key=row.__getitem__) != target]
    first = other[-1] + 1 if other else 0
    if first == len(read):
        return f"At the end the model predicts something else than {target}."
    return f"{target} is predicted from feature {first + 1} of {len(read)} on."


def _heatmaps(result: AnalysisResult[IntermediatePredictionsText]) -> list[Map]:
    title = f"Probability of {result.body.target.label} after every {result.request.unit}"
    return [Map(title, beliefs(result.request, result.body))]


def _of_text(result: AnalysisResult[IntermediatePredictionsText]) -> list[Chart]:
    masked = any(position.masked is not None for position in result.body.positions)
    return [class_curves(result.body), *([masked_curves(result.body)] if masked else [])]


def _of_data(result: AnalysisResult[IntermediatePredictionsData]) -> list[Chart]:
    masked = result.body.summary.apart is not None
    return [settled(result.body), *([masked_by_position(result.body)] if masked else [])]


FIGURES = StudyFigures(of_text=_of_text, of_data=_of_data, maps=_heatmaps)
