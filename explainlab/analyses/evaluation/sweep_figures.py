"""A metric against a parameter: where several specs of a method differ in one number, as in ``rpi:steps=10+20+30``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.evaluation.table import metric_row
from explainlab.analyses.parameters import RANDOM
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec
from explainlab.errors import RequestError
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout, log_steps, shown
from explainlab.figures.heatmap import number

_WIDE = 20.0
"""The ratio of the largest value to the smallest from which on the axis is logarithmic."""


@dataclass(frozen=True)
class Sweep:
    """Specs of ``method`` that differ in the number ``parameter``.

    ``lines`` are those alike in all else: by the options that they share in words, values with names, rising. ``idle``:
    the method does not use the parameter with these options.
    """

    method: str
    parameter: str
    lines: dict[str, list[tuple[float, str]]]
    idle: bool


def sweeps(names: Sequence[str]) -> list[Sweep]:
    """Return every number in which at least two of the methods ``names`` differ, and in nothing else."""
    lines: dict[tuple[str, str], dict[str, list[tuple[float, str]]]] = defaultdict(lambda: defaultdict(list))
    requests = {name: request for name in names if (request := _read(name)) is not None}
    for name, request in requests.items():
        for parameter, value in request.parameters:
            amount = _amount(value)
            if amount is not None:
                lines[request.method, parameter][_rest(request, parameter)].append((amount, name))
    found = []
    for (method, parameter), by_rest in lines.items():
        kept = {rest: sorted(points) for rest, points in by_rest.items() if len(points) > 1}
        if kept:
            swept = [requests[name].parameters for points in kept.values() for _, name in points]
            idle = all(parameter in get_method(method).ineffective_parameters(own) for own in swept)
            found.append(Sweep(method, parameter, kept, idle))
    return found


def sweep_charts(body: EvaluationData, metric: str) -> list[Chart]:
    """Draw a chart for each of :func:`sweeps`: the means of ``metric`` (``asked``) with intervals, beside random's."""
    rows = {row.method: row for row in body.rows if row.asked == metric and row.mean is not None}
    charts = [_chart(sweep, rows, metric_row(body, metric)) for sweep in sweeps(list(rows))]
    return [chart for chart in charts if chart.rows]


def _chart(sweep: Sweep, means: dict[str, MethodMetric], facts: MethodMetric) -> Chart:
    label, words = get_method(sweep.method).label, sweep.parameter.replace("_", " ")
    figure = go.Figure(layout=layout(shown(words.capitalize()), shown(facts.directed_label), height=360))
    rows: list[dict[str, Any]] = []
    for i, (rest, points) in enumerate(sweep.lines.items()):
        own = [means[name] for _, name in points]
        figure.add_scatter(
            x=[value for value, _ in points],
            y=[row.mean for row in own],
            error_y=error_bars(own),
            mode="lines+markers",
            name=shown(rest or label),
            line={"color": COLORS[i % len(COLORS)]},
            marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 9},
            hovertemplate=f"{shown(words)} " + "%{x:,g}: %{y:.4g}<extra>" + shown(rest or label) + "</extra>",
        )
        rows += [
            {"method": name, sweep.parameter: value, **row.interval.model_dump()}
            for (value, name), row in zip(points, own, strict=True)
        ]
    random = means.get(RANDOM)
    if random is not None:
        figure.add_hline(y=random.mean, line={"color": GREY, "dash": "dash"}, annotation_text="random")
    values = [value for points in sweep.lines.values() for value, _ in points]
    if min(values) > 0 and max(values) / min(values) >= _WIDE:
        log_steps(figure, values)
    title = f"{facts.label} of {label} against {words}"
    ends = [(points[0], points[-1]) for points in sweep.lines.values()]
    listed = "; ".join(
        f"from {number(means[first[1]].mean)} at {first[0]:g} to {number(means[last[1]].mean)} at {last[0]:g}"
        for first, last in ends
    )
    notes = (f"{label} does not use {words} with these options.",) if sweep.idle else ()
    return Chart(f"sweep-{sweep.method}-{sweep.parameter}", title, f"{title}: {listed}.", figure, rows, notes)


def _read(name: str) -> MethodSpec | None:
    """Return the method of ``name``; None for a control or a file."""
    try:
        return parse_spec(name)
    except RequestError:
        return None


def _amount(value: Any) -> float | None:
    """Return a number, also from a budget that counts features (``16n``); None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return float(value.removesuffix("n") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        return None


def _rest(request: MethodSpec, parameter: str) -> str:
    """Return the other options that differ from their defaults, in words; budgets by feature count as another kind."""
    usual = type(request.parameters)()
    others = {name: value for name, value in request.parameters if name != parameter and value != getattr(usual, name)}
    per_feature = isinstance(value := getattr(request.parameters, parameter), str) and value.endswith("n")
    words = [f"{name.replace('_', ' ')} {value}" for name, value in others.items()]
    return ", ".join([*words, *(["times the features"] if per_feature else [])])
