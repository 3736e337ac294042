"""Charts of one text's integrals: the error against the step count, and the gradient along the path.

All are pure functions of the bodies of the studies ``integration_error`` and ``path_gradients``, of one text; one is of
a data set's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from explainlab.attribution.quadrature import nodes
from explainlab.figures.chart import (
    BLUE,
    GREY,
    RED,
    STYLES,
    Chart,
    error_bars,
    layout,
    limit_line,
    log_percent,
    log_steps,
    percent,
    shown,
)
from explainlab.figures.heatmap import number, spelled
from explainlab.figures.palette import DEFAULT, PALETTES

Body = dict[str, Any]

ALPHA = "α, from the baseline (0) to the text (1)"
_MOST_ROWS, _MOST_COLUMNS = 60, 200


def drawable(error: float | None) -> bool:
    """Whether a logarithmic axis has a place for this error."""
    return error is not None and error > 0


def error_curve(body: Body, tolerance: float = 0.05) -> Chart:
    """Approximation error against step count, one line a rule, on logarithmic axes, with each rule's ideal step."""
    figure = go.Figure(layout=layout("Steps n (adaptive: gradient evaluations)", "Approximation error (% of change)"))
    lines = {rule: [row for row in body["rows"] if row["rule"] == rule] for rule in body["ideal_steps"]}
    for rule, rows in lines.items():
        _error_line(figure, rule, STYLES[rule].label, [(r["steps"], r["approximation_error"]) for r in rows])
        ideal = body["ideal_steps"][rule]
        _mark_ideal(figure, rule, ideal, {r["steps"]: r["approximation_error"] for r in rows}.get(ideal))
    doubling = body["doubling"] or {"schedule": [], "evaluations": 0}  # there is none where the change cancels
    points = [(p["evaluations"], p["approximation_error"]) for p in body["adaptive"]["trace"]]
    _error_line(figure, "adaptive", STYLES["adaptive"].label, points, width=3)
    schedule = [(p["steps"], p["approximation_error"]) for p in doubling["schedule"]]
    if schedule:
        _error_line(figure, "doubling", doubling_words(doubling), schedule)
    limit_line(figure, tolerance)
    drawn = [(x, y) for line in figure.data for x, y in zip(line.x, line.y, strict=True)]
    if drawn:
        log_steps(figure, [x for x, _ in drawn])
        log_percent(figure, [y for _, y in drawn])
    return Chart(
        name="integration-error",
        title="Approximation error against the number of steps, one line a rule",
        alt=f"Approximation error against steps on logarithmic axes. {_ideal_words(body['ideal_steps'], tolerance)}",
        figure=figure,
        rows=_error_rows(body),
        notes=_not_drawn([r["approximation_error"] for r in _error_rows(body)]),
    )


def doubling_words(doubling: Body) -> str:
    """The doubling schedule with what it costs in all."""
    steps, spent = doubling["schedule"], doubling["evaluations"]
    end = f"{steps[0]['steps']:,} … {steps[-1]['steps']:,} steps"
    return f"Doubling the right sum: {end}, {spent:,} evaluations in all"


