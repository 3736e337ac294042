"""Figures of Integrated Gradients' error: against the step count, the map at each step count, and over many texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.integration.result import Doubling, IntegrationErrorData, IntegrationErrorText, within
from explainlab.analyses.integration.verdict import text_verdict
from explainlab.attribution.path import Rule, nodes
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
from explainlab.figures.declared import Map, StudyFigures, keyed
from explainlab.figures.export import SliderFigure, inert
from explainlab.figures.heatmap import FrameToken, Heatmap, Record, heatmap, limit
from explainlab.figures.palette import DEFAULT
from explainlab.figures.svg import draw_svg
from explainlab.request import Request

_MOST_PICTURES = 3000  # tokens over all frames up to which every frame brings its picture along


class Frame(Record):
    """The heatmap at one step count; ``alphas`` are the points sampled on the path, ``svg`` a picture or nothing."""

    label: str
    error: str
    within: bool
    alphas: list[float]
    tokens: list[FrameToken]
    svg: str


class StepMorph(SliderFigure):
    """All frames of one rule, drawn into ``heatmap``; ``verdict`` is the answer in words, ``name`` names its files."""

    name = "steps"
    component = "step_morph"
    styles = ("token_heatmap", "step_morph")

    heatmap: Heatmap
    rule: str
    frames: list[Frame]
    verdict: str

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return a row for each token of every frame."""
        return [
            {
                "rule": self.rule,
                "steps": frame.label,
                "sum": frame.error,
                "text": inert(token.name),
                "start": token.start,
                "end": token.end,
                "special": token.special,
                "score": now.score,
                "error": now.error,
            }
            for frame in self.frames
            for token, now in zip(self.heatmap.tokens, frame.tokens, strict=True)
        ]

    def to_json(self) -> str:
        """Return the record itself, without its pictures."""
        return self.model_dump_json(exclude={"frames": {"__all__": {"svg"}}}, indent=2)


def step_morph(
    request: Request, body: IntegrationErrorText, rule: Rule, tolerance: float, palette: str = DEFAULT
) -> StepMorph:
    """Return the frames of ``rule`` in the order of their step counts, and the adaptive frame last.

    ``tolerance`` is the error at which a step count is enough.
    """
    rows = sorted((row for row in body.rows if row.rule == rule), key=lambda row: row.steps)
    adaptive = body.adaptive
    last = adaptive.trace[-1]
    attributions = [body.integral(request, row.scores) for row in rows]
    attributions.append(body.integral(request, adaptive.scores, adaptive.errors))
    alphas = [nodes(rule, row.steps)[0].tolist() for row in rows] + [adaptive.alphas]
    labels = [f"{row.steps:,} steps" for row in rows] + [f"adaptive, {last.evaluations:,} evaluations"]
    errors = [row.approximation_error for row in rows] + [last.approximation_error]
    top = limit(attributions)
    drawn = [heatmap(attribution, palette, top) for attribution in attributions]
    pictures = len(drawn) * len(drawn[0].tokens) <= _MOST_PICTURES
    return StepMorph(
        heatmap=drawn[0],
        rule=STYLES[rule].label,
        frames=[
            Frame(
                label=label,
                error=_error_words(error),
                within=within(error, tolerance),
                alphas=[round(alpha, 4) for alpha in points],
                tokens=[FrameToken.of(token) for token in frame.tokens],
                svg=draw_svg(frame) if pictures else "",
            )
            for label, error, points, frame in zip(labels, errors, alphas, drawn, strict=True)
        ],
        verdict=text_verdict(body),
    )


def _error_words(error: float | None) -> str:
    return "no relative error: the change is too small" if error is None else f"error {percent(error)}"


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
