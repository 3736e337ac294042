"""Charts of the share of masked texts that differ from training texts, by masking ratio: a line for each baseline."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.masked_distribution.result import LEVEL, NAMES, MaskedDistributionData, verdict
from explainlab.figures.chart import COLORS, GREY, SYMBOLS, Chart, error_bars, layout
from explainlab.figures.declared import StudyFigures

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def told_apart(body: MaskedDistributionData) -> Chart:
    """Draw a line for each baseline with Wilson's intervals, from whole texts on, beside chance and shuffled texts."""
    figure = go.Figure(layout=layout("Masked share of a text's tokens", "Texts told apart"))
    rows: list[dict[str, Any]] = []
    for place, own in enumerate(body.baselines):
        points = [(0, body.whole), *((at.ratio, at) for at in own.ratios)]
        figure.add_scatter(
            x=[ratio / 100 for ratio, _ in points],
            y=[at.mean for _, at in points],
            error_y=error_bars([at for _, at in points]),
            mode="lines+markers",
            name=NAMES[own.baseline],
            line={"color": COLORS[place], "dash": DASHES[place], "width": 2},
            marker={"symbol": SYMBOLS[place], "size": 9},
            hovertemplate="%{x:.0%} masked: %{y:.1%}<extra>" + NAMES[own.baseline] + "</extra>",
        )
        rows += [{"baseline": own.baseline, **at.model_dump()} for at in own.ratios]
    for name, value, dash in (("by chance", LEVEL, "dot"), ("shuffled, without masks", body.shuffled.mean, "dash")):
        figure.add_scatter(
            x=[0, 1],
            y=[value, value],
            mode="lines",
            name=name,
            line={"color": GREY, "dash": dash, "width": 1.5},
            hovertemplate="%{y:.1%}<extra>" + name + "</extra>",
        )
    rows += [
        {"baseline": name, **at.model_dump(), "ratio": 0}
        for name, at in (("as reference", body.alike), ("none", body.whole), ("shuffled", body.shuffled))
    ]
    figure.update_xaxes(tickformat=".0%", range=[-0.02, 1.02])
    figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.05])
    title = f"Masked texts that the check tells apart from training texts, over {body.n:,} texts"
    return Chart("masked-distribution", title, f"{title}. {verdict(body)}", figure, rows)


def _of_data(result: AnalysisResult[MaskedDistributionData]) -> list[Chart]:
    return [told_apart(result.body)]


FIGURES = StudyFigures(of_data=_of_data)
