"""Charts of attacks by near words: changes on average and text by text; maps before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.attack.figures import shares_of
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.substitution.analysis import MEASURES
from explainlab.analyses.substitution.result import (
    ReplacedWord,
    SubstitutedText,
    SubstitutionData,
    SubstitutionText,
    data_verdict,
    text_verdict,
)
from explainlab.analyses.wording import joined
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import parse_spec
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout
from explainlab.figures.declared import Map, StudyFigures
from explainlab.figures.heatmap import heatmap, limit
from explainlab.request import Request


def changed(body: SubstitutionText | SubstitutionData) -> Chart:
    """Draw every measure, a mark an objective, with its interval over texts."""
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
    """Draw the share taken from the top features over the change of the probability, a point a text and objective."""
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
    """Yield the text before and after each attack, as shares on one scale, with a mark on replaced words.

    Attacks with the same end share one map. The top features are framed.
    """
    body, k = result.body, len(result.body.original.listed)
    chosen = parse_spec(body.method)
    settings = chosen.parameters.model_dump(mode="json")
    request = result.request.model_copy(update={"question": chosen.method, "parameters": settings})
    before = shares_of(body, request, body.original.scores)
    if not body.texts:
        yield Map(body.label, heatmap(before, top_k=k))
    ends = _ends(body)
    after = [_after(body, text, request) for text in ends.values()]
    scale = limit([before, *after])
    for (objectives, text), attribution in zip(ends.items(), after, strict=True):
        probability = body.prediction.probabilities[body.prediction.label]
        old, new = f"{probability:.1%}", f"{probability - text.measures.probability_change:.1%}"
        marks = _marks(text, lambda word: f"gives way to {word.after}")
        drawn = heatmap(before, scale=scale, conflicts=marks, mark="a near word takes its place", top_k=k)
        yield Map(f"Before ({objectives}): {body.prediction.label} {old}", drawn)
        marks = _marks(text, lambda word: f"in place of {word.before}")
        drawn = heatmap(attribution, scale=scale, conflicts=marks, mark="a near word, put in", top_k=k)
        yield Map(f"After ({objectives}): {body.prediction.label} {new}", drawn)


def _ends(body: SubstitutionText) -> dict[str, SubstitutedText]:
    """Return the final texts of the attacks, each once, by their objectives."""
    ends: dict[tuple[str, str | None], list[SubstitutedText]] = {}
    for text in body.texts:
        ends.setdefault((text.text, text.text_pair), []).append(text)
    return {joined([text.objective for text in same]): same[0] for same in ends.values()}


def _marks(text: SubstitutedText, words: Callable[[ReplacedWord], str]) -> dict[int, str]:
    """Return a remark for each feature in which an attack replaced a word."""
    by_feature: dict[int, list[str]] = {}
    for word in text.replaced:
        by_feature.setdefault(word.feature, []).append(words(word))
    return {feature: joined(each) for feature, each in by_feature.items()}


def _after(body: SubstitutionText, text: SubstitutedText, request: Request) -> Attribution:
    """Return the map of the text with its near words, each feature at its place after the replacements."""
    parts, moved = (text.text, text.text_pair or ""), [0, 0]
    grown = Counter[int]()
    for word in text.replaced:
        grown[word.feature] += len(word.after) - len(word.before)
    features = []
    for place, feature in enumerate(body.features):
        if not feature.special:
            start, end = feature.start + moved[feature.part], feature.end + moved[feature.part] + grown[place]
            moved[feature.part] += grown[place]
            feature = replace(feature, text=parts[feature.part][start:end], start=start, end=end)
        features.append(feature)
    ended = body.model_copy(update={"features": features})
    asked = request.model_copy(update={"text": text.text, "text_pair": text.text_pair})
    return shares_of(ended, asked, text.scores)


FIGURES = StudyFigures(
    of_text=_text_charts,
    of_data=_data_charts,
    maps=_heatmaps,
    none="No text was attacked: each is too short for a top feature, or its map is 0 everywhere.",
)
