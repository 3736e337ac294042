"""A chart of methods with the same number of attributions, of a text or of a data set."""

from __future__ import annotations

from collections.abc import Iterator

import plotly.graph_objects as go

from explainlab.analyses.ablation.result import AblationData, AblationText, MeanMethodChoices, MethodChoices
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates.figures import BEST, FIRST, MEAN
from explainlab.analyses.records import Interval, as_interval, metric_of
from explainlab.figures.chart import BLUE, GREY, RED, Chart, Style, error_bars, layout, shown
from explainlab.figures.declared import StudyFigures, keyed
from explainlab.figures.heatmap import number

Body = AblationText | AblationData


def ablation(body: Body, key: str) -> Chart:
    """Draw the metric ``key`` of each method's first attribution, of all on average, the best, and another metric's."""
    metric = metric_of(body.metrics, key)
    other = next(iter(body.methods[0].selection[key].held_out), None)
    figure = go.Figure(layout=layout(shown(metric.directed_label), "", height=130 + 44 * len(body.methods)))
    names = [_name(method) for method in body.methods]
    for choice, style in _styles(body, other).items():
        values = [_choices(method, key)[choice] for method in body.methods]
        figure.add_scatter(
            x=[value.mean for value in values],
            y=names,
            error_x=error_bars(values),
            mode="markers",
            name=style.label,
            marker={"color": style.color, "symbol": style.symbol, "size": 10},
            hovertemplate="%{y}: %{x:.4g}<extra>" + style.label + "</extra>",
        )
    figure.update_yaxes(categoryorder="array", categoryarray=names, autorange="reversed", title={"text": "Method"})
    rows = [
        {
            "method": method.method,
            "maps": method.maps,
            "forward": method.cost.forward,
            "backward": method.cost.backward,
            "reported": reported,
            "choice": choice,
            **value.model_dump(),
        }
        for method in body.methods
        for reported in method.selection
        for choice, value in _choices(method, reported).items()
    ]
    title = f"Methods with equal budgets: {metric.label}"
    best = ", ".join(f"{method.label} {number(_choices(method, key)['best'].mean)}" for method in body.methods)
    notes = ("A method has one map where a seed changes nothing. Passes: what making the maps takes for each text.",)
    return Chart("methods-at-one-budget", title, f"{title}. Best of all maps: {best}.", figure, rows, notes)


def _styles(body: Body, other: str | None) -> dict[str, Style]:
    styles = {
        "first": Style(FIRST, GREY, "solid", "circle"),
        "mean": Style(MEAN, GREY, "solid", "line-ns-open"),
    }
    if other is not None:
        styles[other] = Style(f"Chosen by {metric_of(body.metrics, other).label}", BLUE, "solid", "diamond")
    return {**styles, "best": Style(BEST, RED, "solid", "x")}


def _choices(method: MethodChoices | MeanMethodChoices, key: str) -> dict[str, Interval]:
    """Return the metric ``key`` of every choice, by its name."""
    selection = method.selection[key]
    every = {"first": selection.first, "mean": selection.mean, **selection.held_out, "best": selection.best}
    return {name: as_interval(value) for name, value in every.items()}


def _name(method: MethodChoices | MeanMethodChoices) -> str:
    count = "1 map" if method.maps == 1 else f"{method.maps} maps"
    return f"{shown(method.label)}<br>{count}, {method.cost.total:,.0f} passes"


def _charts(result: AnalysisResult[Body]) -> Iterator[Chart]:
    for metric in result.body.metrics:
        yield keyed(metric.key, ablation(result.body, metric.key))


FIGURES = StudyFigures(_charts, _charts)
