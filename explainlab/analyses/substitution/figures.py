"""Charts of attacks by near words: what they changed on average and text by text; maps before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.attack.figures import shares_of
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.substitution.analysis import MEASURES
from explainlab.analyses.substitution.result import SubstitutionData, SubstitutionText
from explainlab.analyses.substitution.verdict import data_verdict, text_verdict
from explainlab.attribution.registry import parse_method
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap, limit


def changed(body: SubstitutionText | SubstitutionData) -> Chart:
    """Every measure, a mark an objective, with its interval over texts."""
    figure = go.Figure(layout=layout("Mean change", "", height=160 + 50 * len(MEASURES)))
    for place, row in enumerate(body.rows):
        means = [getattr(row, key) for key in MEASURES]
        figure.add_scatter(
            x=[mean.mean for mean in means],
            y=list(MEASURES.values()),
            error_x=error_bars(means),
            mode="markers",
            name=row.objective,
            marker={"color": COLORS[place], "symbol": SYMBOLS[place], "size": 11},
            hovertemplate="%{y}: %{x:.4f}<extra>" + row.objective + "</extra>",
        )
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    figure.update_yaxes(type="category", autorange="reversed")
    rows = [
        {
            "objective": row.objective,
            "measure": name,
            **getattr(row, key).model_dump(),
            "failed": row.failed,
            "n": row.n,
        }
        for row in body.rows
        for key, name in MEASURES.items()
    ]
    finding = data_verdict(body) if isinstance(body, SubstitutionData) else text_verdict(body)
    title = f"What near words change in the map of {body.label}"
    return Chart("substitution-changes", title, f"{title}. {finding}", figure, rows)


def by_text(body: SubstitutionData) -> Chart:
    """The share taken from the top features over the change of the probability, a point a text and objective."""
    figure = go.Figure(layout=layout("|Probability Change|", "Top-k Sum Change"))
    rows: list[dict[str, Any]] = []
    for place, row in enumerate(body.rows):
        own = [
            {"objective": text.objective, "row": text.row, **text.measures.model_dump(), "failed": text.failed}
            for text in body.texts
            if text.objective == row.objective
        ]
        figure.add_scatter(
            x=[text["absolute_probability_change"] for text in own],
            y=[text["top_k_sum_change"] for text in own],
            customdata=[text["row"] for text in own],
            mode="markers",
            name=row.objective,
            marker={"color": COLORS[place], "symbol": SYMBOLS[place], "size": 9},
            hovertemplate="row %{customdata}: %{y:.3f}<extra>" + row.objective + "</extra>",
        )
        rows += own
    title = f"Near words against the map of {body.label}, text by text"
    return Chart("substitution-texts", title, f"{title}. {data_verdict(body)}", figure, rows)


def _text_charts(result: AnalysisResult[SubstitutionText]) -> list[Chart]:
    return [changed(result.body)] if result.body.texts else []


def _data_charts(result: AnalysisResult[SubstitutionData]) -> list[Chart]:
    return [changed(result.body), by_text(result.body)] if result.body.texts else []


def _heatmaps(result: AnalysisResult[SubstitutionText]) -> Iterator[Map]:
    """The map before the attacks and after each, as shares on one scale over the words before, the top ones framed."""
    body, k = result.body, len(result.body.original.listed)
    chosen = parse_method(body.method)
    settings = chosen.parameters.model_dump(mode="json")
    request = result.request.model_copy(update={"question": chosen.method, "parameters": settings})
    before = shares_of(body, request, body.original.scores)
    after = [shares_of(body, request, text.scores) for text in body.texts]
    scale = limit([before, *after])
    yield Map(f"{body.label} before the attack", heatmap(before, scale=scale, top_k=k))
    for text, attribution in zip(body.texts, after, strict=True):
        marks = {word.feature: f"replaced by {word.after}" for word in text.replaced}
        drawn = heatmap(attribution, scale=scale, conflicts=marks, mark="replaced by a near word", top_k=k)
        yield Map(f"{body.label} after the attack: {text.objective}", drawn)


FIGURES = StudyFigures(
    of_text=_text_charts,
    of_data=_data_charts,
    maps=_heatmaps,
    none="No text was attacked: each is too short for a top feature, or its map is 0 everywhere.",
)
