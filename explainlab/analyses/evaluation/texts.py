"""The texts of an evaluated data set with their values: very many of them, held as columns."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from explainlab.analyses.base import Record
from explainlab.request import Spans
from explainlab.text.rationale import Absence

Values = dict[str, dict[str, float | None]]
"""By the name of what is evaluated, then by metric with its options; None where the metric is undefined.

A name is a method with its options, a file's name, or either after ``reversed:``.
"""


class EvaluatedRow(Record):
    """The values of the text in the row ``row`` of the file.

    ``predicted`` is the model's class, ``features`` the number of content features; None in older results.
    ``rationale`` and ``rationale_pair`` are the row's, where a metric compares with them; ``undefined``: why there is
    nothing to compare with.
    """

    row: int
    text: str
    text_pair: str | None = None
    label: str
    values: Values
    text_seed: int
    predicted: str | None = None
    features: int | None = None
    rationale: Spans | None = None
    rationale_pair: Spans | None = None
    undefined: Absence | None = None


class EvaluatedTexts(Sequence[EvaluatedRow]):
    """The rows of T texts, each made when it is read.

    ``values`` float64 [T, names, metrics] are NaN where a metric is undefined. ``facts`` are by name the other fields
    of :class:`EvaluatedRow`, a sequence of T each.
    """

    def __init__(
        self,
        names: Sequence[str],
        metrics: Sequence[str],
        values: np.ndarray,
        facts: Mapping[str, Sequence[Any]],
    ) -> None:
        self.names, self.metrics, self.values, self._facts = [*names], [*metrics], values, facts

    @classmethod
    def of(cls, rows: Iterable[EvaluatedRow | Mapping[str, Any]]) -> Self:
        """The columns of ``rows``, records or their JSON, which are read one by one.

        Raises :class:`ValueError` for what is no such record, and where two have values of different names.
        """
        names: list[str] = []
        metrics: list[str] = []
        values = array("d")
        facts: dict[str, list[Any]] = {name: [] for name in EvaluatedRow.model_fields if name != "values"}
        for number, row in enumerate(map(EvaluatedRow.model_validate, rows)):
            if not number:
                names, metrics = [*row.values], [*next(iter(row.values.values()), ())]
            if [*row.values] != names or any([*own] != metrics for own in row.values.values()):
                raise ValueError("the texts have values of different methods or metrics")
            values.extend(np.nan if value is None else value for own in row.values.values() for value in own.values())
            for name, column in facts.items():
                column.append(_shared(getattr(row, name)) if name in ("label", "predicted") else getattr(row, name))
        table = np.frombuffer(values) if values else np.empty(0)
        return cls(names, metrics, table.reshape(len(facts["row"]), len(names), len(metrics)), facts)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        table = [[None if value != value else value for value in row] for row in self.values[place].tolist()]
        values = {name: dict(zip(self.metrics, row, strict=True)) for name, row in zip(self.names, table, strict=True)}
        return EvaluatedRow.model_construct(values=values, **{name: own[place] for name, own in self._facts.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EvaluatedTexts) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str, metric: str) -> np.ndarray:
        """float64 [T]: the values of what is evaluated under ``name`` by ``metric``."""
        column: np.ndarray = self.values[:, self.names.index(name), self.metrics.index(metric)]
        return column

    def only(self, metrics: Collection[str]) -> EvaluatedTexts:
        """The same texts without the values by other ``metrics``."""
        kept = [i for i, metric in enumerate(self.metrics) if metric in metrics]
        return EvaluatedTexts(self.names, [self.metrics[i] for i in kept], self.values[:, :, kept], self._facts)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda rows: rows if isinstance(rows, cls) else cls.of(rows),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda rows: [row.model_dump(mode="json") for row in rows]
            ),
        )


def _shared(text: str | None) -> str | None:
    """The same text, which is in memory once."""
    return None if text is None else sys.intern(text)
