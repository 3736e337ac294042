"""Charts of one text's integrals: the error against the step count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.integration.data_figures import (
    drawable,
    error_boxes,
    ideal_histogram,
    mean_by_rule,
    within_limit,
)
from explainlab.analyses.integration.result import Doubling, IntegrationErrorData, IntegrationErrorText
from explainlab.analyses.integration.step_morph import step_morph
from explainlab.attribution.path import Rule
from explainlab.figures.chart import STYLES, Chart, layout, limit_line, log_percent, log_steps, shown
from explainlab.figures.declared import Map, StudyFigures, keyed
from explainlab.figures.heatmap import heatmap


def error_curve(body: IntegrationErrorText, tolerance: float) -> Chart:
    """Draw approximation error against step count, a line for each rule, on logarithmic axes, with the ideal steps."""
    figure = go.Figure(layout=layout("Steps n (adaptive: gradient evaluations)", "Approximation error (% of change)"))
    lines = {rule: [row for row in body.rows if row.rule == rule] for rule in body.ideal_steps}
    for rule, rows in lines.items():
        _error_line(figure, rule, STYLES[rule].label, [(r.steps, r.approximation_error) for r in rows])
        ideal = body.ideal_steps[rule]
        _mark_ideal(figure, rule, ideal, next((r.approximation_error for r in rows if r.steps == ideal), None))
    points = [(p.evaluations, p.approximation_error) for p in body.adaptive.trace]
    _error_line(figure, "adaptive", STYLES["adaptive"].label, points, width=3)
    if body.doubling is not None:
        schedule = [(p.steps, p.approximation_error) for p in body.doubling.schedule]
        _error_line(figure, "doubling", doubling_words(body.doubling), schedule)
    limit_line(figure, tolerance)
    drawn = [(x, y) for line in figure.data for x, y in zip(line.x, line.y, strict=True)]
    if drawn:
        log_steps(figure, [x for x, _ in drawn])
        log_percent(figure, [y for _, y in drawn])
    return Chart(
        name="integration-error",
        title="Approximation error against the number of steps, one line for each rule",
        alt=f"Approximation error against steps on logarithmic axes. {_ideal_words(body.ideal_steps, tolerance)}",
        figure=figure,
        rows=_error_rows(body),
        notes=_not_drawn([row["approximation_error"] for row in _error_rows(body)]),
    )


def doubling_words(doubling: Doubling) -> str:
    """Describe the doubling schedule and its total cost."""
    steps, spent = doubling.schedule, doubling.evaluations
    end = f"{steps[0].steps:,} … {steps[-1].steps:,} steps"
    return f"Doubling the right sum: {end}, {spent:,} evaluations in all"


def _error_line(
    figure: go.Figure, key: str, name: str, points: Sequence[tuple[int, float | None]], width: float = 2
) -> None:
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


def _mark_ideal(figure: go.Figure, rule: Rule, steps: int | None, error: float | None) -> None:
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


def _ideal_words(ideal: Mapping[Rule, int | None], tolerance: float) -> str:
    within = [f"{STYLES[rule].label} {steps:,}" for rule, steps in ideal.items() if steps is not None]
    never = [STYLES[rule].label for rule, steps in ideal.items() if steps is None]
    words = [f"First step count within {100 * tolerance:g}%: {', '.join(within)}."] if within else []
    return " ".join([*words, *([f"Never within it: {', '.join(never)}."] if never else [])])


def _error_rows(body: IntegrationErrorText) -> list[dict[str, Any]]:
    rules = [row.model_dump(exclude={"scores"}) for row in body.rows]
    adaptive = [
        {"rule": "adaptive", "steps": None, **stage.model_dump(exclude={"estimated_error"})}
        for stage in body.adaptive.trace
    ]
    schedule = body.doubling.schedule if body.doubling is not None else []
    doubling = [
        {"rule": "doubling", "steps": p.steps, "evaluations": None, "approximation_error": p.approximation_error}
        for p in schedule
    ]
    return rules + adaptive + doubling


def _not_drawn(errors: Sequence[float | None]) -> tuple[str, ...]:
    zero, none = sum(error == 0 for error in errors), sum(error is None for error in errors)
    notes = []
    if zero:
        notes.append(f"{zero} of {len(errors)} errors are exactly zero, which a logarithmic axis cannot show.")
    if none:
        notes.append(f"{none} of {len(errors)} errors are not defined: the output hardly changes along the path.")
    return tuple(notes)


def _charts(result: AnalysisResult[IntegrationErrorText]) -> list[Chart]:
    return [] if result.body.cancels else [error_curve(result.body, result.request.parameters["tolerance"])]


def _data_charts(result: AnalysisResult[IntegrationErrorData]) -> list[Chart]:
    body, tolerance = result.body, result.request.parameters["tolerance"]
    draws = (error_boxes, ideal_histogram)
    by_rule = [keyed(rule, draw(body, rule, tolerance)) for rule in body.summary.mean for draw in draws]
    return [mean_by_rule(body, tolerance), within_limit(body), *by_rule]


def _heatmaps(result: AnalysisResult[IntegrationErrorText]) -> list[Map]:
    adaptive, request = result.body.adaptive, result.request.model_copy(update={"question": "integrated_gradients"})
    drawn = heatmap(result.body.integral(request, adaptive.scores, adaptive.errors))
    return [Map(f"{drawn.method}, adaptive", drawn)]


def _component(result: AnalysisResult[IntegrationErrorText | IntegrationErrorData], palette: str) -> str:
    body = result.body
    if not isinstance(body, IntegrationErrorText) or not body.rows:
        return ""
    rule = next((rule for rule, steps in body.ideal_steps.items() if steps is not None), body.rows[0].rule)
    return step_morph(result.request, body, rule, result.request.parameters["tolerance"], palette).to_html()


FIGURES = StudyFigures(
    of_text=_charts,
    of_data=_data_charts,
    maps=_heatmaps,
    component=_component,
    none="The output hardly changes from the baseline to the text: no error relative to that change is defined.",
)
