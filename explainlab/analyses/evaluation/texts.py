"""The texts of an evaluated data set with their values, which may not fit into memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from explainlab.analyses.base import Record
from explainlab.disk_backed import DiskFloats, DiskList, LazySequence
from explainlab.request import Spans
from explainlab.text.units import Absence

Values = dict[str, dict[str, float | None]]
"""Values by the name of the scores, then by metric with its options; None where the metric is undefined.

A name is a method with its options, a file's name, or either after ``reversed:``.
"""


class EvaluatedRow(Record):
    """The values of the text in the row ``row`` of the file.

    ``predicted`` is the model's class, ``features`` the number of content features.
    ``rationale`` and ``rationale_pair`` are the row's, where a metric compares with them; ``undefined``: why there is
    nothing to compare with.
    """

    row: int
    text: str
    text_pair: str | None = None
    label: str
    values: Values
    text_seed: int
    predicted: str
    features: int
    rationale: Spans | None = None
    rationale_pair: Spans | None = None
    undefined: Absence | None = None


class EvaluatedTexts(LazySequence[EvaluatedRow]):
    """The rows of T texts, each made when it is read; large numbers of rows are kept in files.

    ``values`` float64 [T, names, metrics] are NaN where a metric is undefined. ``others`` are the same rows without
    values: see :func:`without_values`.
    """

    def __init__(
        self, names: Sequence[str], metrics: Sequence[str], values: np.ndarray, others: Sequence[EvaluatedRow]
    ) -> None:
        self.names, self.metrics, self._values, self._others = [*names], [*metrics], values, others
        self._kept = [*range(len(self.metrics))]

    @classmethod
    def of(cls, rows: Iterable[EvaluatedRow | Mapping[str, Any]]) -> Self:
        """Return the columns of ``rows``, records or their JSON, which are read one by one.

        Raises :class:`ValueError` for any other record, and where two have values of different names.
        """
        names: list[str] = []
        metrics: list[str] = []
        values, others = DiskFloats(), without_values()
        for row in map(EvaluatedRow.model_validate, rows):
            if not others:
                names, metrics = [*row.values], [*next(iter(row.values.values()), ())]
            if [*row.values] != names or any([*own] != metrics for own in row.values.values()):
                raise ValueError("the texts have values of different methods or metrics")
            values.extend(np.nan if value is None else value for own in row.values.values() for value in own.values())
            others.append(row.model_copy(update={"values": {}}))
        return cls(names, metrics, values.read().reshape(len(others), len(names), len(metrics)), others)

    def __len__(self) -> int:
        return len(self._others)

    def item(self, place: int) -> EvaluatedRow:
        """See :meth:`LazySequence.item`."""
        table = self._values[place][:, self._kept].tolist()
        values = {
            name: {metric: None if value != value else value for metric, value in zip(self.metrics, row, strict=True)}
            for name, row in zip(self.names, table, strict=True)
        }
        return self._others[place].model_copy(update={"values": values})

    def column(self, name: str, metric: str) -> np.ndarray:
        """Return the values of ``name`` by ``metric``, float64 [T]."""
        return self._values[:, self.names.index(name), self._kept[self.metrics.index(metric)]]

    def only(self, metrics: Collection[str]) -> EvaluatedTexts:
        """Return the same texts with the values by these ``metrics`` alone."""
        texts = EvaluatedTexts(self.names, self.metrics, self._values, self._others)
        texts._kept = [kept for kept, metric in zip(self._kept, self.metrics, strict=True) if metric in metrics]
        texts.metrics = [metric for metric in self.metrics if metric in metrics]
        return texts

    def at(self, row: int) -> EvaluatedRow:
        """Return the text in the row ``row`` of the file, which must be there."""
        return self.item(int(np.flatnonzero(self._rows == row)[0]))

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.fromiter((own.row for own in self._others), np.int64, len(self))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda rows: rows if isinstance(rows, cls) else cls.of(rows),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda rows: [row.model_dump(mode="json") for row in rows]
            ),
        )


def without_values(rows: Iterable[EvaluatedRow] = ()) -> DiskList[EvaluatedRow]:
    """Return a list of the ``rows`` without values; more may be added."""
    return DiskList(_written, EvaluatedRow.model_validate, rows)


def _written(row: EvaluatedRow) -> dict[str, Any]:
    return row.model_dump(mode="json")
