"""Charts of methods by metrics, and the heatmaps of every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import EvaluationData, EvaluationText
from explainlab.analyses.records import KnownInterval
from explainlab.attribution.registry import methods
from explainlab.declared import parse
from explainlab.figures.chart import BLUE, GREY, Chart, error_bars, layout, shown
from explainlab.figures.declared import Map, StudyFigures, keyed
from explainlab.figures.heatmap import heatmap, number
from explainlab.metrics.registry import parse_metric

RANDOM = "random"

Body = EvaluationText | EvaluationData


def methods_by_metric(body: Body, name: str) -> Chart:
    """Every method's value of a metric, the best first: of a text, or means with their intervals.

    ``name`` is the metric with its options.
    """
    metric, values = parse_metric(name), _values(body, name)
    sign = -1 if metric.higher_is_better else 1
    order = sorted(values, key=lambda method: sign * values[method].mean)
    label = f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"
    bars = error_bars([values[method] for method in order])
    figure = go.Figure(layout=layout(shown(label), "", height=110 + 32 * len(order)))
    figure.add_scatter(
        x=[values[method].mean for method in order],
        y=[shown(_label(method)) for method in order],
        error_x=bars and {**bars, "color": GREY},
        mode="markers",
        marker={
            "color": [GREY if method == RANDOM else BLUE for method in order],
            "symbol": ["cross" if method == RANDOM else "circle" for method in order],
            "size": 10,
        },
        hovertemplate="%{y}: %{x:.4g}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(type="category", autorange="reversed")
    of = f", means of {body.n:,} texts with 95% intervals" if isinstance(body, EvaluationData) else ""
    title = f"Methods by {metric.label}{of}"
    best = f"The best is {_label(order[0])} with {number(values[order[0]].mean)}."
    rows = [{"method": method, "metric": name, **values[method].model_dump()} for method in order]
    return Chart("methods-by-metric", title, f"{title}. {best}", figure, rows)


def _metrics(body: Body) -> list[str]:
    """The metrics of ``body`` with their options."""
    if isinstance(body, EvaluationData):
        return list(dict.fromkeys(row.asked for row in body.rows))
    return list(dict.fromkeys(metric for values in body.values.values() for metric in values))


def _values(body: Body, metric: str) -> dict[str, KnownInterval]:
    """The mean of every method; the value of a text has no interval."""
    if isinstance(body, EvaluationData):
        return {row.method: row.interval for row in body.rows if row.asked == metric}
    return {method: KnownInterval(mean=values[metric], low=None, high=None) for method, values in body.values.items()}


def _label(name: str) -> str:
    """A method's name, or that of a file of attributions made elsewhere."""
    method = methods().get(name)
    return method.label if method else name


def _charts(result: AnalysisResult[Any]) -> list[Chart]:
    return [keyed(metric, methods_by_metric(result.body, metric)) for metric in _metrics(result.body)]


def _heatmaps(result: AnalysisResult[EvaluationText]) -> list[Map]:
    settings = result.request.parameters["settings"]
    drawings = []
    for name, scores in result.body.scores.items():
        request = result.request.model_copy(update={"question": name, "parameters": {}})
        signed = _signed(name, settings.get(name, {}), scores)
        drawn = heatmap(result.body.attribution(request, scores, signed=signed))
        drawings.append(Map(drawn.method, drawn))
    return drawings


def _signed(name: str, settings: dict[str, Any], scores: Sequence[float]) -> bool:
    """Whether a method's scores have signs; a file's scores do if any is negative."""
    method = methods().get(name)
    return method.is_signed(parse(method, settings)) if method else min(scores) < 0


FIGURES = StudyFigures(_charts, _charts, _heatmaps)
