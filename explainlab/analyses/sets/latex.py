"""A set of studies in LaTeX: a table for each measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from explainlab.analyses.numbers import Measure
from explainlab.analyses.records import Interval
from explainlab.analyses.sets.records import Mean, StudySet
from explainlab.analyses.sets.table import Row, set_means
from explainlab.figures.latex import document, escaped, measured, stacked, table_of_rows

MOST_COLUMNS = 6
"""Methods or data sets of a LaTeX table; more go into tables of their own."""
_AROUND = "means and half the width of their 95% intervals"
Rows = Mapping[Row, Mapping[str, Mean]]
"""The means of each row by column: a method or, for numbers of the model itself, a data set's source."""


def set_latex(studies: StudySet, more: Iterable[str] = ()) -> str:
    """Write a standalone document with ``booktabs``: models by methods for each measure; the best of a row is bold.

    For numbers of the model itself: models by data sets, the best of a column bold. ``more`` tables follow.
    """
    return document([*(table for measure in studies.measures for table in _tables(studies, measure)), *more])


def value_cell(facts: Measure, value: Interval, best: bool = False) -> str:
    """Write a mean with half the width of its interval, as readers see ``facts``; the best one is bold."""
    if value.mean is None:
        return "--"
    half = "" if value.low is None or value.high is None else facts.words((value.high - value.low) / 2)
    return measured(facts.words(value.mean), half, best)


def _tables(studies: StudySet, measure: str) -> Iterator[str]:
    series = studies.series_of(measure)
    by_method = len(series) > 1
    rows: dict[Row, dict[str, Mean]] = {}
    for (group, data), means in set_means(studies, measure):
        row = rows.setdefault((group, data if by_method else ""), {})
        row |= {mean.number.of if by_method else data: mean for mean in means}
    known = {column for row in rows.values() for column in row}
    names = {key: name for key, name in (series if by_method else studies.data).items() if key in known}
    for start in range(0, len(names), MOST_COLUMNS):
        part = dict(list(names.items())[start : start + MOST_COLUMNS])
        yield _table(studies, studies.measures[measure], part, rows)


def _table(studies: StudySet, facts: Measure, names: Mapping[str, str], rows: Rows) -> str:
    by_method = len(studies.series_of(facts.key)) > 1
    best = _best(rows, by_method)
    means = [mean for row in rows.values() for mean in row.values()]
    counts = sorted({f"{mean.number.n:,} {mean.over}" for mean in means})
    around = f": {_AROUND}" if any(mean.value.low is not None for mean in means) else ""
    caption = escaped(f"{facts.directed_label}{around}; n = {' or '.join(counts)}.")
    caption += rf" \textbf{{Bold}}: the best of a {'row' if by_method else 'column'}." if best else ""
    headings = ["Model", *(stacked(name.split(", ")) for name in names.values())]
    cells = [
        [
            escaped(studies.place(group, data) if by_method else group.name),
            *(value_cell(facts, row[key].value, row[key] in best) if key in row else "--" for key in names),
        ]
        for (group, data), row in rows.items()
    ]
    return table_of_rows(caption, "l" + "c" * len(names), headings, cells)


def _best(rows: Rows, by_method: bool) -> list[Mean]:
    """Return the best of each row, or of each column; none where it is alone."""
    contests: dict[Row | str, list[Mean]] = {}
    for place, row in rows.items():
        for column, mean in row.items():
            contests.setdefault(place if by_method else column, []).append(mean)
    held = [(means, max(mean.merit for mean in means)) for means in contests.values() if len(means) > 1]
    return [mean for means, best in held for mean in means if mean.merit == best]
