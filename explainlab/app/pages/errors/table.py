"""The predictions of a data set as arrays: filtered, searched and sorted without reading the stored result again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from explainlab.analyses.errors.rows import COLUMNS, PredictedRows
from explainlab.app.pages.errors.view import ErrorsView
from explainlab.figures.export import inert
from explainlab.service.store.remarks import Remark

_SORTED_BY = {
    "loss": ("loss", -1),
    "confident": ("confidence", -1),
    "unsure": ("confidence", 1),
    "long": ("tokens", -1),
    "short": ("tokens", 1),
    "row": ("row", 1),
}


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The ``rows`` of a body. Positions count them from 0; row numbers are those of the file."""

    rows: PredictedRows

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def numbers(self) -> np.ndarray:
        """int64 [n]: the rows' numbers."""
        return self.rows.column("row")

    def order(self, view: ErrorsView) -> np.ndarray:
        """int64 [m]: positions of the rows that ``view`` shows, in its order; ties as in the file."""
        keep = self.rows.wrong.copy() if view.show == "mistakes" else np.ones(len(self), dtype=bool)
        for column, label in (("label", view.true), ("predicted", view.predicted)):
            if label:
                keep &= self.rows.where(column, label)
        if view.numbers:
            keep &= np.isin(self.numbers, view.numbers)
        if view.search:
            keep &= self.rows.finds(view.search)
        positions = np.flatnonzero(keep)
        column, sign = _SORTED_BY[view.sort]
        values = sign * self.rows.column(column)[positions].astype(float)
        return positions[np.argsort(values, kind="stable")]

    def row(self, position: int) -> dict[str, Any]:
        """One row."""
        return {**self.rows[int(position)]}

    def records(self, positions: np.ndarray, remarks: Sequence[Remark]) -> list[dict[str, Any]]:
        """The rows at ``positions`` with note and tags, each followed by the texts edited from it.

        Those have the row's number as their ``parent``, its label, and no prediction.
        """
        left: dict[int, list[Remark]] = {}
        for remark in remarks:
            left.setdefault(remark.row, []).append(remark)
        records = []
        for row in self.rows.at(positions):
            record: dict[str, Any] = {**row}
            of_row = left.get(record["row"], [])
            own = next((remark for remark in of_row if not remark.edit), Remark(row=record["row"]))
            records.append({**record, "parent": None, "note": own.note, "tags": list(own.tags)})
            records += [_edited(record, remark) for remark in of_row if remark.edit]
        return records


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Records as a table; a text that a spreadsheet would take for a formula gets a leading apostrophe."""
    rows = [{**record, "tags": ", ".join(record["tags"])} for record in records]
    cells = [{name: inert(v) if isinstance(v, str) else v for name, v in row.items()} for row in rows]
    return str(pd.DataFrame(cells).to_csv(index=False, lineterminator="\r\n"))


def to_json(records: Sequence[dict[str, Any]]) -> str:
    """``{"rows": [...]}``."""
    return json.dumps({"rows": list(records)}, ensure_ascii=False, allow_nan=False, indent=2)


def _edited(parent: dict[str, Any], remark: Remark) -> dict[str, Any]:
    record = dict.fromkeys(COLUMNS) | {"text": remark.text, "text_pair": remark.text_pair, "label": parent["label"]}
    return {**record, "parent": parent["row"], "note": remark.note, "tags": list(remark.tags)}
