"""Charts of attacks: their course on one text, their effect by radius, both objectives; maps before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explainlab.analyses.attack.result import AttackData, AttackedText, AttackRow, AttackText
from explainlab.analyses.attack.summaries import MEASURES
from explainlab.analyses.attack.verdict import data_verdict, text_verdict
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.records import TextBody
from explainlab.attribution.records import Attribution
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap, limit
from explainlab.request import Request

_DASHES = {"unconstrained": "solid", "constrained": "dot"}
_RADIUS = "Radius (s: standard deviations of the word table)"
_MEASURES = {key: name for key, name in MEASURES.items() if key != "probability_change"}
"""The drawn measures: of the probability only the size of its change."""


def course_of_share(body: AttackText) -> Chart:
    """Draw the top features' share of the map at every tenth step, a line an attack."""
    title = f"Share of the top features in the map of {body.label}, step by step"
    before = body.original.top_k_sum or 0.0
    return _course(body, "top_k_sum", "attack-course-share", title, "Share of the top features", before)


def course_of_probability(body: AttackText) -> Chart:
    """Draw the probability of the predicted class at every tenth step, a line an attack."""
    title = f"Probability of {body.prediction.label} under attack, step by step"
    before = body.prediction.probabilities[body.prediction.label]
    what = f"Probability of “{shown(body.prediction.label)}”"
    return _course(body, "probability", "attack-course-probability", title, what, before)


def _course(body: AttackText, values: str, name: str, title: str, axis: str, before: float) -> Chart:
    figure = go.Figure(layout=layout("Step", axis))
    radii = _radii(body.rows)
    kept = [course for course in body.trajectory if course.step]
    for course in kept:
        place = radii.index(course.epsilon)
        figure.add_scatter(
            x=course.step,
            y=getattr(course, values),
            mode="lines",
            name=f"{course.objective}, {course.epsilon}",
            line={"color": COLORS[place % len(COLORS)], "dash": _DASHES[course.objective], "width": 2},
            hovertemplate="step %{x}: %{y:.4f}<extra>" + f"{course.objective}, {course.epsilon}" + "</extra>",
        )
    figure.add_hline(y=before, line={"color": GREY, "width": 1.5, "dash": "dash"})
    columns = ("step", "loss", "top_k_sum", "probability")
    rows = [
        {"objective": course.objective, "epsilon": course.epsilon, **dict(zip(columns, point, strict=True))}
        for course in kept
        for point in zip(*(getattr(course, column) for column in columns), strict=True)
    ]
    return Chart(name, title, f"{title}. {text_verdict(body)}", figure, rows, ("Dashed: before the attack.",))


def trade_off(body: AttackText | AttackData) -> Chart:
    """Return a chart of the attacks' effect at each radius: changes of the map beside changes of the probability."""
    figure, radii = go.Figure(layout=layout(_RADIUS, "Mean change")), _radii(body.rows)
    for place, (key, name) in enumerate(_MEASURES.items()):
        for objective in dict.fromkeys(row.objective for row in body.rows):
            own = [row for row in body.rows if row.objective == objective]
            means = [getattr(row, key) for row in own]
            figure.add_scatter(
                x=[row.epsilon for row in own],
                y=[mean.mean for mean in means],
                error_y=error_bars(means),
                mode="lines+markers",
                name=f"{name}, {objective}",
                line={"color": COLORS[place], "dash": _DASHES[objective], "width": 2},
                marker={"symbol": SYMBOLS[place], "size": 8},
                hovertemplate="%{x}: %{y:.4f}<extra>" + f"{name}, {objective}" + "</extra>",
            )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=radii)
    rows = [
        {
            "objective": row.objective,
            "epsilon": row.epsilon,
            "radius": row.radius,
            "measure": name,
            **getattr(row, key).model_dump(),
            "failed": row.failed,
            "n": row.n,
        }
        for row in body.rows
        for key, name in _MEASURES.items()
    ]
    finding = data_verdict(body) if isinstance(body, AttackData) else text_verdict(body)
    title = f"What attacks on {body.label} reach, by their radius"
    return Chart("attack-by-radius", title, f"{title}. {finding}", figure, rows)


