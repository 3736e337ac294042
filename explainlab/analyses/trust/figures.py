"""Charts of an attribution against random ones: of one text, and of every text of a data set."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.records import Interval
from explainlab.analyses.trust.result import TrustData, TrustText
from explainlab.analyses.trust.verdict import BEYOND, CHANCE, level
from explainlab.attribution.registry import label_of, signed_of
from explainlab.figures.chart import BLUE, GREY, RED, Chart, error_bars, layout, percent, shown
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap

_WAYS = (("Without its top features", BLUE, "circle"), ("With only these", RED, "diamond"))


def _against_random(body: TrustText) -> Chart:
    """Draw the value of each metric beside the median and the 5 to 95% of random attributions."""
    metrics, total = body.metrics, body.random_maps
    names = [shown(metric.directed_label) for metric in metrics]
    figure = go.Figure(layout=layout("Value", "", height=150 + 60 * len(metrics)))
    figure.add_scatter(
        x=[metric.median for metric in metrics],
        y=names,
        error_x=error_bars([Interval(mean=metric.median, low=metric.low, high=metric.high) for metric in metrics]),
        mode="markers",
        name=f"{total} random maps: median, 5 to 95%",
        marker={"color": GREY, "symbol": "line-ns-open", "size": 14},
        hovertemplate="%{y}: median %{x:.4g}<extra>random maps</extra>",
    )
    figure.add_scatter(
        x=[metric.value for metric in metrics],
        y=names,
        mode="markers",
        name="This map",
        marker={"color": BLUE, "symbol": "diamond", "size": 12},
        hovertemplate="%{y}: %{x:.4g}<extra>this map</extra>",
    )
    figure.update_yaxes(type="category", autorange="reversed")
    shares = ", ".join(f"{metric.label} better than {percent(metric.beaten)}" for metric in metrics)
    title = f"{label_of(body.method)} against {total} random maps"
    columns = ("label", "value", "median", "low", "high", "beaten")
    rows = [{name: getattr(metric, name) for name in columns} for metric in metrics]
    short = [metric.label for metric in metrics if not metric.counted]
    notes = (f"The text is too short for {' and '.join(short)}: every map has the same value.",) if short else ()
    return Chart("against-random-maps", title, f"{title}: {shares}.", figure, rows, notes)


def ranking(bodies: Sequence[TrustText], labels: Sequence[str]) -> Chart:
    """Draw attributions of one text by the share of random ones that do worse, the furthest beyond chance first.

    The smaller of the two shares of an attribution counts. ``labels`` are those of their methods.
    """
    furthest = sorted(range(len(bodies)), key=lambda i: -min(metric.beaten for metric in bodies[i].metrics))
    ordered, labels = [bodies[i] for i in furthest], [labels[i] for i in furthest]
    names = [shown(label) for label in labels]
    figure = go.Figure(
        layout=layout(f"Share of {bodies[0].random_maps} random maps", "", height=140 + 36 * len(ordered))
    )
    for (words, color, symbol), metrics in zip(
        _WAYS, zip(*(body.metrics for body in ordered), strict=True), strict=True
    ):
        figure.add_scatter(
            x=[metric.beaten for metric in metrics],
            y=names,
            mode="markers",
            name=words,
            marker={"color": color, "symbol": symbol, "size": 12},
            hovertemplate="%{y}: %{x:.1%}<extra>" + words + "</extra>",
        )
    for share in (CHANCE, BEYOND):
        figure.add_vline(x=share, line={"color": GREY, "width": 1.5, "dash": "dash" if share == CHANCE else "dot"})
    figure.update_xaxes(range=[-0.03, 1.05], tickformat=".0%")
    figure.update_yaxes(categoryorder="array", categoryarray=names, autorange="reversed")
    rows = [
        {"method": label, **{metric.label: metric.beaten for metric in body.metrics}}
        for label, body in zip(labels, ordered, strict=True)
    ]
    title = "Random maps that do worse than each map"
    first = ", ".join(label for label, body in zip(labels, ordered, strict=True) if level(body) >= BEYOND)
    finding = f"Well beyond chance: {first}." if first else "None is well beyond chance."
    notes = ("Dashed: what chance gives; dotted: well beyond chance. Differences of less than 10% may be chance.",)
    return Chart("which-map-to-trust", title, f"{title}. {finding}", figure, rows, notes)


def beaten(body: TrustData) -> Chart:
    """Draw by every metric the share of random attributions that do worse, a point for each text, with the mean.

    Half is what a random attribution can expect.
    """
    metrics, n = body.summary.metrics, body.summary.n
    names = [shown(metric.label) for metric in metrics]
    shares = [
        [(text.row, text.metrics[i].beaten) for text in body.texts if text.metrics[i].counted]
        for i in range(len(metrics))
    ]
    figure = go.Figure(layout=layout("Random maps that do worse", "", height=160 + 80 * len(metrics)))
    for name, column in zip(names, shares, strict=True):
        figure.add_box(
            x=[share for _, share in column],
            y=[name] * len(column),
            customdata=[row for row, _ in column],
            orientation="h",
            boxpoints="all",
            jitter=0.5,
            pointpos=0,
            line={"color": BLUE, "width": 1.5},
            marker={"color": BLUE, "size": 5, "opacity": 0.6},
            hovertemplate="row %{customdata}: %{x:.3g}<extra></extra>",
            showlegend=False,
        )
    figure.add_scatter(
        x=[metric.beaten.mean for metric in metrics],
        y=names,
        error_x=error_bars([metric.beaten for metric in metrics]),
        mode="markers",
        name="Mean with its 95% interval",
        marker={"color": RED, "symbol": "diamond", "size": 11},
        hovertemplate="mean %{x:.3g}<extra></extra>",
    )
    figure.add_vline(x=0.5, line={"color": GREY, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(type="category", autorange="reversed")
    title = f"Against random maps, {n:,} texts"
    means = ", ".join(f"{metric.label} {percent(metric.beaten.mean)}" for metric in metrics)
    rows = [
        {"metric": metric.label, "row": row, "beaten": share}
        for metric, column in zip(metrics, shares, strict=True)
        for row, share in column
    ]
    return Chart("random-maps-beaten", title, f"{title}. Mean share that does worse: {means}.", figure, rows)


def _heatmaps(result: AnalysisResult[TrustText]) -> list[Map]:
    body, settings = result.body, result.request.parameters["settings"]
    request = result.request.model_copy(update={"question": body.method, "parameters": settings})
    signed = signed_of(body.method, settings, body.scores)
    drawn = heatmap(body.attribution(request, body.scores, signed=signed))
    return [Map(drawn.method, drawn)]


FIGURES = StudyFigures(
    lambda result: [_against_random(result.body)],
    lambda result: [beaten(result.body)],
    _heatmaps,
)
