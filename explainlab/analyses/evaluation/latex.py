"""The table of methods by metrics for a paper: LaTeX that compiles alone, or is copied from ``\\begin{table}`` on."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.result import EvaluationData, MethodMetric
from explainlab.analyses.evaluation.table import MetricTable, kinds_of, table_of
from explainlab.analyses.evaluation.truth import TITLES
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.wording import counted

MOST_COLUMNS = 5
"""Metrics of a table; more go into tables of their own."""
RULE: tuple[str, ...] = ()
"""A line between two rows of a table."""
_BREAK = r" \\ "
_TOGETHER = 10  # tables before those that wait for a place are printed: LaTeX lets few wait
_HEAD = r"""\documentclass{article}
\usepackage[a4paper,landscape,margin=2cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{booktabs}
\begin{document}
"""
_MARKS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": "{'}",
    "`": "{`}",
    "-": "{-}",
    "*": "{*}",
    "[": "{[}",
    "]": "{]}",
    "−": "$-$",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
}
_LETTERS = "".join(map(chr, set(range(0xC0, 0x100)) - {0xD7, 0xF7})) + (
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŊŋŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž"
)
"""What the T1 fonts have beyond ASCII."""


def latex(result: AnalysisResult[EvaluationData], data: str | None = None) -> str:
    """A standalone document with ``booktabs``: means with half the width of their 95% intervals.

    ``data`` is the name of the data set (None: as in the request). The best of each metric is bold, and what is not
    told apart from it underlined. Metrics that compare with rationales have tables of their own, and so have more than
    five metrics.
    """
    model, data = result.request.model, data or result.request.data or "given"
    parts = [part for kind in kinds_of(result.body) for part in _parts(table_of(result.body, kind))]
    return document(_table(table, metrics, model, data) for table, metrics in parts)


def document(tables: Iterable[str]) -> str:
    """A standalone document of tables that need nothing but ``booktabs``; its pages are wide enough for wide ones."""
    listed = list(tables)
    pages = ["\n".join(listed[start : start + _TOGETHER]) for start in range(0, len(listed), _TOGETHER)]
    return _HEAD + "\\clearpage\n".join(pages) + "\\end{document}\n"


def escaped(text: str) -> str:
    """``text`` as plain words of LaTeX: every character that it interprets is escaped, one it has not is spelled."""
    return "".join(_character(character) for character in text)


def _character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if " " <= character <= "~" or character in _LETTERS:
        return character
    if unicodedata.category(character)[0] in "ZC":
        return " " if character.isspace() else ""
    return rf"\texttt{{U+{ord(character):04X}}}"


def _parts(table: MetricTable) -> Iterator[tuple[MetricTable, list[MethodMetric]]]:
    """The table for each few of its metrics."""
    metrics = list(table.metrics.values())
    for start in range(0, len(metrics), MOST_COLUMNS):
        yield table, metrics[start : start + MOST_COLUMNS]


def _table(table: MetricTable, metrics: Sequence[MethodMetric], model: str, data: str) -> str:
    rows = [
        *(_row(table, method, metrics) for method in table.methods),
        *([RULE] if table.methods and table.controls else []),
        *(_row(table, method, metrics) for method in table.controls),
    ]
    headings = ["Method", *map(_heading, metrics)]
    return table_of_rows(_caption(table, metrics, model, data), "l" + "c" * len(metrics), headings, rows)


def table_of_rows(
    caption: str,
    columns: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    size: str = r"\scriptsize\setlength{\tabcolsep}{4pt}",
) -> str:
    """A table of cells in LaTeX: ``columns`` are its specification; :data:`RULE` among the ``rows`` is a line."""
    lines = [
        r"\begin{table}",
        rf"\centering\setlength{{\belowcaptionskip}}{{6pt}}{size}",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(headings),
        r"\midrule",
        *(r"\midrule" if row is RULE else _line(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)}{_BREAK.rstrip()}"


def _row(table: MetricTable, method: str, metrics: Sequence[MethodMetric]) -> list[str]:
    return [escaped(shown_name(method)), *(_cell(table, table.cells[method, facts.asked]) for facts in metrics)]


def _cell(table: MetricTable, row: MethodMetric) -> str:
    if row.mean is None:
        return "--"
    mean = table.written(row.mean, row.asked).replace("−", "-").replace(",", "{,}")
    best = table.best[row.asked] == row
    around = ""
    if row.low is not None and row.high is not None:
        around = rf" \pm {table.written((row.high - row.low) / 2, row.asked).replace(',', '{,}')}"
    number = rf"$\mathbf{{{mean}}}{around}$" if best else f"${mean}{around}$"
    return rf"\underline{{{number}}}" if row.told_apart is False else number


def _heading(facts: MethodMetric) -> str:
    """The metric over its preset, with the arrow that says which way is better."""
    name, *preset = facts.directed_label.rsplit(" (", 1)
    return stacked([name, *(f"({rest}" for rest in preset)])


def stacked(lines: Sequence[str]) -> str:
    """Words in several lines of a cell."""
    return rf"\shortstack{{{_BREAK.join(map(escaped, lines))}}}"


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
