"""Charts of a data set's integrals: errors per step count, ideal steps, rules against each other."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import plotly.graph_objects as go

from explainlab.analyses.integration.result import IntegrationErrorData
from explainlab.attribution.path import Rule
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
    shortened,
    shown,
)

NEVER = "none"


def drawable(error: float | None) -> TypeGuard[float]:
    """Tell if a logarithmic axis can show this error."""
    return error is not None and error > 0


def error_boxes(body: IntegrationErrorData, rule: Rule, tolerance: float) -> Chart:
    """Draw a box plot of the errors at each step count of ``rule``: a point per text, to be picked; the mean in red."""
    figure = go.Figure(layout=layout("Steps n", "Approximation error (% of change)", height=460))
    columns = _columns(body, rule)
    steps = list(columns)
    boxes = [_five([100 * error for _, error in column]) for column in columns.values()]
    figure.add_box(
        x=list(range(len(steps))),
        **{
            name: [box[i] for box in boxes] for i, name in enumerate(("lowerfence", "q1", "median", "q3", "upperfence"))
        },
        name="Quartiles, fences at 1.5 times their distance",
        line={"color": GREY, "width": 1.5},
        fillcolor="rgba(122,133,128,0.18)",
        hoverinfo="skip",
        width=0.6,
    )
    _add_points(figure, body, columns)
    means = {n: mean for n in steps if drawable(mean := _mean(body, rule, n))}
    figure.add_scatter(
        x=[steps.index(n) for n in means],
        y=[100 * mean for mean in means.values()],
        mode="lines+markers",
        name="Mean",
        line={"color": RED, "width": 3},
        marker={"symbol": "square", "size": 6},
        hovertemplate="mean %{y:.3g}%<extra></extra>",
    )
    limit_line(figure, tolerance)
    every = max(1, len(steps) // 12)
    figure.update_xaxes(tickvals=list(range(len(steps)))[::every], ticktext=[f"{n:,}" for n in steps[::every]])
    drawn = [error for column in columns.values() for _, error in column]
    if drawn:
        log_percent(figure, [100 * error for error in drawn])
    title = f"Errors of {body.summary.n} texts, {STYLES[rule].label}"
    ends = [f"{percent(_mean(body, rule, n))} at {n:,}" for n in (steps[:1] + steps[-1:])]
    finding = f" The mean is {ends[0]} steps and {ends[1]}." if ends else ""
    return Chart(
        "errors-per-step-count", title, f"{title}.{finding}", figure, _text_rows(body, rule), _left_out(body, rule)
    )


def ideal_histogram(body: IntegrationErrorData, rule: Rule, tolerance: float) -> Chart:
    """Draw the number of texts whose ideal step is each step count of the list, or none."""
    counts = dict(body.summary.ideal_steps[rule])
    never = counts.pop(NEVER, 0)
    names = [f"{int(n):,}" for n in counts] + [NEVER]
    values = [*counts.values(), never]
    figure = go.Figure(
        layout=layout(f"First step count within {100 * tolerance:g}%", "Texts (count)", height=460, bargap=0.25)
    )
    figure.add_bar(
        x=list(range(len(names))),
        y=values,
        text=[v or "" for v in values] if len(names) <= 30 else None,
        textposition="outside",
        cliponaxis=False,
        marker={"color": [BLUE] * len(counts) + [GREY], "pattern": {"shape": [""] * len(counts) + ["/"]}},
        customdata=names,
        hovertemplate="%{customdata} steps: %{y} texts<extra></extra>",
        showlegend=False,
    )
    every = max(1, len(names) // 12)
    ticks = sorted({*range(0, len(names) - 1, every), len(names) - 1})
    figure.update_xaxes(tickvals=ticks, ticktext=[names[i] for i in ticks])
    title = f"Ideal steps, {STYLES[rule].label}"
    within = body.summary.within_1000[rule]
    rows = [{"steps": name, "texts": count} for name, count in zip([*counts, NEVER], values, strict=True)]
    return Chart(
        "ideal-steps",
        title,
        f"{title}: {within} of {body.summary.n} texts reach it within 1,000 steps, {never} not at all.",
        figure,
        rows,
    )


def mean_by_rule(body: IntegrationErrorData, tolerance: float) -> Chart:
    """Draw the mean error at each step count, one line for each rule, with its 95% interval."""
    figure = go.Figure(layout=layout("Steps n", "Mean approximation error (% of change)"))
    rows, values = [], []
    for rule, means in body.summary.mean.items():
        style = STYLES[rule]
        drawn = [(int(n), 100 * m.mean, m) for n, m in means.items() if drawable(m.mean)]
        figure.add_scatter(
            x=[n for n, *_ in drawn],
            y=[mean for _, mean, _ in drawn],
            error_y=error_bars([m for *_, m in drawn], 100),
            mode="lines+markers",
            name=shown(style.label),
            line={"color": style.color, "dash": style.dash},
            marker={"symbol": style.symbol, "size": 7},
            hovertemplate="%{x:,}: %{y:.3g}%<extra>" + shown(style.label) + "</extra>",
        )
        values += [mean for _, mean, _ in drawn]
        rows += [{"rule": rule, "steps": int(n), **m.model_dump()} for n, m in means.items()]
    limit_line(figure, tolerance)
    if values:
        log_steps(figure, [row["steps"] for row in rows])
        log_percent(figure, values)
    title = "Mean error by rule, with 95% intervals"
    return Chart("mean-error-by-rule", title, f"{title}.", figure, rows)


def within_limit(body: IntegrationErrorData) -> Chart:
    """Draw the number of texts that each rule brings within the tolerance in at most 1000 steps."""
    counts, n = body.summary.within_1000, body.summary.n
    figure = go.Figure(layout=layout("Texts within 1,000 steps (count)", "", height=280, bargap=0.35))
    figure.add_bar(
        x=list(counts.values()),
        y=[shown(STYLES[rule].label) for rule in counts],
        orientation="h",
        text=[f"{count} of {n}" for count in counts.values()],
        textposition="auto",
        marker={"color": [STYLES[rule].color for rule in counts]},
        hovertemplate="%{y}: %{x} texts<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(range=[0, max(n, 1)])
    figure.update_yaxes(autorange="reversed")
    title = f"Ideal within 1,000 steps, of {n} texts"
    words = ", ".join(f"{STYLES[rule].label} {count}" for rule, count in counts.items())
    return Chart(
        "within-1000-steps",
        title,
        f"{title}: {words}.",
        figure,
        [{"rule": r, "texts": c, "of": n} for r, c in counts.items()],
    )


def _columns(body: IntegrationErrorData, rule: Rule) -> dict[int, list[tuple[int, float]]]:
    """Return step count -> (index of the text, error) of every text whose error can be drawn."""
    counts = sorted({int(n) for text in body.texts for n in text.errors.get(rule, {})})
    errors = [text.errors.get(rule, {}) for text in body.texts]
    return {n: [(i, e) for i, each in enumerate(errors) if drawable(e := each.get(str(n)))] for n in counts}


def _five(values: list[float]) -> tuple[float | None, ...]:
    """Return lower fence, quartiles and upper fence; fences are the last values within 1.5 interquartile ranges."""
    if not values:
        return (None,) * 5
    low, middle, high = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (high - low)
    inside = [v for v in values if low - reach <= v <= high + reach]
    return float(min(inside)), float(low), float(middle), float(high), float(max(inside))


def _add_points(figure: go.Figure, body: IntegrationErrorData, columns: dict[int, list[tuple[int, float]]]) -> None:
    """Add every text as a point, at the same small distance from the middle of each box."""
    texts = body.texts
    aside = [0.22 * ((i * 0.618034) % 1 * 2 - 1) for i in range(len(texts))]
    points = [(place, i, error) for place, column in enumerate(columns.values()) for i, error in column]
    figure.add_scatter(
        x=[place + aside[i] for place, i, _ in points],
        y=[100 * error for *_, error in points],
        mode="markers",
        name="Texts",
        marker={"color": BLUE, "size": 6 if len(points) < 3000 else 3, "opacity": 0.55},
        customdata=[[texts[i].row, shown(shortened(" ".join(texts[i].text.split()), 80))] for _, i, _ in points],
        hovertemplate="row %{customdata[0]}: %{y:.3g}%<br>%{customdata[1]}<extra></extra>",
    )


def _mean(body: IntegrationErrorData, rule: Rule, steps: int) -> float | None:
    mean = body.summary.mean[rule].get(str(steps))
    return None if mean is None else mean.mean


def _text_rows(body: IntegrationErrorData, rule: Rule) -> list[dict[str, Any]]:
    return [
        {
            "row": text.row,
            "text": text.text,
            "label": text.label,
            "rule": rule,
            "steps": int(n),
            "approximation_error": error,
        }
        for text in body.texts
        for n, error in text.errors.get(rule, {}).items()
    ]


def _left_out(body: IntegrationErrorData, rule: Rule) -> tuple[str, ...]:
    notes = []
    cancels = sum(text.cancels for text in body.texts)
    zero = sum(error == 0 for text in body.texts for error in text.errors.get(rule, {}).values())
    if cancels:
        notes.append(f"{cancels} of {len(body.texts)} texts are not drawn: their output hardly changes along the path.")
    if zero:
        notes.append(f"{zero} errors are exactly zero, which a logarithmic axis cannot show.")
    return tuple(notes)
