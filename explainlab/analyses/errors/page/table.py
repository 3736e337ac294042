"""The predictions of a data set as arrays: filtered, searched and sorted without reading the stored result again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from explainlab.analyses.errors.page.view import ErrorsView
from explainlab.analyses.errors.result import PredictedRow
from explainlab.figures.export import inert
from explainlab.service.store.remarks import Remark

COLUMNS = tuple(PredictedRow.__annotations__)
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
    """``frame`` has one row a text, with the columns of :class:`PredictedRow`.

    Positions count the rows of ``frame`` from 0; row numbers are those of the file.
    """

    frame: pd.DataFrame

    @classmethod
    def of(cls, rows: Sequence[PredictedRow]) -> PredictionTable:
        """The table of the ``rows`` in a body."""
        return cls(pd.DataFrame(rows, columns=list(COLUMNS)))

    @cached_property
    def wrong(self) -> np.ndarray:
        """bool [n]: where the prediction is wrong."""
        wrong: np.ndarray = (self.frame["label"] != self.frame["predicted"]).to_numpy()
        return wrong

    @cached_property
    def folded(self) -> pd.Series:
        """The texts and second texts, case-folded."""
        return (self.frame["text"] + "\n" + self.frame["text_pair"].fillna("")).map(str.casefold)

    def order(self, view: ErrorsView) -> np.ndarray:
        """int64 [m]: positions of the rows that ``view`` shows, in its order; ties as in the file."""
        keep = self.wrong.copy() if view.show == "mistakes" else np.ones(len(self.frame), dtype=bool)
        for column, label in (("label", view.true), ("predicted", view.predicted)):
            if label:
                keep &= (self.frame[column] == label).to_numpy()
        if view.numbers:
            keep &= self.frame["row"].isin(view.numbers).to_numpy()
        if view.search:
            keep &= self.folded.str.contains(view.search.casefold(), regex=False).to_numpy(dtype=bool)
        positions = np.flatnonzero(keep)
        column, sign = _SORTED_BY[view.sort]
        values = sign * self.frame[column].to_numpy(dtype=float)[positions]
        return positions[np.argsort(values, kind="stable")]

    def row(self, position: int) -> dict[str, Any]:
        """One row as plain Python values, None where there is none."""
        return {name: _value(self.frame[name].iat[position]) for name in COLUMNS}

    def records(self, positions: np.ndarray, remarks: Sequence[Remark]) -> list[dict[str, Any]]:
        """The rows at ``positions`` with note and tags, each followed by the texts edited from it.

        Those have the row's number as their ``parent``, its label, and no prediction.
        """
        left: dict[int, list[Remark]] = {}
        for remark in remarks:
            left.setdefault(remark.row, []).append(remark)
        records = []
        for row in self.frame.take(positions).to_dict("records"):
            record = {name: _value(value) for name, value in row.items()}
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


def _value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if pd.isna(value) else value


def _edited(parent: dict[str, Any], remark: Remark) -> dict[str, Any]:
    record = dict.fromkeys(COLUMNS) | {"text": remark.text, "text_pair": remark.text_pair, "label": parent["label"]}
    return {**record, "parent": parent["row"], "note": remark.note, "tags": list(remark.tags)}
