"""A result as one zip to take away: a report to read, figures to show, tables and JSON to compute with."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import pandas as pd

from explainlab.attribution.records import Attribution
from explainlab.figures.export import inert, render, to_csv, to_html, to_json, to_svg
from explainlab.figures.reproduce import command_line, python_code

MOST_ROWS = 500
"""Rows of a table that the report prints; its CSV file has all."""


def map_bundle(result: Attribution) -> bytes:
    """The zip of one attribution: ``report.html``, ``map.svg``, ``scores.csv``, ``result.json``."""
    report = to_html([result], snippets=[python_code(result), command_line(result)])
    files = {"report.html": report, "map.svg": to_svg(result), "scores.csv": to_csv(result)}
    return _zip({**files, "result.json": to_json([result])})


def study_bundle(label: str, record: Mapping[str, Any], body: Mapping[str, Any]) -> bytes:
    """The zip of one study: ``report.html``, a CSV file for every table of its ``body``, and ``result.json``.

    ``record`` is all of the result as ``study --json`` prints it, ``label`` the study's name.
    """
    tables = {name: _table(rows) for name, rows in body.items() if _is_table(rows)}
    report = render(
        "study.html.j2",
        styles=[],
        label=label,
        record=record,
        tables={name: _printed(table) for name, table in tables.items()},
        lengths={name: len(table) for name, table in tables.items()},
    )
    files = {
        f"{_file_name(name)}.csv": table.to_csv(index=False, lineterminator="\r\n") for name, table in tables.items()
    }
    written = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2)
    return _zip({"report.html": report, **files, "result.json": written})


def _is_table(rows: Any) -> bool:
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """One row a record; what is nested is written as JSON, and no text is a formula."""
    return pd.DataFrame([{inert(name): _cell(value) for name, value in row.items()} for row in rows])


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    return inert(value) if isinstance(value, str) else value


def _printed(table: pd.DataFrame) -> pd.DataFrame:
    head = table.head(MOST_ROWS).astype(object)
    return head.where(head.notna(), None)


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", name)


def _zip(files: Mapping[str, str]) -> bytes:
    """A zip of texts; equal files give equal bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode("utf-8"), zipfile.ZIP_DEFLATED)
    return whole.getvalue()
