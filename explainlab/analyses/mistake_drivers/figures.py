"""Charts of the words, and the pairs of words, that drive a model's mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.mistake_drivers.result import Driver, MistakeDriversData, folded
from explainlab.analyses.records import Interval
from explainlab.figures.chart import BLUE, GREY, RED, Chart, error_bars, layout, shortened, shown
from explainlab.figures.declared import StudyFigures

Kind = Literal["words", "pairs"]

SHOWN = 20
UNCLEAR = "None of these is clear: they occur in few rows, or their scores are not clearly above zero."
_LONGEST = 36  # characters of a word, or a pair, beside its dots


def drivers(body: MistakeDriversData, kind: Kind, hide_function_words: bool = False) -> Chart:
    """Draw the words or pairs that clearly push toward the wrong class: mean scores in wrong and in correct rows.

    Drawn are the first that are not :func:`folded`, with their intervals; if all are, the first of all, and a note. The
    numbers behind the chart are of all. ``customdata`` of every dot is its place in ``body.words`` or ``body.pairs``. A
    dot without an interval is open.
    """
    listed = drivers_of(body, kind)
    clear = places(body, kind, hide_function_words)
    kept = clear or list(range(len(listed)))
    drawn = kept[:SHOWN]
    names = [_name(listed[i]) for i in drawn]
    figure = go.Figure(layout=layout("Mean score", "", height=150 + 30 * len(drawn)))
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    _add_dots(figure, "Correct rows", {i: listed[i].right_interval for i in drawn}, "diamond", BLUE, 0.16)
    _add_dots(figure, "Wrong rows", {i: listed[i].wrong_interval for i in drawn}, "circle", RED, -0.16)
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5])
    title = f"{'Words' if kind == 'words' else 'Pairs'} that push toward the wrong class"
    first = f" First: {listed[drawn[0]].name}, toward {listed[drawn[0]].predicted}." if drawn else " There are none."
    alt = f"{title}, in {body.n_wrong:,} misclassified rows.{first}"
    notes = [UNCLEAR] if drawn and not clear else []
    if len(kept) > len(drawn):
        notes.append(f"The first {len(drawn)} of {len(kept)} are drawn; the table has all.")
    return Chart(f"driving-{kind}", title, alt, figure, _table(listed), tuple(notes))


def places(body: MistakeDriversData, kind: Kind, hide_function_words: bool = False) -> list[int]:
    """Return the indices of ``body.words`` or ``body.pairs`` that are not :func:`folded`."""
    return [i for i, driver in enumerate(drivers_of(body, kind)) if not folded(driver, hide_function_words)]


def drivers_of(body: MistakeDriversData, kind: Kind) -> Sequence[Driver]:
    """Return the words, or the pairs, of ``body``."""
    return body.words if kind == "words" else body.pairs


def _add_dots(
    figure: go.Figure, name: str, values: Mapping[int, Interval], symbol: str, color: str, beside: float
) -> None:
    """Draw a dot for each mean in ``values``, ``beside`` its line, so that no interval hides another."""
    known = {i: (line, value) for line, (i, value) in enumerate(values.items()) if value.mean is not None}
    bars = error_bars([value for _, value in known.values()])
    figure.add_scatter(
        x=[value.mean for _, value in known.values()],
        y=[line + beside for line, _ in known.values()],
        error_x=bars and {**bars, "width": 0},
        mode="markers",
        name=name,
        marker={
            "color": color,
            "symbol": [symbol if value.low is not None else f"{symbol}-open" for _, value in known.values()],
            "size": 9,
        },
        customdata=list(known),
        hovertemplate="%{x:+.4f}<extra>" + name + "</extra>",
    )


def _name(driver: Driver) -> str:
    """Return ``words → class (rows)``."""
    return shown(f"{shortened(driver.name, _LONGEST)} → {driver.predicted} ({driver.rows:,})")


def _table(listed: Sequence[Driver]) -> list[dict[str, Any]]:
    names = ("predicted", "rows", "mean", "low", "high", "right_mean", "right_low", "right_high", "right_rows")
    return [{"words": driver.name, **{name: getattr(driver, name) for name in names}} for driver in listed]


def _of_data(result: AnalysisResult[MistakeDriversData]) -> list[Chart]:
    kinds: tuple[Kind, ...] = ("words", "pairs")
    return [drivers(result.body, kind) for kind in kinds if drivers_of(result.body, kind)]


FIGURES = StudyFigures(of_data=_of_data, none="No word speaks for a wrong class.")
