"""Figures of the agreement between methods on the order of a text's features, and on the signs of important ones."""

from __future__ import annotations

from typing import Any

from explainlab.analyses.evaluation.result import Agreement, EvaluationData
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.wording import counted, mean_words
from explainlab.figures.chart import Chart, percent
from explainlab.figures.matrix import Cell, Matrix

CONFLICT = "≠"
"""Begins the share of sign conflicts, as on heatmaps of tokens."""
_NOTE = (
    "Kendall's tau of the features' scores, mean over texts: 1 is the same order, 0 none in common, −1 the opposite. "
    f"{CONFLICT}: the share of the features important to both whose signs differ, where both methods have signs."
)


def agreement_matrix(body: EvaluationData) -> Chart:
    """Draw Kendall's tau of every two methods with their sign conflicts; the columns are numbered like the rows."""
    title = f"How far the methods agree: Kendall's tau, {counted(body.n, 'text')}"
    rows = [
        {
            "first": pair.first,
            "second": pair.second,
            **{f"tau_{name}": value for name, value in pair.tau.model_dump().items()},
            **{f"sign_conflicts_{name}": value for name, value in _conflicts(pair).items()},
        }
        for pair in body.agreement
    ]
    return Chart("agreement", title, _finding(title, body), _matrix(body).figure(), rows, (_NOTE,))


def agreement_cells(body: EvaluationData, first: str = "", second: str = "", dark: bool = False) -> dict[str, Any]:
    """Return the matrix as cells that can be pressed, a Vega-Lite specification with its data.

    A press selects ``{"first", "second"}`` under :data:`explainlab.figures.matrix.CELL`: the methods of the row and of
    the column, in either order and also the same one twice. The cell of ``first`` and ``second`` is framed. The result
    must have agreements.
    """
    return _matrix(body).pressable({"first": first, "second": second}, dark)


def pair_of(body: EvaluationData, first: str, second: str) -> Agreement | None:
    """Return the agreement of two methods, in either order; None if there is none."""
    return next((pair for pair in body.agreement if {pair.first, pair.second} == {first, second}), None)


def _matrix(body: EvaluationData) -> Matrix:
    methods = list(dict.fromkeys(name for pair in body.agreement for name in (pair.first, pair.second)))
    pairs = {(pair.first, pair.second): pair for pair in body.agreement}
    pairs |= {(pair.second, pair.first): pair for pair in body.agreement}
    cells = [
        _cell(i, j, first, second, pairs.get((first, second)))
        for i, first in enumerate(methods)
        for j, second in enumerate(methods)
    ]
    numbered = [f"{shown_name(name)}  {i}" for i, name in enumerate(methods, 1)]
    return Matrix(numbered, [str(i) for i in range(1, len(methods) + 1)], cells, len(methods))


def _cell(row: int, column: int, first: str, second: str, pair: Agreement | None) -> Cell:
    key = {"first": first, "second": second}
    if pair is None:
        return Cell(row, column, key, None, ("",), f"{shown_name(first)} with itself")
    names = f"{shown_name(first)} and {shown_name(second)}"
    if pair.tau.mean is None:
        return Cell(row, column, key, None, ("–",), f"{names}: tau is not defined for any text")
    lines, words = (
        [_written(pair.tau.mean)],
        [f"{names}: tau {mean_words(pair.tau)}, n = {pair.tau.n:,}"],
    )
    if pair.sign_conflicts is not None and pair.sign_conflicts.mean is not None:
        lines.append(f"{CONFLICT} {percent(pair.sign_conflicts.mean)}")
        words.append(f"signs differ for {percent(pair.sign_conflicts.mean)} of the features important to both")
    return Cell(row, column, key, pair.tau.mean, tuple(lines), "; ".join(words))


def _conflicts(pair: Agreement) -> dict[str, float | int | None]:
    if pair.sign_conflicts is None:
        return {"mean": None, "low": None, "high": None, "n": None}
    return pair.sign_conflicts.model_dump()


def _finding(title: str, body: EvaluationData) -> str:
    known = [(pair.tau.mean, pair) for pair in body.agreement if pair.tau.mean is not None]
    if not known:
        return f"{title}. None is defined."
    ends = (max(known, key=lambda each: each[0]), min(known, key=lambda each: each[0]))
    near, apart = (f"{shown_name(pair.first)} and {shown_name(pair.second)}, {_written(tau)}" for tau, pair in ends)
    return f"{title}. Highest: {near}; lowest: {apart}."


def _written(tau: float) -> str:
    return f"{tau:z.2f}".replace("-", "−")
