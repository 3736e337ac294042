"""A set of evaluations as files: CSV, JSON, LaTeX, and one standalone page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Sequence

import pandas as pd
from plotly.offline import get_plotlyjs

from explainlab.analyses.evaluation.latex import document, escaped, stacked, table_of_rows
from explainlab.analyses.evaluation.result import MethodMetric
from explainlab.analyses.evaluation.sets.figures import by_model
from explainlab.analyses.evaluation.sets.records import EvaluatedSet, Mean, set_rows
from explainlab.analyses.evaluation.sets.table import merit, models_by_methods, row_name, set_means
from explainlab.analyses.evaluation.sets.verdict import set_overview, set_paragraphs
from explainlab.analyses.evaluation.verdict import shown_name
from explainlab.figures.chart import Chart
from explainlab.figures.export import inert

MOST_COLUMNS = 6
"""Methods of a LaTeX table; more go into tables of their own."""


def set_csv(evaluated: EvaluatedSet) -> str:
    """A row for every number of every cell."""
    rows = [{name: inert(v) if isinstance(v, str) else v for name, v in row.items()} for row in set_rows(evaluated)]
    table: str = pd.DataFrame(rows).to_csv(index=False, lineterminator="\r\n")
    return table


def set_json(evaluated: EvaluatedSet) -> str:
    """``{"finding", "cells": [{"model", "data", "status", "reason", "body"}]}``, the bodies without their texts."""
    cells = [
        {
            **cell.facts,
            "rows_drawn": cell.result.sample_words if cell.result else None,
            "body": cell.result.body.model_dump(mode="json", exclude={"texts"}) if cell.result else None,
        }
        for cell in evaluated.cells
    ]
    body = {"finding": [set_overview(evaluated), *set_paragraphs(evaluated)], "cells": cells}
    return json.dumps(body, ensure_ascii=False, allow_nan=False, indent=2)


def set_charts(evaluated: EvaluatedSet) -> Iterator[Chart]:
    """All figures of the set."""
    single = len(evaluated.groups) == 1
    for metric in evaluated.metrics:
        for data in list(evaluated.data)[: 1 if single else None]:
            yield by_model(evaluated, metric, data)
        yield models_by_methods(evaluated, metric)


def set_html(evaluated: EvaluatedSet, more: Iterable[Chart] = ()) -> str:
    """A page that loads nothing from the network: the answer in words, the cells that failed, and every figure."""
    sentences = [set_overview(evaluated), *set_paragraphs(evaluated)]
    failed = [f"{cell.model.name} on {cell.data_name}: {cell.reason}" for cell in evaluated.cells if cell.reason]
    words = "\n".join(f"<p>{html.escape(sentence)}</p>" for sentence in [*sentences, *failed])
    parts = [_figure(chart) for chart in [*set_charts(evaluated), *more] if chart.rows]
    style = "body { font-family: sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Benchmark</title>\n'
        f"<style>{style}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n"
        f"<body>\n<h1>Benchmark</h1>\n{words}\n{''.join(parts)}</body>\n</html>\n"
    )


def set_latex(evaluated: EvaluatedSet) -> str:
    """A standalone document with ``booktabs``: models by methods for each metric; the best of a row is bold."""
    names = evaluated.methods
    columns = [names[start : start + MOST_COLUMNS] for start in range(0, len(names), MOST_COLUMNS)]
    metrics = evaluated.metrics.items()
    return document(_table(evaluated, metric, facts, part) for metric, facts in metrics for part in columns)


def _figure(chart: Chart) -> str:
    notes = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in chart.notes)
    drawn: str = chart.on_paper().to_html(include_plotlyjs=False, full_html=False)
    return f"<p>{html.escape(chart.alt)}</p>\n{drawn}\n{notes}\n"


def _table(evaluated: EvaluatedSet, metric: str, facts: MethodMetric, methods: Sequence[str]) -> str:
    rows = set_means(evaluated, metric)
    counts = {f"{mean.n:,} {mean.over}" for _, means in rows for mean in means}
    words = f"{facts.directed_label}: means and half the width of their 95% bootstrap intervals"
    caption = f"{escaped(words)}; n = {escaped(' or '.join(sorted(counts)))}. \\textbf{{Bold}}: the best of a row."
    headings = ["Model", *(stacked(shown_name(method).split(", ")) for method in methods)]
    cells = [
        [escaped(row_name(evaluated, row)), *_cells(means, methods, max(map(merit, means)))] for row, means in rows
    ]
    return table_of_rows(caption, "l" + "c" * len(methods), headings, cells)


def _cells(means: Sequence[Mean], methods: Sequence[str], best: float) -> list[str]:
    known = {mean.method: mean for mean in means}
    return [_cell(known[name], merit(known[name]) == best) if name in known else "--" for name in methods]


def _cell(mean: Mean, best: bool) -> str:
    low, high = mean.value.low, mean.value.high
    number = f"{mean.value.mean:.3f}"
    around = "" if low is None or high is None else rf" \pm {(high - low) / 2:.3f}"
    return rf"$\mathbf{{{number}}}{around}$" if best else f"${number}{around}$"
