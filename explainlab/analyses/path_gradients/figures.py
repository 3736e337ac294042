"""Pictures of the gradient along the path: curves, a strip a feature, shares over a data set, and heatmaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.path_gradients.result import PathGradientsData, PathGradientsText, mean_verdict
from explainlab.attribution.path import nodes
from explainlab.attribution.records import Attribution
from explainlab.figures.chart import BLUE, GREY, RED, STYLES, Chart, error_bars, layout, percent, shortened, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import Heatmap, heatmap, limit, number, spelled
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.request import Request

_ALPHA = "α, from the baseline (0) to the text (1)"
DIFFERS = 0.1
"""Two scores differ where they are further apart than this share of the scale."""
_MOST_ROWS, _MOST_COLUMNS = 60, 200


def gradient_curves(body: PathGradientsText, output: str, feature: int | None = None) -> Chart:
    """Draw the derivative along the path at every sampled point, for each step count, in total or for one feature."""
    unit = "probability" if output == "probability" else "logit"
    whose = "of the whole text" if feature is None else f"of “{spelled(body.features[feature].text)}”"
    figure = go.Figure(layout=layout(_ALPHA, f"dF/dα ({unit} per unit of α)"))
    rows: list[dict[str, Any]] = []
    styled = zip(sorted(body.paths, key=lambda p: p.steps), (RED, BLUE), ("circle", "diamond"), strict=False)
    for path, color, symbol in reversed(list(styled)):  # the fewer points lie above the more
        values = path.total if feature is None else path.per_feature[feature]
        _, weights = nodes(path.rule, path.steps)
        area = float(np.dot(weights, values))
        few = len(values) <= 150
        figure.add_scatter(
            x=path.alphas,
            y=values,
            mode="lines+markers",
            name=shown(f"{path.steps:,} steps: weighted mean {number(area)}{_off(body, area, feature)}"),
            line={"color": color, "width": 1.5 if color == RED else 6},
            marker={"color": color, "symbol": symbol, "size": (8 if color == RED else 6) if few else 4},
            opacity=1 if color == RED else 0.55,
            hovertemplate="α %{x:.4f}: %{y:.4g}<extra></extra>",
        )
        rows += [{"steps": path.steps, "alpha": a, "value": v} for a, v in zip(path.alphas, values, strict=True)]
    figure.add_hline(y=0, line={"color": GREY, "width": 1})
    counts = " and ".join(f"{path.steps:,}" for path in body.paths)
    title = f"Gradient {whose} along the path, sampled at {counts} steps"
    return Chart("gradient-along-the-path", title, f"{title}.", figure, rows)


def token_strip(body: PathGradientsText, steps: int, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """Return one row a feature: the derivative along the path, so that a row's mean is the feature's score.

    Neighbouring points share a column where there are more than 200, the largest rows are kept where more than 60.
    """
    path = next(p for p in body.paths if p.steps == steps)
    values = np.asarray(path.per_feature, dtype=float)
    _, weights = nodes(path.rule, path.steps)
    scores = values @ weights
    kept = _rows_kept(scores, [f.special for f in body.features])
    columns = np.array_split(np.arange(values.shape[1]), min(_MOST_COLUMNS, values.shape[1]))
    binned = np.stack([values[:, part].mean(axis=1) for part in columns], axis=1)[kept]
    middles = [float(np.mean(np.asarray(path.alphas)[part])) for part in columns]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(middles)), 1.0]
    top = float(np.abs(binned).max(initial=0.0)) or 1.0
    names = [spelled(body.features[i].text) or "(nothing)" for i in kept]
    figure = go.Figure(layout=layout(_ALPHA, "Feature and its score", height=90 + 24 * max(len(kept), 3)))
    figure.add_heatmap(
        z=binned,
        x=edges,
        y=list(range(len(kept))),
        zmin=-top,
        zmax=top,
        colorscale=_diverging(palette, theme),
        colorbar={"tickvals": [-top, 0, top], "ticktext": [number(-top), "0", number(top)], "thickness": 12,
                  "title": {"text": "dF/dα"}, "outlinewidth": 0},
        customdata=[[shown(name)] * len(columns) for name in names],
        hovertemplate="%{customdata}<br>α %{x:.3f}: %{z:+.3g}<extra></extra>",
    )  # fmt: skip
    labels = [shown(f"{shortened(name, 16)}  {number(float(scores[i]))}") for name, i in zip(names, kept, strict=True)]
    figure.update_yaxes(tickvals=list(range(len(kept))), ticktext=labels, autorange="reversed", showgrid=False)
    figure.update_xaxes(range=[0, 1], showgrid=False)
    rows = [
        {"feature": i, "text": name, "alpha": a, "value": float(v)}
        for i, name in zip(kept, names, strict=True)
        for a, v in zip(path.alphas, values[i], strict=True)
    ]
    title = f"Where on the path each score comes from, at {steps:,} steps"
    return Chart(
        "path-strip", title, f"{title}: one row for each feature.", figure, rows, _strip_notes(values, kept, columns)
    )


def gradient_shares(body: PathGradientsData) -> Chart:
    """Return a chart of the share of the total |dF/dα| in each part of the path; a line is the mean at a step count."""
    bins, n = body.summary.bins, body.summary.n
    middles = [(i + 0.5) / bins for i in range(bins)]
    figure = go.Figure(layout=layout(_ALPHA, "Mean share of the total |dF/dα|"))
    styled = zip(body.summary.share.items(), STYLES.values(), strict=False)
    for (steps, shares), style in styled:
        figure.add_scatter(
            x=middles,
            y=[share.mean for share in shares],
            error_y=error_bars(shares),
            mode="lines+markers",
            name=f"{int(steps):,} steps",
            line={"color": style.color, "dash": style.dash},
            marker={"symbol": style.symbol, "size": 7},
            hovertemplate="α around %{x:.3f}: %{y:.1%}<extra></extra>",
        )
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    rows = [
        {"steps": int(steps), "from": i / bins, "to": (i + 1) / bins, **share.model_dump()}
        for steps, shares in body.summary.share.items()
        for i, share in enumerate(shares)
    ]
    title = f"Where on the path the gradient lies, {n:,} texts"
    alt = f"{title}, with 95% intervals. {mean_verdict(body.summary)}"
    return Chart("gradient-shares", title, alt, figure, rows)


def path_maps(
    request: Request, body: PathGradientsText, palette: str = DEFAULT
) -> tuple[list[Attribution], list[Heatmap]]:
    """Return the attribution at each step count, and their heatmaps on one scale; features that differ have a mark."""
    results = []
    for path in body.paths:
        _, weights = nodes(path.rule, path.steps)
        results.append(body.integral(request, (np.asarray(path.per_feature) @ weights).tolist()))
    top = limit(results)
    mark = f"another map shown scores this more than {100 * DIFFERS:g}% of the scale apart"
    marked = dict.fromkeys(differing([result.scores for result in results], top), mark)
    return results, [heatmap(result, palette, top, marked) for result in results]


def differing(scores: Sequence[np.ndarray], top: float) -> list[int]:
    """Return the features whose scores lie further apart than a tenth of the scale ``top``."""
    apart = np.ptp(np.stack(scores), axis=0)
    return np.flatnonzero(apart > DIFFERS * top).tolist() if top else []


def _off(body: PathGradientsText, area: float, feature: int | None) -> str:
    if feature is not None:
        return ""
    expected = body.expected
    error = "" if body.cancels else f" (error {percent(abs(area - expected) / abs(expected))})"
    return f" of {number(expected)}{error}"


def _rows_kept(scores: np.ndarray, special: Sequence[bool]) -> list[int]:
    """Return the features to draw, in the order of the text: no special token without a score, at most 60."""
    candidates = [i for i, flag in enumerate(special) if not flag or not math.isclose(scores[i], 0, abs_tol=1e-12)]
    largest = sorted(candidates, key=lambda i: -abs(scores[i]))[:_MOST_ROWS]
    return sorted(largest)


def _strip_notes(values: np.ndarray, kept: Sequence[int], columns: Sequence[np.ndarray]) -> tuple[str, ...]:
    notes = []
    if len(columns) < values.shape[1]:
        notes.append(f"{values.shape[1]:,} points are averaged into {len(columns)} columns.")
    if len(kept) == _MOST_ROWS < len(values):
        notes.append(f"The {_MOST_ROWS} features with the largest scores of {len(values)} are drawn.")
    return tuple(notes)


def _diverging(palette: str, theme: str) -> list[list[Any]]:
    """Return a colour scale from the hue against the target over the bare page to the hue for it."""
    hues = getattr(PALETTES[palette], theme)
    clear = {
        hue: f"rgba({int(hue[1:3], 16)},{int(hue[3:5], 16)},{int(hue[5:7], 16)},0)"
        for hue in (hues.negative, hues.positive)
    }
    return [[0, hues.negative], [0.4999, clear[hues.negative]], [0.5001, clear[hues.positive]], [1, hues.positive]]


def _charts(result: AnalysisResult[PathGradientsText]) -> list[Chart]:
    finest = max(path.steps for path in result.body.paths)
    return [gradient_curves(result.body, result.request.output), token_strip(result.body, finest)]


def _data_charts(result: AnalysisResult[PathGradientsData]) -> list[Chart]:
    return [gradient_shares(result.body)]


def _heatmaps(result: AnalysisResult[PathGradientsText]) -> Iterator[Map]:
    _, drawn = path_maps(result.request.model_copy(update={"question": "integrated_gradients"}), result.body)
    for path, heat in zip(result.body.paths, drawn, strict=True):
        yield Map(f"{heat.method}, {path.steps:,} steps", heat)


FIGURES = StudyFigures(of_text=_charts, of_data=_data_charts, maps=_heatmaps)
