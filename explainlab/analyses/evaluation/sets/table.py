"""The table of a set for one metric: models by methods, coloured from random to the best of each row."""

from __future__ import annotations

import textwrap
from typing import Any

from explainlab.analyses.evaluation.heat_table import WORSE
from explainlab.analyses.evaluation.sets.records import EvaluatedSet, Group, Mean
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.analyses.parameters import RANDOM
from explainlab.figures.chart import Chart
from explainlab.figures.declared import keyed
from explainlab.figures.heatmap import number
from explainlab.figures.matrix import Cell, Matrix

_HEADING = 16  # characters of a line
_NOTE = (
    f"Colours run from random (none) to the best method of each row (full blue); red and {WORSE}: worse than random."
)

Row = tuple[Group, str]
"""Models, and the data set that they are evaluated on."""


def set_means(evaluated: EvaluatedSet, metric: str) -> list[tuple[Row, list[Mean]]]:
    """The rows of the table that have a value, with the means of the methods."""
    rows = [(group, data) for group in evaluated.groups for data in evaluated.data]
    means = [(row, [evaluated.mean(*row, method, metric) for method in evaluated.methods]) for row in rows]
    known = [(row, [mean for mean in own if mean is not None]) for row, own in means]
    return [(row, own) for row, own in known if own]


def merit(mean: Mean) -> float:
    """The mean with the sign that makes larger ones better."""
    return mean.row.sign * (mean.value.mean or 0.0)


def models_by_methods(evaluated: EvaluatedSet, metric: str) -> Chart:
    """The table as a chart to keep; ``metric`` is its name ``asked``."""
    title = f"Models by methods: {evaluated.metrics[metric].label}, means with 95% intervals"
    rows = set_means(evaluated, metric)
    best = [(row, max(means, key=merit)) for row, means in rows]
    words = "; ".join(f"{row_name(evaluated, row)}: {shown_name(mean.method)}" for row, mean in best)
    records = [
        {
            "model": mean.group.name,
            "data": evaluated.data[mean.data],
            "method": mean.method,
            "metric": metric,
            **mean.value.model_dump(),
            "over": mean.over,
            "n": mean.n,
            "from_random": share,
        }
        for _, means in rows
        for mean, share in zip(means, _shares(means), strict=True)
    ]
    words = f"{title}. Best: {words or 'none'}."
    figure = _matrix(evaluated, metric).figure()
    return keyed(metric, Chart("models-by-methods", title, words, figure, records, (_NOTE,)))


def set_cells(evaluated: EvaluatedSet, metric: str, dark: bool = False) -> dict[str, Any]:
    """The table as cells that can be pressed: a press selects ``{"model", "data"}``."""
    return _matrix(evaluated, metric).pressable({}, dark)


def row_name(evaluated: EvaluatedSet, row: Row) -> str:
    """The models, and the data set where there are several."""
    group, data = row
    return group.name if len(evaluated.data) == 1 else f"{group.name} on {evaluated.data[data]}"


def _matrix(evaluated: EvaluatedSet, metric: str) -> Matrix:
    rows = set_means(evaluated, metric)
    cells = [
        Cell(
            row=i,
            column=evaluated.methods.index(mean.method),
            key={"model": mean.group.models[0].id, "data": mean.data},
            share=share,
            lines=_lines(mean, share),
            hover=_hover(evaluated, mean),
        )
        for i, (_, means) in enumerate(rows)
        for mean, share in zip(means, _shares(means), strict=True)
    ]
    headings = ["\n".join(textwrap.wrap(shown_name(name), _HEADING)) for name in evaluated.methods]
    return Matrix([row_name(evaluated, row) for row, _ in rows], headings, cells, len(rows))


def _shares(means: list[Mean]) -> list[float | None]:
    """How far each mean of a row is from random (0) to the best (1), at least -1; None without random."""
    random = next((merit(mean) for mean in means if mean.method == RANDOM), None)
    if random is None:
        return [None] * len(means)
    gaps = [merit(mean) - random for mean in means]
    span = max(gaps) or max(map(abs, gaps))
    return [max(-1.0, gap / span) if span else 0.0 for gap in gaps]


def _lines(mean: Mean, share: float | None) -> tuple[str, ...]:
    value = f"{mean.value.mean:.3f}".replace("-", "−")
    around = () if mean.value.low is None else (f"{mean.value.low:.3f} to {mean.value.high:.3f}".replace("-", "−"),)
    return (value + (f" {WORSE}" if (share or 0.0) < 0 else ""), *around)


def _hover(evaluated: EvaluatedSet, mean: Mean) -> str:
    name = f"{row_name(evaluated, (mean.group, mean.data))}, {shown_name(mean.method)}"
    words = f"{name}: {number(mean.value.mean, signed=False) if mean.value.mean is not None else '–'}"
    around = "" if mean.value.low is None else f"; 95% interval {mean.value.low:.4g} to {mean.value.high:.4g}"
    return f"{words}{around}; {mean.n:,} {mean.over}"
