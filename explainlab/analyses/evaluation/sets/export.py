"""A set of evaluations in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.evaluation.latex import document, escaped, stacked, table_of_rows
from explainlab.analyses.evaluation.sets.records import EvaluatedSet
from explainlab.analyses.numbers import Measure
from explainlab.analyses.sets.records import Mean
from explainlab.analyses.sets.table import set_means

MOST_COLUMNS = 6
"""Methods of a LaTeX table; more go into tables of their own."""


def set_latex(evaluated: EvaluatedSet) -> str:
    """A standalone document with ``booktabs``: models by methods for each metric; the best of a row is bold."""
    names = list(evaluated.series)
    columns = [names[start : start + MOST_COLUMNS] for start in range(0, len(names), MOST_COLUMNS)]
    metrics = evaluated.measures.items()
    return document(_table(evaluated, metric, facts, part) for metric, facts in metrics for part in columns)


def _table(evaluated: EvaluatedSet, metric: str, facts: Measure, methods: Sequence[str]) -> str:
    rows = set_means(evaluated, metric)
    counts = {f"{mean.number.n:,} {mean.over}" for _, means in rows for mean in means}
    words = f"{facts.directed_label}: means and half the width of their 95% bootstrap intervals"
    caption = f"{escaped(words)}; n = {escaped(' or '.join(sorted(counts)))}. \\textbf{{Bold}}: the best of a row."
    headings = ["Model", *(stacked(evaluated.series[method].split(", ")) for method in methods)]
    cells = [
        [escaped(evaluated.place(*row)), *_cells(means, methods, max(mean.merit for mean in means))]
        for row, means in rows
    ]
    return table_of_rows(caption, "l" + "c" * len(methods), headings, cells)


def _cells(means: Sequence[Mean], methods: Sequence[str], best: float) -> list[str]:
    known = {mean.number.of: mean for mean in means}
    return [_cell(known[name], known[name].merit == best) if name in known else "--" for name in methods]


def _cell(mean: Mean, best: bool) -> str:
    low, high = mean.value.low, mean.value.high
    number = f"{mean.value.mean:.3f}"
    around = "" if low is None or high is None else rf" \pm {(high - low) / 2:.3f}"
    return rf"$\mathbf{{{number}}}{around}$" if best else f"${number}{around}$"
