"""Methods by axioms, each cell an answer with its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explainlab.analyses.axioms.analysis import answer_words
from explainlab.analyses.axioms.result import AxiomsData, AxiomsText, Checked
from explainlab.analyses.base import AnalysisResult
from explainlab.attribution.registry import label_of
from explainlab.figures.chart import Chart
from explainlab.figures.declared import StudyFigures
from explainlab.figures.matrix import Cell, Matrix


def answers(rows: Sequence[Checked], title: str) -> Chart:
    """Draw methods by axioms: a blue cell passes, a red one fails, a clear one has no answer."""
    told = "; ".join(f"{label_of(row.method)}, {row.axiom.replace('_', ' ')}: {answer_words(row)}" for row in rows)
    return Chart("axioms", title, f"{title}: {told}.", _matrix(rows).figure(), [row.model_dump() for row in rows])


def answer_cells(rows: Sequence[Checked], method: str = "", axiom: str = "", dark: bool = False) -> dict[str, Any]:
    """Return the same table as cells to press: see :meth:`explainlab.figures.matrix.Matrix.pressable`.

    A press selects ``{"method", "axiom"}``; the cell of ``method`` and ``axiom`` is framed.
    """
    return _matrix(rows).pressable({"method": method, "axiom": axiom}, dark)


def _matrix(rows: Sequence[Checked]) -> Matrix:
    methods = list(dict.fromkeys(row.method for row in rows))
    axioms = list(dict.fromkeys(row.axiom for row in rows))
    cells = [
        Cell(
            row=methods.index(row.method),
            column=axioms.index(row.axiom),
            share=None if row.passed is None else 1.0 if row.passed else -1.0,
            lines=(answer_words(row), "–" if row.value is None else f"{row.value:.2g}"),
            hover=row.why,
            key={"method": row.method, "axiom": row.axiom},
        )
        for row in rows
    ]
    names = [axiom.replace("_", "\n") for axiom in axioms]
    return Matrix([label_of(method) for method in methods], names, cells, len(methods))


def _of_text(result: AnalysisResult[AxiomsText]) -> list[Chart]:
    return [answers(result.body.rows, "Axioms by method")]


def _of_data(result: AnalysisResult[AxiomsData]) -> list[Chart]:
    return [answers(result.body.rows, f"Axioms by method over {result.body.n:,} texts")]


FIGURES = StudyFigures(of_text=_of_text, of_data=_of_data)
