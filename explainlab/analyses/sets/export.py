"""A set of studies as files: CSV, JSON, and one standalone page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from explainlab.analyses.sets.charts import by_model
from explainlab.analyses.sets.records import SetCell, StudySet
from explainlab.analyses.sets.table import set_table
from explainlab.figures.chart import Chart
from explainlab.figures.export import inert


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
