"""The predicted rows of a data set: a table of columns on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from explainlab.disk_backed import LazySequence, Packable, Packed, arrow_table

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
_PACKED = 50_000
"""Rows in a part of packed columns."""
_RECORDS = TypeAdapter(list[PredictedRow])


class PredictedRows(LazySequence[PredictedRow], Packable):
    """The rows in the order of the file; ``table`` holds them by columns, those of :data:`COLUMNS`."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Return the rows of these records, read in groups; raise :class:`ValueError` for other records."""
        records = iter(rows)
        parts = iter(lambda: _RECORDS.validate_python(list(islice(records, TOGETHER))), [])
        return cls.joined({name: [row[name] for row in part] for name in COLUMNS} for part in parts)  # type: ignore[literal-required]

    @classmethod
    def joined(cls, parts: Iterable[Mapping[str, Sequence[Any] | np.ndarray]]) -> Self:
        """Return the rows of ``parts``, each with the values of some rows by column."""
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

    @classmethod
    def unpacked(cls, packed: Packed) -> Self:
        """Return the rows that :meth:`packed` gave; raise :class:`ValueError` for others."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = _schema()
        files = (pq.ParquetFile(pa.BufferReader(part)) for part in packed)
        batches = (batch for file in files for batch in file.iter_batches(TOGETHER))
        return cls(arrow_table(schema, (batch.cast(schema) for batch in batches)))

    def packed(self) -> Packed:
        """See :meth:`Packable.packed`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        def parts() -> Iterator[bytes]:
            for start in range(0, len(self), _PACKED):
                sink = pa.BufferOutputStream()
                pq.write_table(self.table.slice(start, _PACKED), sink, compression="zstd")
                yield sink.getvalue().to_pybytes()

        return Packed(parts())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def item(self, place: int) -> PredictedRow:
        """See :meth:`LazySequence.item`."""
        return self.items(range(place, place + 1))[0]

    def items(self, places: range) -> list[PredictedRow]:
        """See :meth:`LazySequence.items`."""
        if places.step != 1:
            return self.at(np.array(places))
        rows: list[PredictedRow] = self.table.slice(places.start, len(places)).to_pylist()
        return rows

    def at(self, places: np.ndarray) -> list[PredictedRow]:
        """Return the rows at ``places``, int64 [m]."""
        rows: list[PredictedRow] = self.table.take(places).to_pylist()
        return rows

    def column(self, name: str) -> np.ndarray:
        """Return the values [n] of a column."""
        values: np.ndarray = self.table.column(name).to_numpy()
        return values

    @cached_property
    def wrong(self) -> np.ndarray:
        """True for each row with a wrong prediction, bool [n]."""
        import pyarrow.compute as pc

        wrong: np.ndarray = pc.not_equal(self.table["label"], self.table["predicted"]).to_numpy()
        return wrong

    def where(self, column: str, value: str) -> np.ndarray:
        """Return True for each row with this ``value`` in the ``column``, bool [n]."""
        import pyarrow.compute as pc

        found: np.ndarray = pc.equal(self.table[column], value).to_numpy()
        return found

    def finds(self, words: str) -> np.ndarray:
        """Return True for each row with ``words`` in a text, in upper or lower case, bool [n]."""
        words, found = words.casefold(), np.zeros(len(self), dtype=bool)
        for start in range(0, len(self), TOGETHER):
            part = self.table.select(["text", "text_pair"]).slice(start, TOGETHER)
            texts = zip(*(column.to_pylist() for column in part.columns), strict=True)
            found[start : start + TOGETHER] = [words in f"{text}\n{pair or ''}".casefold() for text, pair in texts]
        return found

    @classmethod
    def _given(cls, rows: Any) -> Self:
        if isinstance(rows, cls):
            return rows
        return cls.unpacked(rows) if isinstance(rows, Packed) else cls.of(rows)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._given,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda rows: rows[:]),
        )


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {"row": pa.int64(), "tokens": pa.int64(), "cut": pa.bool_()}
    kinds |= dict.fromkeys(("confidence", "probability", "loss"), pa.float64())
    return pa.schema([(name, kinds.get(name, pa.large_string())) for name in COLUMNS])
