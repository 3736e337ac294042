"""The predicted rows of a data set: in a table of columns, of which memory holds what is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from explainlab.spill import Lazy, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

TOGETHER = 4_096
"""Rows that are in memory at once while a table is made."""


class PredictedRow(TypedDict):
    """A row that the model could read: a plain record, as a data set may have a million of them.

    ``row`` is its number in the file, ``label`` its true class. ``confidence`` is the probability of the predicted
    class, ``probability`` that of the true one, ``loss`` its cross entropy in nats. ``tokens`` is how many tokens the
    model read; ``cut`` tells whether it read only the beginning.
    """

    row: int
    text: str
    text_pair: str | None
    label: str
    predicted: str
    confidence: float
    probability: float
    loss: float
    tokens: int
    cut: bool


COLUMNS = tuple(PredictedRow.__annotations__)
_RECORDS = TypeAdapter(list[PredictedRow])


class PredictedRows(Lazy[PredictedRow]):
    """The rows in the order of the file; ``table`` holds them by columns, those of :data:`COLUMNS`."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Those with these records, which are read some at a time; raises :class:`ValueError` for other records."""
        records = iter(rows)
        parts = iter(lambda: _RECORDS.validate_python(list(islice(records, TOGETHER))), [])
        return cls.joined({name: [row[name] for row in part] for name in COLUMNS} for part in parts)  # type: ignore[literal-required]

    @classmethod
    def joined(cls, parts: Iterable[Mapping[str, Sequence[Any] | np.ndarray]]) -> Self:
        """Those whose columns come in ``parts``, each with the values of some rows by column."""
        import pyarrow as pa

        schema = _schema()

        def batches() -> Iterator[pa.RecordBatch]:
            for columns in parts:
                try:
                    arrays = [pa.array(columns[field.name], field.type) for field in schema]
                except OverflowError as error:
                    raise ValueError(str(error)) from None
                yield pa.record_batch(arrays, schema)

        return cls(arrow_table(schema, batches()))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def item(self, place: int) -> PredictedRow:
        """See :meth:`Lazy.item`."""
        return self.items(range(place, place + 1))[0]

    def items(self, places: range) -> list[PredictedRow]:
        """See :meth:`Lazy.items`."""
        if places.step != 1:
            return self.at(np.array(places))
        rows: list[PredictedRow] = self.table.slice(places.start, len(places)).to_pylist()
        return rows

    def at(self, places: np.ndarray) -> list[PredictedRow]:
        """The rows at ``places``, int64 [m]."""
        rows: list[PredictedRow] = self.table.take(places).to_pylist()
        return rows

    def column(self, name: str) -> np.ndarray:
        """The values [n] of a column."""
        values: np.ndarray = self.table.column(name).to_numpy()
        return values

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda rows: rows if isinstance(rows, cls) else cls.of(rows),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda rows: rows[:]),
        )


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {"row": pa.int64(), "tokens": pa.int64(), "cut": pa.bool_()}
    kinds |= dict.fromkeys(("confidence", "probability", "loss"), pa.float64())
    return pa.schema([(name, kinds.get(name, pa.large_string())) for name in COLUMNS])
