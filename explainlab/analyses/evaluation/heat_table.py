"""The heat table: methods by metrics, coloured from random to the best of each metric."""

from __future__ import annotations

import textwrap
from typing import Any

from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.evaluation.table import MetricTable, average_rank, table_of
from explainlab.analyses.evaluation.truth import TITLES, Kind
from explainlab.analyses.evaluation.verdict import left_out, shown_name
from explainlab.analyses.wording import counted
from explainlab.figures.chart import Chart
from explainlab.figures.matrix import WORSE, Cell, Matrix

_NOTE = (
    f"Colours run from random (none) to the best method of each metric (full blue); red and {WORSE}: worse than random."
)
_HEADING = 18  # characters of a line


def heat_table(body: EvaluationData, kind: Kind = "faithfulness") -> Chart:
    """Draw the table as a chart to keep: means with intervals, methods by average rank, controls apart at the end."""
    table = table_of(body, kind)
    title = f"{TITLES[kind]}: means of {counted(body.n, 'text')} with 95% intervals"
    notes = [_NOTE, *_absences(table, body)]
    figure = _matrix(table, body).figure()
    return Chart(f"table-{kind}", title, _finding(title, table), figure, _rows(table, body), tuple(notes))


def heat_cells(
    body: EvaluationData, kind: Kind = "faithfulness", method: str = "", metric: str = "", dark: bool = False
) -> dict[str, Any]:
    """Return the table as cells that can be pressed, a Vega-Lite specification with its data.

    A press selects ``{"method", "metric"}`` (the metric's name ``asked``) under :data:`explainlab.figures.matrix.CELL`.
    The cell of ``method`` and ``metric`` is framed.
    """
    return _matrix(table_of(body, kind), body).pressable({"method": method, "metric": metric}, dark)


def _matrix(table: MetricTable, body: EvaluationData) -> Matrix:
    listed = [*table.methods, None, *table.controls]
    cells = [
        Cell(
            row=i,
            column=j,
            key={"method": method, "metric": metric},
            share=table.share(method, metric),
            lines=_words(table, table.cells[method, metric]),
            hover=_hover(table, table.cells[method, metric], body),
        )
        for i, method in enumerate(listed)
        for j, metric in enumerate(table.metrics)
        if method is not None
    ]
    names = ["Controls" if method is None else shown_name(method) for method in listed]
    return Matrix(names, [_heading(table, facts, body) for facts in table.metrics.values()], cells, len(table.methods))


def _heading(table: MetricTable, facts: MethodMetric, body: EvaluationData) -> str:
    """Return the metric with its preset and its arrow; below, the number of texts where these are not all."""
    *words, arrow = facts.directed_label.split(" ")
    lines = textwrap.wrap(f"{' '.join(words)}\u00a0{arrow}", _HEADING)
    n = table.shared_n(facts.asked)
    return "\n".join(lines if n in (None, body.n) else [*lines, f"n = {n:,}"])


def _words(table: MetricTable, row: MethodMetric) -> tuple[str, ...]:
    """Return the mean, its interval, and the number of its texts where the column's differ."""
    worse = f" {WORSE}" if (table.share(row.method, row.asked) or 0.0) < 0 else ""
    n = f"n = {row.n:,}" if table.shared_n(row.asked) is None else ""
    return tuple(filter(None, (table.written(row.mean, row.asked) + worse, table.between(row), n)))


def _hover(table: MetricTable, row: MethodMetric, body: EvaluationData) -> str:
    name = f"{shown_name(row.method)}, {row.directed_label}"
    if row.mean is None:
        return f"{name}: no value, {body.rationales or 'as it is not defined for any of these texts'}"
    words = [f"{name}: {table.written(row.mean, row.asked)}"]
    words += [f"95% interval {table.between(row)}"] if row.low is not None else []
    words += [f"n = {row.n:,}"]
    if (table.share(row.method, row.asked) or 0.0) < 0:
        words.append("worse than random")
    if row.told_apart is not None:
        words.append("told apart from the best" if row.told_apart else "not told apart from the best")
    elif table.best[row.asked] is row:
        words.append("the best")
    return "; ".join(words)


def _finding(title: str, table: MetricTable) -> str:
    best = [cell for metric in table.metrics if (cell := table.best[metric]) is not None]
    words = "; ".join(
        f"{cell.label}: {shown_name(cell.method)}, {table.written(cell.mean, cell.asked)}" for cell in best
    )
    return f"{title}. Best by {words}." if words else f"{title}. No method has a value."


def _absences(table: MetricTable, body: EvaluationData) -> list[str]:
    """Return the reasons why cells stand on fewer texts than the others, or on none."""
    if not any(row.undefined for row in table.cells.values()):
        return []
    reasons = f": {body.rationales}" if body.rationales is not None and str(body.rationales) else ""
    return [f"n: the texts for which the metric is defined, of {body.n:,}{reasons}.", *left_out(body, [*table.metrics])]


def _rows(table: MetricTable, body: EvaluationData) -> list[dict[str, Any]]:
    keys = [facts.key for facts in table.metrics.values()]
    return [
        {
            "method": method,
            "metric": metric,
            "kind": table.kind,
            "higher_is_better": facts.higher_is_better,
            **row.interval.model_dump(),
            "n": row.n,
            "undefined": row.undefined,
            "from_random": table.share(method, metric),
            "told_apart": row.told_apart,
            "average_rank": average_rank(body, method, keys),
        }
        for method in [*table.methods, *table.controls]
        for metric, facts in table.metrics.items()
        for row in [table.cells[method, metric]]
    ]
