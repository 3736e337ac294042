"""Charts of the words, and the pairs of words, that drive a model's mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.mistake_drivers.result import Driver, MistakeDriversData
from explainlab.analyses.records import Interval
from explainlab.figures.chart import BLUE, GREY, RED, Chart, error_bars, layout, shown
from explainlab.figures.declared import StudyFigures

Kind = Literal["words", "pairs"]

SHOWN = 20
_LONGEST = 36  # characters of a word, or a pair, beside its dots


def drivers(body: MistakeDriversData, kind: Kind) -> Chart:
    """The first words or pairs toward the wrong class: mean scores in wrong rows and in correct ones, with intervals.

    ``customdata`` of every dot is its place in ``body.words`` or ``body.pairs``. A dot without an interval is open.
    """
    listed = drivers_of(body, kind)
    drawn = listed[:SHOWN]
    names = [_name(driver) for driver in drawn]
    figure = go.Figure(layout=layout("Mean score", "", height=150 + 30 * len(drawn)))
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    _add_dots(figure, "Correct rows", [driver.right_interval for driver in drawn], "diamond", BLUE, 0.16)
    _add_dots(figure, "Wrong rows", [driver.wrong_interval for driver in drawn], "circle", RED, -0.16)
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5])
    title = f"{'Words' if kind == 'words' else 'Pairs'} that push toward the wrong class"
    first = f" First: {drawn[0].name}, toward {drawn[0].predicted}." if drawn else " There are none."
    alt = f"{title}, in {body.n_wrong:,} misclassified rows.{first}"
    return Chart(f"driving-{kind}", title, alt, figure, _table(listed), _notes(drawn, listed))


def drivers_of(body: MistakeDriversData, kind: Kind) -> Sequence[Driver]:
    """The words, or the pairs, of ``body``."""
    return body.words if kind == "words" else body.pairs


def _add_dots(figure: go.Figure, name: str, values: Sequence[Interval], symbol: str, color: str, beside: float) -> None:
    """A dot for every mean there is, so far ``beside`` its line that no interval hides another."""
    known = [i for i, value in enumerate(values) if value.mean is not None]
    bars = error_bars([values[i] for i in known])
    figure.add_scatter(
        x=[values[i].mean for i in known],
        y=[i + beside for i in known],
        error_x=bars and {**bars, "width": 0},
        mode="markers",
        name=name,
        marker={
            "color": color,
            "symbol": [symbol if values[i].low is not None else f"{symbol}-open" for i in known],
            "size": 9,
        },
        customdata=known,
        hovertemplate="%{x:+.4f}<extra>" + name + "</extra>",
    )


def _name(driver: Driver) -> str:
    """``words → class (rows)``."""
    words = driver.name if len(driver.name) <= _LONGEST else driver.name[: _LONGEST - 1] + "…"
    return shown(f"{words} → {driver.predicted} ({driver.rows:,})")


def _notes(drawn: Sequence[Driver], listed: Sequence[Driver]) -> tuple[str, ...]:
    notes = []
    if any(driver.once for driver in drawn):
        notes.append("Open circles occur in one row only: they have no interval and may be chance.")
    if len(listed) > len(drawn):
        notes.append(f"Drawn are the first {len(drawn)} of {len(listed)}; the table has all.")
    return tuple(notes)


def _table(listed: Sequence[Driver]) -> list[dict[str, Any]]:
    names = ("predicted", "rows", "mean", "low", "high", "right_mean", "right_low", "right_high", "right_rows")
    return [{"words": driver.name, **{name: getattr(driver, name) for name in names}} for driver in listed]


def _of_data(result: AnalysisResult[MistakeDriversData]) -> list[Chart]:
    kinds: tuple[Kind, ...] = ("words", "pairs")
    return [drivers(result.body, kind) for kind in kinds if drivers_of(result.body, kind)]


FIGURES = StudyFigures(of_data=_of_data, none="No word speaks for a wrong class.")
