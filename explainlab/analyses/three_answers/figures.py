"""Charts of three answers: the ranks of the measures side by side, and how far each two answers agree."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.summary import spelled
from explainlab.analyses.three_answers.result import ANSWERS, Placed, ThreeAnswersData
from explainlab.analyses.three_answers.verdict import NAMES, SHORT, judged, pair_name, rank_words, tau_words
from explainlab.analyses.wording import capital
from explainlab.figures.chart import BLUE, GREY, Chart, color_symbols, error_bars, layout, name_rows, shown, wrapped
from explainlab.figures.declared import StudyFigures

_NARROW = 10
"""Characters in a line of an answer's name."""
_SPREAD = 0.3
"""The distance between the outer points of the measures at one answer."""


def ranks(body: ThreeAnswersData) -> Chart:
    """Draw the rank of each measure by each answer with its interval, joined by a line a measure; 1 is the best.

    Random words are grey and dashed.
    """
    names = [fact.name for fact in body.measures]
    styles = color_symbols(names, RANDOM)
    figure = go.Figure(layout=layout("", "Rank", height=150 + 56 * len(names)))
    for number, fact in enumerate(body.measures):
        own = [place for place in body.places if place.measure == fact.name]
        color, symbol = styles[fact.name]
        shift = _SPREAD * (number / (len(names) - 1) - 0.5)
        figure.add_scatter(
            x=[ANSWERS.index(place.answer) + shift for place in own],
            y=[place.rank.mean for place in own],
            error_y=error_bars([place.rank for place in own]),
            mode="lines+markers",
            name=shown(fact.label),
            line={"color": color, "width": 2, "dash": "dash" if fact.random else "solid"},
            marker={"color": color, "symbol": symbol, "size": 11},
            customdata=[
                shown(f"{fact.label}, {NAMES[place.answer]}: {spelled(place)}, rank {rank_words(place.rank)}")
                for place in own
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    ticks = [wrapped(capital(SHORT[answer]), _NARROW) for answer in ANSWERS]
    places = list(range(len(ANSWERS)))
    figure.update_xaxes(tickvals=places, ticktext=ticks, tickangle=0, range=[-0.4, 2.4], showgrid=False)
    figure.update_yaxes(range=[len(names) + 0.4, 0.6], dtick=1)
    title = f"Ranks of {len(names)} measures by three answers"
    told = "; ".join(f"tau {tau_words(tau)} between {pair_name(tau)}" for tau in body.taus)
    notes = (
        f"Plain and masked model: erasure by {body.erasure_label}, over {body.n:,} test texts. Bars: 95% intervals of "
        "the ranks over resampled texts and seeds.",
    )
    rows = [_row(place) for place in body.places]
    return Chart("ranks", title, f"{title}. Kendall's {told}.", figure, rows, notes)


def agreement(body: ThreeAnswersData) -> Chart:
    """Draw Kendall's tau of each pair of answers with its interval; a mark is open if its interval holds 0."""
    figure = go.Figure(layout=layout("Kendall's tau", "", height=110 + 56 * len(body.taus)))
    figure.add_vline(x=0, line={"color": GREY, "width": 1.5, "dash": "dash"})
    apart = [judged(tau) in ("alike", "opposite") for tau in body.taus]
    figure.add_scatter(
        x=[tau.mean for tau in body.taus],
        y=list(range(len(body.taus))),
        error_x=error_bars(body.taus),
        mode="markers",
        marker={
            "color": BLUE,
            "size": 12,
            "symbol": ["circle" if own else "circle-open" for own in apart],
            "line": {"width": 2, "color": BLUE},
        },
        customdata=[shown(f"{capital(pair_name(tau))}: {tau_words(tau)}") for tau in body.taus],
        hovertemplate="%{customdata}<extra></extra>",
    )
    name_rows(figure, [capital(f"{SHORT[tau.first]} and {SHORT[tau.second]}") for tau in body.taus])
    figure.update_xaxes(range=[-1.08, 1.08])
    title = "Kendall's tau of each two answers"
    told = "; ".join(f"{pair_name(tau)} {tau_words(tau)}" for tau in body.taus)
    rows = [{**tau.model_dump(), "judged": judged(tau)} for tau in body.taus]
    notes = ("1: the same order; −1: the opposite one. Filled: the interval does not hold 0.",)
    return Chart("agreement", title, f"{title}: {told}.", figure, rows, notes)


def _row(place: Placed) -> dict[str, Any]:
    row = place.model_dump(exclude={"rank"})
    return row | {"rank": place.rank.mean, "rank_low": place.rank.low, "rank_high": place.rank.high}


def _charts(result: AnalysisResult[ThreeAnswersData]) -> list[Chart]:
    return [ranks(result.body), agreement(result.body)]


FIGURES = StudyFigures(of_data=_charts)
