"""The table of a set for one measure, also in LaTeX, and all files of a set: CSV, JSON and a page."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
from explainlab.analyses.sets.charts import by_model
from explainlab.analyses.sets.records import Group, Mean, SetCell, StudySet
from explainlab.analyses.summary import Measure
from explainlab.figures.chart import Chart
from explainlab.figures.declared import keyed
from explainlab.figures.export import inert
from explainlab.figures.latex import document, escaped, measured, stacked, table_of_rows
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


def number_rows(studies: StudySet) -> list[dict[str, object]]:
    """List every headline number of every cell as a flat row; a cell without a result has one row with its reason."""
    rows: list[dict[str, object]] = []
    for cell in studies.cells:
        rows += [
            {
                **cell.facts,
                "of": number.of or None,
                "label": number.label or None,
                "measure": number.measure.key,
                "higher_is_better": number.measure.higher_is_better,
                **number.value.model_dump(),
                "n": number.n,
            }
            for number in cell.numbers
        ] or [cell.facts]
    return rows


def set_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Write ``rows`` as a table that no spreadsheet computes with."""
    safe = [{name: inert(v) if isinstance(v, str) else v for name, v in row.items()} for row in rows]
    table: str = pd.DataFrame(safe).to_csv(index=False, lineterminator="\r\n")
    return table


def set_json(studies: StudySet, sentences: Sequence[str], **more: object) -> str:
    """Write ``{"finding", "cells": [{"model", "data", "status", "reason", "body"}]}``, the bodies without their texts.

    The fields of ``more`` follow.
    """
    cells = [
        {
            **cell.facts,
            "rows_drawn": cell.result.sample_words if cell.result else None,
            "body": _without_texts(cell) if cell.result else None,
        }
        for cell in studies.cells
    ]
    record = {"finding": sentences, "cells": cells, **more}
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2)


def set_charts(studies: StudySet) -> Iterator[Chart]:
    """Yield all figures of the set."""
    for measure in studies.measures:
        every = len(studies.groups) == 1 or len(studies.series_of(measure)) == 1
        for data in list(studies.data)[: 1 if every else None]:
            yield by_model(studies, measure, data)
        yield set_table(studies, measure)


def set_html(title: str, sentences: Sequence[str], studies: StudySet, more: Iterable[Chart] = ()) -> str:
    """Write a page that loads nothing from the network: the answer in words, the failed cells, and every figure."""
    failed = [f"{cell.model.name} on {cell.data_name}: {cell.reason}" for cell in studies.cells if cell.reason]
    words = "\n".join(f"<p>{html.escape(sentence)}</p>" for sentence in [*sentences, *failed])
    parts = [_figure(chart) for chart in [*set_charts(studies), *more] if chart.rows]
    style = "body { font-family: sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<style>{style}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n"
        f"<body>\n<h1>{html.escape(title)}</h1>\n{words}\n{''.join(parts)}</body>\n</html>\n"
    )


def _figure(chart: Chart) -> str:
    notes = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in chart.notes)
    drawn: str = chart.on_paper().to_html(include_plotlyjs=False, full_html=False)
    return f"<p>{html.escape(chart.alt)}</p>\n{drawn}\n{notes}\n"


def _without_texts(cell: SetCell) -> dict[str, Any]:
    """Return the JSON of a cell's body but for its lists of texts, which may be very long."""
    body = cell.result.body.model_dump(mode="json", exclude={"texts"}) if cell.result else {}
    return {name: value for name, value in body.items() if not _is_texts(value)}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and {"row", "text"} <= value[0].keys()
