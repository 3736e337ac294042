"""A result as one zip: a report to read, figures to show, tables and JSON to compute with."""

from __future__ import annotations

import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import pandas as pd
from plotly.offline import get_plotlyjs

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import get_analysis, get_study
from explainlab.attribution.records import Attribution
from explainlab.figures.declared import Figures
from explainlab.figures.export import (
    command_line,
    component_file,
    inert,
    python_code,
    render,
    report_maps,
    to_csv,
    to_html,
    to_json,
    to_svg,
)
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.figures.svg import draw_svg
from explainlab.result import StoredPart, with_verdict, written

MOST_ROWS = 500
"""The most rows of a table in the report; its CSV file has all."""
_LEVEL = 4  # of compression: zlib's usual 6 saves another 4% of a report, in nearly twice the time


def map_bundle(result: Attribution) -> bytes:
    """Return the zip of one attribution: ``report.html``, ``map.svg``, ``scores.csv``, ``result.json``."""
    words = get_analysis(result.request.question).report(result).headline
    report = to_html(report_maps([result]), verdict=words, snippets=[python_code(result), command_line(result)])
    files = {"report.html": report, "map.svg": to_svg(result), "scores.csv": to_csv(result)}
    return _zip({**files, "result.json": to_json([result], words)})


def study_bundle(
    result: AnalysisResult[Any], data: str | None = None, read: Callable[[StoredPart], bytes] | None = None
) -> bytes:
    """Return the zip of a study.

    It holds ``report.html`` with all its figures, each figure alone, its tables, and ``result.json``.

    ``data`` is the name of its data set (None: as in the request), ``read`` gives the parts of a long one. In
    ``figures/`` are a chart as Plotly's JSON with the numbers behind it as CSV, and a heatmap as SVG. Beside them are
    the files that the analysis declares.
    """
    drawn = figures_of(result)
    tables = [*_tables(result)]
    files: dict[str, str | Iterable[str | bytes]] = {
        "report.html": _report(result, data or result.request.data, drawn, tables)
    }
    for name, chart in drawn.charts.items():
        files[f"figures/{_file_name(name)}.json"] = chart.on_paper().to_json()
        files[f"figures/{_file_name(name)}.csv"] = chart.to_csv()
    files |= {f"figures/{_file_name(name)}.svg": draw_svg(figure.drawn) for name, figure in drawn.maps.items()}
    files |= {table.file: table.to_csv() for table in tables}
    files |= drawn.files
    files |= {f"parts/{part.path}": map(read, [part]) for part in result.parts if read}
    whole = with_verdict(result.in_parts(), get_study(result.request.question).report(result).headline)
    return _zip({**files, "result.json": written(whole, ensure_ascii=False, allow_nan=False, indent=2)})


@dataclass(frozen=True)
class _Table:
    """Records of a study: their name, their number, and a function that yields them in parts.

    One row a record; nested values become JSON, and no text becomes a formula.
    """

    name: str
    length: int
    parts: Callable[[], Iterable[list[dict[str, Any]]]]

    @property
    def file(self) -> str:
        """The name of its CSV file."""
        return f"{_file_name(self.name)}.csv"

    @cached_property
    def head(self) -> pd.DataFrame:
        """The rows in the report; None for missing values, and numbers with six digits."""
        head = next(self._frames()).head(MOST_ROWS).astype(object)
        return head.where(head.notna(), None).map(lambda cell: f"{cell:.6g}" if isinstance(cell, float) else cell)

    def to_csv(self) -> Iterator[str]:
        """Yield all rows, in pieces."""
        for number, frame in enumerate(self._frames()):
            yield frame.to_csv(index=False, header=not number, lineterminator="\r\n")

    def _frames(self) -> Iterator[pd.DataFrame]:
        for rows in self.parts():
            yield pd.DataFrame([{inert(column): _cell(value) for column, value in row.items()} for row in rows])


def _tables(result: AnalysisResult[Any]) -> Iterator[_Table]:
    """Yield the lists of records in the body of ``result``."""
    for name, rows in result.body_in_parts().items():
        if isinstance(rows, Iterator):
            yield _Table(name, len(getattr(result.body, name)), partial(_parts, result, name))
        elif _is_table(rows):
            yield _Table(name, len(rows), partial(list, [rows]))


def _parts(result: AnalysisResult[Any], name: str) -> Iterator[list[dict[str, Any]]]:
    parts: Iterator[list[dict[str, Any]]] = result.body_in_parts()[name]
    return parts


def _report(result: AnalysisResult[Any], data: str | None, drawn: Figures, tables: Sequence[_Table]) -> str:
    """Return a document without outside resources; it runs only its own script, whatever its texts hold."""
    analysis, charts = get_study(result.request.question), list(drawn.charts.values())
    report = analysis.report(result)
    own = result.request.output == "probability" and result.request.parameters.get("outputs") == "own"
    script = "\n".join((get_plotlyjs(), component_file("study_charts.js"))) if charts else ""
    return render(
        "study.html.j2",
        styles=["token_heatmap"],
        palette=PALETTES[DEFAULT],
        script=script,
        script_digest=b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii"),
        label=analysis.label,
        headline=report.headline,
        lines=report.lines,
        record=result.in_parts(),
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


def _zip(files: Mapping[str, str | Iterable[str | bytes]]) -> bytes:
    """Return a zip of texts and files, which may come in pieces; equal ones give equal bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, text in files.items():
            with archive.open(name, "w", force_zip64=not isinstance(text, str)) as file:
                for piece in [text] if isinstance(text, str) else text:
                    file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8"))
    return whole.getvalue()