def gradient_curves(body: Body, output: str, feature: int | None = None) -> Chart:
    """The derivative along the path at every sampled point, for each step count, in total or for one feature."""
    unit = "probability" if output == "probability" else "logit"
    whose = "of the whole text" if feature is None else f"of “{spelled(body['features'][feature]['text'])}”"
    figure = go.Figure(layout=layout(ALPHA, f"dF/dα ({unit} per unit of α)"))
    rows: list[dict[str, Any]] = []
    looks = zip(sorted(body["paths"], key=lambda p: p["steps"]), (RED, BLUE), ("circle", "diamond"), strict=False)
    for path, color, symbol in reversed(list(looks)):  # the fewer points lie above the more
        values = path["total"] if feature is None else path["per_feature"][feature]
        _, weights = nodes(path["rule"], path["steps"])
        area = float(np.dot(weights, values))
        few = len(values) <= 150
        figure.add_scatter(
            x=path["alphas"],
            y=values,
            mode="lines+markers",
            name=shown(f"{path['steps']:,} steps: weighted mean {number(area)}{_off(body, area, feature)}"),
            line={"color": color, "width": 1.5 if color == RED else 6},
            marker={"color": color, "symbol": symbol, "size": (8 if color == RED else 6) if few else 4},
            opacity=1 if color == RED else 0.55,
            hovertemplate="α %{x:.4f}: %{y:.4g}<extra></extra>",
        )
        rows += [{"steps": path["steps"], "alpha": a, "value": v} for a, v in zip(path["alphas"], values, strict=True)]
    figure.add_hline(y=0, line={"color": GREY, "width": 1})
    counts = " and ".join(f"{path['steps']:,}" for path in body["paths"])
    title = f"Gradient {whose} along the path, sampled at {counts} steps"
    return Chart("gradient-along-the-path", title, f"{title}.", figure, rows)


def _off(body: Body, area: float, feature: int | None) -> str:
    if feature is not None:
        return ""
    expected = body["expected"]
    error = "" if body["cancels"] else f" (error {percent(abs(area - expected) / abs(expected))})"
    return f" of {number(expected)}{error}"


def token_strip(body: Body, steps: int, palette: str = DEFAULT, theme: str = "light") -> Chart:
    """One row a feature: the derivative along the path, so that a row's mean is the feature's score.

    Neighbouring points share a column where there are more than 200, the largest rows are kept where more than 60.
    """
    path = next(p for p in body["paths"] if p["steps"] == steps)
    values = np.asarray(path["per_feature"], dtype=float)
    _, weights = nodes(path["rule"], path["steps"])
    scores = values @ weights
    kept = _rows_kept(scores, [f["special"] for f in body["features"]])
    columns = np.array_split(np.arange(values.shape[1]), min(_MOST_COLUMNS, values.shape[1]))
    binned = np.stack([values[:, part].mean(axis=1) for part in columns], axis=1)[kept]
    middles = [float(np.mean(np.asarray(path["alphas"])[part])) for part in columns]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(middles)), 1.0]
    top = float(np.abs(binned).max(initial=0.0)) or 1.0
    names = [spelled(body["features"][i]["text"]) or "(nothing)" for i in kept]
    figure = go.Figure(layout=layout(ALPHA, "Feature and its score", height=90 + 24 * max(len(kept), 3)))
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
    labels = [shown(f"{_short(name)}  {number(float(scores[i]))}") for name, i in zip(names, kept, strict=True)]
    figure.update_yaxes(tickvals=list(range(len(kept))), ticktext=labels, autorange="reversed", showgrid=False)
    figure.update_xaxes(range=[0, 1], showgrid=False)
    rows = [
        {"feature": i, "text": name, "alpha": a, "value": float(v)}
        for i, name in zip(kept, names, strict=True)
        for a, v in zip(path["alphas"], values[i], strict=True)
    ]
    title = f"Where on the path each score comes from, at {steps:,} steps"
    return Chart("path-strip", title, f"{title}: one row a feature.", figure, rows, _strip_notes(values, kept, columns))


def gradient_shares(body: Body) -> Chart:
    """How much of the total |dF/dα| lies in each part of the path, a line a step count: means over a data set."""
    bins, n = body["summary"]["bins"], body["summary"]["n"]
    middles = [(i + 0.5) / bins for i in range(bins)]
    figure = go.Figure(layout=layout(ALPHA, "Mean share of the total |dF/dα|"))
    looks = zip(body["summary"]["share"].items(), STYLES.values(), strict=False)
    for (steps, shares), style in looks:
        figure.add_scatter(
            x=middles,
            y=[share["mean"] for share in shares],
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
        {"steps": int(steps), "from": i / bins, "to": (i + 1) / bins, **share}
        for steps, shares in body["summary"]["share"].items()
        for i, share in enumerate(shares)
    ]
    title = f"Where on the path the gradient lies, {n:,} texts"
    _, finest = list(body["summary"]["share"].items())[-1]
    most = max(range(bins), key=lambda i: finest[i]["mean"])
    told = f"Most lies from {most / bins:g} to {(most + 1) / bins:g}: {percent(finest[most]['mean'])} of it."
    return Chart("gradient-shares", title, f"{title}, with 95% intervals. {told}", figure, rows)


