"""The table of a set for one measure: models by methods, or by data sets where the number is the model's own."""

from __future__ import annotations

import textwrap
from typing import Any

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.sets.records import Group, Mean, StudySet
from explainlab.figures.chart import Chart
from explainlab.figures.declared import keyed
from explainlab.figures.matrix import WORSE, Cell, Matrix

_HEADING = 16  # characters of a line
_NOTE = (
    f"Colours run from random (none) to the best method of each row (full blue); red and {WORSE}: worse than random."
)

Row = tuple[Group, str]
"""Models, and the data set that they are studied on."""


def set_means(studies: StudySet, measure: str) -> list[tuple[Row, list[Mean]]]:
    """Return the models and data sets that have a value, with the means of the methods."""
    rows = [(group, data) for group in studies.groups for data in studies.data]
    means = [(row, [studies.mean(*row, of, measure) for of in studies.series_of(measure)]) for row in rows]
    known = [(row, [mean for mean in own if mean is not None]) for row, own in means]
    return [(row, own) for row, own in known if own]


def set_table(studies: StudySet, measure: str) -> Chart:
    """Return the table as a chart to keep; ``measure`` is its key."""
    facts = studies.measures[measure]
    title = f"{facts.label}: all cells, means with 95% intervals"
    rows = set_means(studies, measure)
    best = [(row, max(means, key=lambda mean: mean.merit)) for row, means in rows]
    listed = [f"{studies.place(*row)}: {mean.number.label or facts.mean_words(mean.value)}" for row, mean in best]
    records = [
        {
            "model": mean.group.name,
            "data": studies.data[mean.data],
            "of": mean.number.of,
            "measure": measure,
            **mean.value.model_dump(),
            "over": mean.over,
            "n": mean.number.n,
            "from_random": share,
        }
        for _, means in rows
        for mean, share in zip(means, _shares(means), strict=True)
    ]
    words = f"{title}. {'Best: ' if len(studies.series_of(measure)) > 1 else ''}{'; '.join(listed) or 'none'}."
    notes = (_NOTE,) if RANDOM in studies.series_of(measure) else ()
    return keyed(measure, Chart("cells", title, words, _matrix(studies, measure).figure(), records, notes))


def set_cells(studies: StudySet, measure: str, dark: bool = False) -> dict[str, Any]:
    """Return the table as cells that can be pressed: a press selects ``{"model", "data"}``."""
    return _matrix(studies, measure).pressable({}, dark)


def set_frame(studies: StudySet, measure: str) -> list[dict[str, Any]]:
    """Return the means alone, a row for each model and data set that has a value."""
    names = studies.series_of(measure)
    if len(names) == 1:
        names = dict.fromkeys(names, studies.measures[measure].directed_label)
    return [
        {"Model": studies.place(*row), **{names[mean.number.of]: mean.value.mean for mean in means}}
        for row, means in set_means(studies, measure)
    ]


def _matrix(studies: StudySet, measure: str) -> Matrix:
    known = set_means(studies, measure)
    series = studies.series_of(measure)
    by_method = len(series) > 1
    groups = [group for group in studies.groups if any(row[0] is group for row, _ in known)]
    rows = [studies.place(*row) for row, _ in known] if by_method else [group.name for group in groups]
    valued = {data for (_, data), _ in known}
    columns = series if by_method else {data: name for data, name in studies.data.items() if data in valued}
    cells = [
        Cell(
            row=i if by_method else groups.index(mean.group),
            column=list(columns).index(mean.number.of if by_method else mean.data),
            key={"model": mean.group.models[0].id, "data": mean.data},
            share=share or 0.0,
            lines=_lines(mean, share),
            hover=_hover(studies, mean),
        )
        for i, (_, means) in enumerate(known)
        for mean, share in zip(means, _shares(means), strict=True)
    ]
    headings = ["\n".join(textwrap.wrap(name, _HEADING)) for name in columns.values()]
    return Matrix(rows, headings, cells, len(rows))


def _shares(means: list[Mean]) -> list[float | None]:
    """Scale the means of a row from random (0) to the best (1), at least -1; None without random."""
    random = next((mean.merit for mean in means if mean.number.of == RANDOM), None)
    if random is None:
        return [None] * len(means)
    gaps = [mean.merit - random for mean in means]
    span = max(gaps) or max(map(abs, gaps))
    return [max(-1.0, gap / span) if span else 0.0 for gap in gaps]


def _lines(mean: Mean, share: float | None) -> tuple[str, ...]:
    measure, value = mean.number.measure, mean.value
    words = measure.words(value.mean) + (f" {WORSE}" if (share or 0.0) < 0 else "")
    return (words,) if value.low is None else (words, measure.between(value))


def _hover(studies: StudySet, mean: Mean) -> str:
    measure, label = mean.number.measure, mean.number.label
    name = f"{studies.place(mean.group, mean.data)}{f', {label}' if label else ''}: {measure.mean_words(mean.value)}"
    return f"{name}; {mean.number.n:,} {mean.over}"
