"""Charts of precision: agreement of maps by method and number format, changes of logits by text; maps of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from explainlab.analyses.attributions import method_request
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.precision.likeness import TOP
from explainlab.analyses.precision.result import MethodFacts, PrecisionData, PrecisionText
from explainlab.analyses.precision.verdict import Body, verdict
from explainlab.analyses.records import Interval
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods, parse_spec
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout, name_rows
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap, limit
from explainlab.request import Request

Kept = Literal["rank_correlation", "top_5"]
AXES: dict[Kept, str] = {
    "rank_correlation": "Spearman's ρ with the map in float32",
    "top_5": "Share of the five highest scores that stay",
}
TITLES: dict[Kept, str] = {
    "rank_correlation": "How far rankings stay in half precision",
    "top_5": "How far the five highest scores stay in half precision",
}
_AGAINST = {"seed": "float32, another seed", "random": "random maps"}
_APART = 0.16


def kept(body: Body, key: Kept) -> Chart:
    """Draw a line a method: a mark for each number format with its interval, and grey ones for the controls."""
    labels = {own.method: own.label for own in body.methods}
    marks = _marks(body, key)
    figure = go.Figure(layout=layout(AXES[key], "", height=190 + 58 * len(labels)))
    for place, (name, values) in enumerate(marks.items()):
        grey = name in _AGAINST.values()
        known = {method: value for method, value in values.items() if value.mean is not None}
        offset = (place - (len(marks) - 1) / 2) * _APART
        figure.add_scatter(
            x=[value.mean for value in known.values()],
            y=[list(labels).index(method) + offset for method in known],
            error_x=error_bars(list(known.values())),
            mode="markers",
            name=name,
            marker={
                "color": GREY if grey else COLORS[place],
                "symbol": SYMBOLS[place],
                "size": 10,
            },
            hovertemplate="%{x:.4f}<extra>" + name + "</extra>",
        )
    low = min((value.mean or 0.0 for values in marks.values() for value in values.values()), default=0.0)
    figure.update_xaxes(range=[min(0.0, low) - 0.05, 1.05])
    name_rows(figure, list(labels.values()))
    rows = [
        {"compared": name, "method": method, **value.model_dump()}
        for name, values in marks.items()
        for method, value in values.items()
    ]
    title = _over(TITLES[key], body)
    return Chart(f"precision-{key.replace('_', '-')}", title, f"{title}. {verdict(body)}", figure, rows)


def moved(body: PrecisionData) -> Chart:
    """Return a chart of each text's change of logits over the lead of its predicted class; crosses change class."""
    figure = go.Figure(layout=layout("Lead of the predicted class in float32 (logits)", "Largest change of a logit"))
    rows: list[dict[str, Any]] = []
    for place, own in enumerate(body.formats):
        points = [
            {
                "dtype": own.dtype,
                "row": text.row,
                "margin": text.margin,
                "logits": read.logits,
                "predicted": read.predicted,
                "changed": read.predicted != text.predicted,
            }
            for text in body.texts
            for read in text.read
            if read.dtype == own.dtype and read.logits is not None
        ]
        figure.add_scatter(
            x=[point["margin"] for point in points],
            y=[point["logits"] for point in points],
            customdata=[point["row"] for point in points],
            mode="markers",
            name=own.dtype,
            marker={
                "color": COLORS[place],
                "symbol": ["x" if point["changed"] else SYMBOLS[place] for point in points],
                "size": 9,
            },
            hovertemplate="row %{customdata}: %{y:.2g}, lead %{x:.2g}<extra>" + own.dtype + "</extra>",
        )
        rows += points
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(rangemode="tozero")
    changed = sum(row["changed"] for row in rows)
    title = _over("How far logits move in half precision", body)
    notes = (f"Crossed: the {changed} predictions that change.",) if changed else ()
    return Chart("precision-logits", title, f"{title}. {verdict(body)}", figure, rows, notes)


def _over(title: str, body: Body) -> str:
    return f"{title}, over {body.n:,} texts" if isinstance(body, PrecisionData) and body.n > 1 else title


def _marks(body: Body, key: Kept) -> dict[str, dict[str, Interval]]:
    """Return the series of a chart by name, the number formats and then the controls, each by method."""
    marks: dict[str, dict[str, Interval]] = {}
    for row in body.rows:
        marks.setdefault(row.dtype, {})[row.method] = getattr(row, key)
    for own in body.controls:
        marks.setdefault(_AGAINST[own.against], {})[own.method] = getattr(own, key)
    return {name: values for name, values in marks.items() if any(own.mean is not None for own in values.values())}


def _kept(body: Body) -> list[Chart]:
    return [kept(body, key) for key in AXES if _marks(body, key)]


def _of_text(result: AnalysisResult[PrecisionText]) -> list[Chart]:
    return _kept(result.body)


def _of_data(result: AnalysisResult[PrecisionData]) -> list[Chart]:
    body = result.body
    read = any(own.logits is not None for text in body.texts for own in text.read)
    return [*_kept(body), *([moved(body)] if read else [])]


def _maps(result: AnalysisResult[PrecisionText]) -> Iterator[Map]:
    """Yield each method's map in float32 and in each number format, on one scale, with its highest scores framed."""
    body = result.body
    for own in body.methods:
        drawn = {
            made.dtype: _attribution(result.request, body, own, made.scores)
            for made in body.maps
            if made.method == own.method
        }
        scale = limit(list(drawn.values()))
        for dtype, attribution in drawn.items():
            yield Map(f"{own.label}, {dtype}", heatmap(attribution, scale=scale, top_k=TOP))


def _attribution(request: Request, body: PrecisionText, own: MethodFacts, scores: Sequence[float]) -> Attribution:
    settings = parse_spec(own.method).parameters.model_dump(mode="json") if own.id in methods() else {}
    return body.attribution(method_request(request, own.id, settings), scores, signed=own.signed)


FIGURES = StudyFigures(
    of_text=_of_text,
    of_data=_of_data,
    maps=_maps,
    none="No map can be compared: all scores are equal, or the logits are no finite numbers.",
)