def _error_line(figure: go.Figure, key: str, name: str, points: Sequence[tuple[int, float | None]], width: float = 2):
    style = STYLES[key]
    drawn = sorted((steps, 100 * error) for steps, error in points if drawable(error))
    figure.add_scatter(
        x=[steps for steps, _ in drawn],
        y=[error for _, error in drawn],
        mode="lines+markers",
        name=shown(name),
        line={"color": style.color, "dash": style.dash, "width": width},
        marker={"symbol": style.symbol, "size": 7},
        hovertemplate="%{x:,}: %{y:.3g}%<extra>" + shown(style.label) + "</extra>",
        legendgroup=key,
    )


def _mark_ideal(figure: go.Figure, rule: str, steps: int | None, error: float | None) -> None:
    if steps is None or not drawable(error):
        return
    figure.add_scatter(
        x=[steps],
        y=[100 * error],
        mode="markers",
        marker={"symbol": "circle-open", "size": 17, "color": STYLES[rule].color, "line": {"width": 2.5}},
        hovertemplate=f"ideal step of {shown(STYLES[rule].label)}: %{{x:,}}<extra></extra>",
        legendgroup=rule,
        showlegend=False,
    )


def _ideal_words(ideal: dict[str, int | None], tolerance: float) -> str:
    found = [f"{STYLES[rule].label} {steps:,}" for rule, steps in ideal.items() if steps is not None]
    never = [STYLES[rule].label for rule, steps in ideal.items() if steps is None]
    words = [f"First step count within {100 * tolerance:g}%: {', '.join(found)}."] if found else []
    return " ".join([*words, *([f"Never within it: {', '.join(never)}."] if never else [])])


def _error_rows(body: Body) -> list[dict[str, Any]]:
    rows = [{key: row[key] for key in ("rule", "steps", "evaluations", "approximation_error")} for row in body["rows"]]
    adaptive = [
        {
            "rule": "adaptive",
            "steps": None,
            "evaluations": p["evaluations"],
            "approximation_error": p["approximation_error"],
        }
        for p in body["adaptive"]["trace"]
    ]
    doubling = [
        {"rule": "doubling", "steps": p["steps"], "evaluations": None, "approximation_error": p["approximation_error"]}
        for p in (body["doubling"] or {"schedule": []})["schedule"]
    ]
    return rows + adaptive + doubling


def _not_drawn(errors: Sequence[float | None]) -> tuple[str, ...]:
    zero, none = sum(error == 0 for error in errors), sum(error is None for error in errors)
    notes = []
    if zero:
        notes.append(f"{zero} of {len(errors)} errors are exactly zero: a logarithmic axis has no place for them.")
    if none:
        notes.append(f"{none} of {len(errors)} errors are not defined: the output hardly changes along the path.")
    return tuple(notes)


def _rows_kept(scores: np.ndarray, special: Sequence[bool]) -> list[int]:
    """Features to draw, in the order of the text: no special token without a score, at most the 60 largest."""
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
    """From the hue against the target over the bare page to the hue for it."""
    hues = getattr(PALETTES[palette], theme)
    clear = {
        hue: f"rgba({int(hue[1:3], 16)},{int(hue[3:5], 16)},{int(hue[5:7], 16)},0)"
        for hue in (hues.negative, hues.positive)
    }
    return [[0, hues.negative], [0.4999, clear[hues.negative]], [0.5001, clear[hues.positive]], [1, hues.positive]]


def _short(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:15]}…"
