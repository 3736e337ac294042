"""A result as one zip: a report to read, figures to show, tables and JSON to compute with."""

from __future__ import annotations

import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import get_analysis, get_study
from explainlab.attribution.records import Attribution
from explainlab.figures.declared import Figures
from explainlab.figures.export import component_file, inert, render, report_maps, to_csv, to_html, to_json, to_svg
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.figures.reproduce import command_line, python_code
from explainlab.figures.svg import draw_svg
from explainlab.result import with_verdict

MOST_ROWS = 500
"""The most rows of a table in the report; its CSV file has all."""


def map_bundle(result: Attribution) -> bytes:
    """The zip of one attribution: ``report.html``, ``map.svg``, ``scores.csv``, ``result.json``."""
    words = get_analysis(result.request.question).headline(result)
    report = to_html(report_maps([result]), verdict=words, snippets=[python_code(result), command_line(result)])
    files = {"report.html": report, "map.svg": to_svg(result), "scores.csv": to_csv(result)}
    return _zip({**files, "result.json": to_json([result], words)})


def study_bundle(result: AnalysisResult[Any], data: str | None = None) -> bytes:
    """The zip of a study: ``report.html`` with all its figures, each figure alone, its tables, and ``result.json``.

    ``data`` is the name of its data set (None: as in the request). In ``figures/`` are a chart as Plotly's JSON with
    the numbers behind it as CSV, and a heatmap as SVG. Beside them are the files that the analysis declares.
    """
    record, drawn = result.to_json(), figures_of(result)
    tables = [_Table.of(name, rows) for name, rows in result.body_json().items() if _is_table(rows)]
    files = {"report.html": _report(result, data or record["data"], drawn, tables)}
    for name, chart in drawn.charts.items():
        files[f"figures/{_file_name(name)}.json"] = chart.on_paper().to_json()
        files[f"figures/{_file_name(name)}.csv"] = chart.to_csv()
    files |= {f"figures/{_file_name(name)}.svg": draw_svg(figure.drawn) for name, figure in drawn.maps.items()}
    files |= {table.file: table.to_csv() for table in tables}
    files |= drawn.files
    whole = with_verdict(record, get_study(result.request.question).headline(result))
    return _zip({**files, "result.json": json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2)})


@dataclass(frozen=True)
class _Table:
    """Records of a study: their name, their CSV file, and all of them in ``frame``."""

    name: str
    file: str
    frame: pd.DataFrame

    @classmethod
    def of(cls, name: str, rows: list[dict[str, Any]]) -> _Table:
        """One row a record; nested values become JSON, and no text becomes a formula."""
        cells = [{inert(column): _cell(value) for column, value in row.items()} for row in rows]
        return cls(name, f"{_file_name(name)}.csv", pd.DataFrame(cells))

    @property
    def length(self) -> int:
        """The number of rows."""
        return len(self.frame)

    @property
    def head(self) -> pd.DataFrame:
        """The rows in the report; None for missing values, and numbers with six digits."""
        head = self.frame.head(MOST_ROWS).astype(object)
        return head.where(head.notna(), None).map(lambda cell: f"{cell:.6g}" if isinstance(cell, float) else cell)

    def to_csv(self) -> str:
        """All rows."""
        table: str = self.frame.to_csv(index=False, lineterminator="\r\n")
        return table


def _report(result: AnalysisResult[Any], data: str | None, drawn: Figures, tables: Sequence[_Table]) -> str:
    """A document without outside resources; it runs only its own script, whatever its texts hold."""
    analysis, charts = get_study(result.request.question), list(drawn.charts.values())
    own = result.request.output == "probability" and result.request.parameters.get("outputs") == "own"
    script = "\n".join((get_plotlyjs(), component_file("study_charts.js"))) if charts else ""
    return render(
        "study.html.j2",
        styles=["token_heatmap"],
        palette=PALETTES[DEFAULT],
        script=script,
        script_digest=b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii"),
        label=analysis.label,
        headline=analysis.headline(result),
        lines=analysis.lines(result),
        record=result.to_json(),
        output="each method's own output" if own else result.request.output,
        data=data,
        rows=result.sample_words,
        maps=drawn.maps.values(),
        charts=charts,
        reason=drawn.none,
        figures=[{**json.loads(chart.figure.to_json()), "config": chart.config} for chart in charts],
        tables=tables,
    )


def _is_table(rows: Any) -> bool:
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    return inert(value) if isinstance(value, str) else value


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", name)


def _zip(files: Mapping[str, str]) -> bytes:
    """A zip of texts; equal texts give equal bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode("utf-8"), zipfile.ZIP_DEFLATED)
    return whole.getvalue()
