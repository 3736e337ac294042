"""The accuracy as features are masked, for one draw; and over all draws, how often each order is right."""

from __future__ import annotations

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.synthetic_roar.result import INFORMATIVE, LABELS, Draw, SyntheticRoarData
from explainlab.analyses.wording import interval_words
from explainlab.figures.chart import BLUE, COLORS, GREY, SYMBOLS, Chart, error_bars, layout
from explainlab.figures.declared import StudyFigures

_DASHES = ("dot", "dash", "solid", "longdash")


def shown_draw(body: SyntheticRoarData) -> int:
    """Return the index of the first draw in which ROAR and Recursive ROAR differ in findings, else in accuracy."""
    for part in ("found", "accuracies"):
        for place, draw in enumerate(body.draws):
            if getattr(draw, part)["roar"] != getattr(draw, part)["recursive_roar"]:
                return place
    return 0


def curves(body: SyntheticRoarData, place: int | None = None) -> Chart:
    """Draw the accuracy of each order against the number of masked features, for the draw at this ``place``.

    Without a ``place`` it is that of :func:`shown_draw`. Raises :class:`IndexError` for a place without a draw.
    """
    draw = body.draws[shown_draw(body) if place is None else place]
    figure = go.Figure(layout=layout("Features masked", "Accuracy on the test rows"))
    rows = []
    for number, (order, label) in enumerate(LABELS.items()):
        accuracies, masked = draw.accuracies[order], ["none", *map(_name, draw.orders[order])]
        figure.add_scatter(
            x=list(range(len(accuracies))),
            y=accuracies,
            mode="lines+markers",
            name=label,
            text=masked,
            hovertemplate="%{x} masked, the last: %{text}<br>accuracy %{y:.1%}",
            line={"color": COLORS[number], "width": 2, "dash": _DASHES[number]},
            marker={"symbol": SYMBOLS[number], "size": 8},
        )
        rows += [
            {"seed": draw.seed, "order": label, "masked": n, "last_masked": last, "accuracy": accuracy}
            for n, (last, accuracy) in enumerate(zip(masked, accuracies, strict=True))
        ]
    figure.add_vline(x=INFORMATIVE, line={"color": GREY, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(tickformat=".0%")
    figure.update_xaxes(dtick=INFORMATIVE)
    title = f"Accuracy by the number of masked features, seed {draw.seed}"
    return Chart("synthetic-curves", title, f"{title}: {_told(draw)}.", figure, rows)


def shares(body: SyntheticRoarData) -> Chart:
    """Draw the share of draws in which each order masks the informative features first, with Wilson's intervals."""
    figure = go.Figure(layout=layout("Share of draws", "", height=240))
    figure.add_scatter(
        x=[share.mean for share in body.shares],
        y=[LABELS[share.order] for share in body.shares],
        error_x=error_bars(body.shares),
        mode="markers",
        marker={"color": BLUE, "size": 10},
    )
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(type="category", autorange="reversed")
    told = "; ".join(
        f"{LABELS[share.order]} {share.found} of {share.draws} ({interval_words(share, '.0%')})"
        for share in body.shares
    )
    title = "Draws in which the informative features are masked first"
    rows = [{**share.model_dump(mode="json"), "order": LABELS[share.order]} for share in body.shares]
    return Chart("synthetic-shares", title, f"{title}: {told}.", figure, rows)


def _name(feature: int) -> str:
    return f"feature {feature + 1}, {'informative' if feature < INFORMATIVE else 'not informative'}"


def _told(draw: Draw) -> str:
    """Return the accuracy of each order once as many features are masked as are informative."""
    parts = [f"{label} {draw.accuracies[order][INFORMATIVE]:.1%}" for order, label in LABELS.items()]
    return f"with {INFORMATIVE} masked {', '.join(parts)}"


def _charts(result: AnalysisResult[SyntheticRoarData]) -> list[Chart]:
    return [curves(result.body), shares(result.body)]


FIGURES = StudyFigures(of_data=_charts)
