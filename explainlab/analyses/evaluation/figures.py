"""The figures of an evaluation: of a text, and of a data set; the heatmaps of every method."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from explainlab.analyses.attributions import method_request
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.agreement_figures import agreement_matrix
from explainlab.analyses.evaluation.heat_table import heat_table
from explainlab.analyses.evaluation.latex import latex
from explainlab.analyses.evaluation.published.files import published_files
from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, EvaluationText
from explainlab.analyses.evaluation.slice_figures import slice_means
from explainlab.analyses.evaluation.sweep_figures import sweep_charts
from explainlab.analyses.evaluation.table import kinds_of, metric_row
from explainlab.analyses.evaluation.told_apart import critical_diagram, differences
from explainlab.analyses.evaluation.truth import shown as shown_result
from explainlab.analyses.evaluation.verdict import data_verdict, shown_name, text_verdict
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.planted.figures import accuracies
from explainlab.analyses.records import KnownInterval
from explainlab.analyses.wording import joined
from explainlab.attribution.registry import parse_spec, signed_of
from explainlab.figures.chart import BLUE, GREY, Chart, error_bars, layout, name_rows, shown
from explainlab.figures.cost import CostPoint, cost_chart
from explainlab.figures.declared import Map, StudyFigures, keyed
from explainlab.figures.heatmap import heatmap
from explainlab.metrics.registry import parse_metric

Body = EvaluationText | EvaluationData


def methods_by_metric(body: Body, name: str) -> Chart:
    """Draw every method's value of a metric, the best first: of a text, or means with their intervals.

    Controls are grey. ``name`` is the metric with its options; a method without a value is left out.
    """
    metric, values = parse_metric(name), _values(body, name)
    sign = -1 if metric.higher_is_better else 1
    order = sorted(values, key=lambda method: sign * values[method].mean)
    label = f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"
    bars = error_bars([values[method] for method in order])
    figure = go.Figure(layout=layout(shown(label), "", height=110 + 36 * len(order)))
    figure.add_scatter(
        x=[values[method].mean for method in order],
        y=list(range(len(order))),
        error_x=bars and {**bars, "color": GREY},
        mode="markers",
        marker={
            "color": [BLUE if _symbol(method) == "circle" else GREY for method in order],
            "symbol": [_symbol(method) for method in order],
            "size": 10,
        },
        customdata=[shown(shown_name(method)) for method in order],
        hovertemplate="%{customdata}: %{x:.4g}<extra></extra>",
        showlegend=False,
    )
    name_rows(figure, [shown_name(method) for method in order])
    of = f", means of {body.texts_by(name):,} texts with 95% intervals" if isinstance(body, EvaluationData) else ""
    title = f"Methods by {metric.label}{of}"
    finding = data_verdict(body, metric) if isinstance(body, EvaluationData) else text_verdict(body, metric)
    rows = [{"method": method, "metric": name, **values[method].model_dump()} for method in order]
    return Chart("methods-by-metric", title, f"{title}: {finding}.", figure, rows)


def _symbol(method: str) -> str:
    """Return the symbol of a method or a control."""
    return "cross" if method == RANDOM else "x" if method.startswith(REVERSED) else "circle"


def _metrics(body: Body) -> list[str]:
    """Return the metrics of ``body`` with their options."""
    if isinstance(body, EvaluationData):
        return list(dict.fromkeys(row.asked for row in body.rows))
    return list(dict.fromkeys(metric for values in body.values.values() for metric in values))


def _values(body: Body, metric: str) -> dict[str, KnownInterval]:
    """Return the mean of every method; the value of a text has no interval."""
    if isinstance(body, EvaluationData):
        means = {row.method: row.interval for row in body.rows if row.asked == metric}
        return {
            method: KnownInterval(mean=value.mean, low=value.low, high=value.high)
            for method, value in means.items()
            if value.mean is not None
        }
    return {
        method: KnownInterval(mean=value, low=None, high=None)
        for method, values in body.values.items()
        if (value := values[metric]) is not None
    }


def quality_against_cost(body: EvaluationData, metric: str) -> Chart:
    """Draw every method's mean against its passes for each text, with the Pareto front, without reversed controls.

    ``metric`` is its name with the preset (``asked``). Attributions made elsewhere have no cost.
    """
    facts = metric_row(body, metric)
    points = [
        CostPoint(
            row.method,
            shown_name(row.method),
            body.cost_by_method[row.method].total / body.n,
            row.mean,
            row.interval,
            {"metric": metric, **row.interval.model_dump()},
        )
        for row in body.rows
        if row.asked == metric and row.mean is not None and row.method in body.cost_by_method
    ]
    chart = cost_chart(points, facts.label, facts.higher_is_better, "against-cost", RANDOM, facts.directed_label)
    given = {row.method for row in body.rows if not row.method.startswith(REVERSED)} - set(body.cost_by_method)
    listed = joined([shown_name(name) for name in sorted(given)]) if given else ""
    return replace(chart, notes=(f"Made elsewhere, at an unknown cost: {listed}.",)) if given else chart


def _of_text(result: AnalysisResult[EvaluationText]) -> list[Chart]:
    body = result.body
    return [keyed(metric, methods_by_metric(body, metric)) for metric in _metrics(body) if _values(body, metric)]


def charts_of(body: EvaluationData) -> list[Chart]:
    """Draw the tables, the values of each metric, and the agreement of methods, without empty charts."""
    metrics = [metric for metric in _metrics(body) if _values(body, metric)]
    draws = (methods_by_metric, differences, critical_diagram, quality_against_cost, slice_means)
    by_metric = [keyed(metric, draw(body, metric)) for metric in metrics for draw in draws]
    swept = [keyed(metric, chart) for metric in metrics for chart in sweep_charts(body, metric)]
    checks = [accuracies(body.planted)] if body.planted is not None else []
    tables = [heat_table(body, kind) for kind in kinds_of(body)]
    charts = [*tables, *checks, *by_metric, *swept, agreement_matrix(body)]
    return [chart for chart in charts if chart.rows]


def _files(result: AnalysisResult[EvaluationData]) -> dict[str, str]:
    result = shown_result(result)
    return {"table.tex": latex(result), **published_files(result)}


def _heatmaps(result: AnalysisResult[EvaluationText]) -> list[Map]:
    chosen, drawings = result.request.parameters, []
    for name, scores in result.body.scores.items():
        ours = parse_spec(name, chosen["settings"]) if name in chosen["methods"] else None
        method, settings = (ours.method, ours.parameters.model_dump(mode="json")) if ours else (name, {})
        request = method_request(result.request, method, settings)
        drawn = heatmap(result.body.attribution(request, scores, signed=signed_of(method, settings, scores)))
        if ours is None:
            drawn = drawn.model_copy(update={"explained": f"scores for {drawn.target}, made elsewhere"})
        drawings.append(Map(shown_name(name), drawn))
    return drawings


FIGURES = StudyFigures(
    _of_text,
    lambda result: charts_of(shown_result(result).body),
    _heatmaps,
    "No method has a value by any of these metrics.",
    _files,
)