def both_objectives(body: AttackData) -> Chart:
    """Draw the share taken from the top features under both objectives, a point a text and radius."""
    figure, radii = go.Figure(layout=layout("Unconstrained", "Constrained")), _radii(body.rows)
    free, bound = (_by_text(body.texts, objective) for objective in ("unconstrained", "constrained"))
    rows: list[dict[str, Any]] = [
        {"row": row, "epsilon": epsilon, "unconstrained": free[row, epsilon], "constrained": bound[row, epsilon]}
        for epsilon in radii
        for row in dict.fromkeys(text.row for text in body.texts)
    ]
    for place, epsilon in enumerate(radii):
        own = [row for row in rows if row["epsilon"] == epsilon]
        figure.add_scatter(
            x=[row["unconstrained"] for row in own],
            y=[row["constrained"] for row in own],
            customdata=[row["row"] for row in own],
            mode="markers",
            name=epsilon,
            marker={"color": COLORS[place % len(COLORS)], "symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9},
            hovertemplate="row %{customdata}: %{x:.3f}, constrained %{y:.3f}<extra>" + epsilon + "</extra>",
        )
    most = max([*free.values(), *bound.values(), 0.0])
    figure.add_shape(type="line", x0=0, y0=0, x1=most, y1=most, line={"color": GREY, "width": 1.5, "dash": "dash"})
    title = f"Top-k Sum Change of {body.label}, text by text: unconstrained against constrained"
    below = sum(row["constrained"] < row["unconstrained"] for row in rows)
    finding = f"The constrained attack takes less in {below:,} of {len(rows):,} pairs"
    return Chart("attack-objectives", title, f"{title}. {finding}.", figure, rows, ("Dashed: both take as much.",))


def _by_text(texts: Sequence[AttackedText], objective: str) -> dict[tuple[int, str], float]:
    own = [text for text in texts if text.objective == objective]
    return {(text.row, text.epsilon): text.measures.top_k_sum_change for text in own}


def _radii(rows: Sequence[AttackRow]) -> list[str]:
    return list(dict.fromkeys(row.epsilon for row in rows))


def _text_charts(result: AnalysisResult[AttackText]) -> list[Chart]:
    body = result.body
    if body.original.left_out:
        return []
    courses = [course_of_share(body), course_of_probability(body)] if any(c.step for c in body.trajectory) else []
    return [*courses, trade_off(body)]


def _data_charts(result: AnalysisResult[AttackData]) -> list[Chart]:
    body = result.body
    if not body.texts:
        return []
    both = len({row.objective for row in body.rows}) == 2
    return [trade_off(body), *([both_objectives(body)] if both else [])]


def _heatmaps(result: AnalysisResult[AttackText]) -> Iterator[Map]:
    """Yield the map before the attacks and after each, as shares on one scale, their top features framed."""
    body, k = result.body, len(result.body.original.listed)
    request = result.request.model_copy(update={"question": body.method, "parameters": {}})
    before = shares_of(body, request, body.original.scores)
    after = {f"{text.objective}, {text.epsilon}": shares_of(body, request, text.scores) for text in body.texts}
    scale = limit([before, *after.values()])
    yield Map(f"{body.label} before the attack", heatmap(before, scale=scale, top_k=k))
    for name, attribution in after.items():
        yield Map(f"{body.label} after the attack: {name}", heatmap(attribution, scale=scale, top_k=k))


def shares_of(body: TextBody, request: Request, scores: Sequence[float]) -> Attribution:
    """Return |scores| [n_features] as shares of the content features' sum, in the form of a map of ``request``."""
    sizes = np.abs(np.array(scores))
    content = [not feature.special for feature in body.features]
    total = sizes[content].sum()
    return body.attribution(request, (sizes / total if total else sizes).tolist(), signed=False)


FIGURES = StudyFigures(
    of_text=_text_charts,
    of_data=_data_charts,
    maps=_heatmaps,
    none="No text was attacked: each is too short for a top feature, or its map is 0 everywhere.",
)
