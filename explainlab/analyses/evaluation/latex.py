"""The table of methods by metrics for a paper: LaTeX that compiles alone, or is copied from ``\\begin{table}`` on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import TITLES, EvaluationData, MethodMetric
from explainlab.analyses.evaluation.table import MetricTable, kinds_of, table_of
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.wording import counted
from explainlab.figures.latex import RULE, document, escaped, measured, stacked, table_of_rows

MOST_COLUMNS = 5
"""Metrics of a table; more go into tables of their own."""


def latex(result: AnalysisResult[EvaluationData], data: str | None = None) -> str:
    """Return a standalone document with ``booktabs``: means with half the width of their 95% intervals.

    ``data`` is the name of the data set (None: as in the request). The best of each metric is bold, and what is not
    told apart from it underlined. Metrics that compare with rationales have tables of their own, and so have more than
    five metrics.
    """
    model, data = result.request.model, data or result.request.data or "given"
    parts = [part for kind in kinds_of(result.body) for part in _parts(table_of(result.body, kind))]
    return document(_table(table, metrics, model, data) for table, metrics in parts)


def _parts(table: MetricTable) -> Iterator[tuple[MetricTable, list[MethodMetric]]]:
    """Yield the table for each few of its metrics."""
    metrics = list(table.metrics.values())
    for start in range(0, len(metrics), MOST_COLUMNS):
        yield table, metrics[start : start + MOST_COLUMNS]


def _table(table: MetricTable, metrics: Sequence[MethodMetric], model: str, data: str) -> str:
    rows = [_row(table, method, metrics) for method in [*table.methods, *table.controls]]
    headings = ["Method", *map(_heading, metrics)]
    return table_of_rows(_caption(table, metrics, model, data), "l" + "c" * len(metrics), headings, rows)


def _row(table: MetricTable, method: str, metrics: Sequence[MethodMetric]) -> list[str]:
    above = RULE if table.methods and [method] == table.controls[:1] else ""
    return [above + escaped(shown_name(method)), *(_cell(table, table.cells[method, facts.asked]) for facts in metrics)]


def _cell(table: MetricTable, row: MethodMetric) -> str:
    if row.mean is None:
        return "--"
    half = "" if row.low is None or row.high is None else table.written((row.high - row.low) / 2, row.asked)
    number = measured(table.written(row.mean, row.asked), half, table.best[row.asked] == row)
    return rf"\underline{{{number}}}" if row.told_apart is False else number


def _heading(facts: MethodMetric) -> str:
    """Return the metric over its preset, with the arrow that says which way is better."""
    name, *preset = facts.directed_label.rsplit(" (", 1)
    return stacked([name, *(f"({rest}" for rest in preset)])


def _caption(table: MetricTable, metrics: Sequence[MethodMetric], model: str, data: str) -> str:
    counts = {table.cells[key].n for key in table.cells}
    presets = ", ".join(dict.fromkeys(facts.preset for facts in metrics if facts.preset))
    texts = counted(max(counts), "text") if len(counts) == 1 else f"{min(counts):,} to {counted(max(counts), 'text')}"
    words = [
        f"{TITLES[table.kind]}: model {model}, data {data}, n = {texts}",
        *([f"presets of the metrics: {presets}"] if presets else []),
        "means and half the width of their 95% bootstrap intervals",
    ]
    marks = r"\textbf{Bold}: the best method; \underline{underlined}: not told apart from it, which these texts chose."
    return f"{escaped('; '.join(words))}. {marks}"
