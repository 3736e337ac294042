"""Parquet files, read in parts by Arrow: how far a part unpacks is known before any of it is unpacked.

The headers of a file's pages decide how much Arrow allocates. They are read first: Thrift structures (parquet.thrift of
Apache Parquet). Strings stay in their dictionaries until the length of every cell is known.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from explainlab.data.budget import Budget
from explainlab.data.thrift import Malformed, read_struct
from explainlab.errors import DataError
from explainlab.limits import MAX_RECORD_BYTES

MAGIC = b"PAR1"
_MOST_FOOTER, _MOST_LISTED = 2 * 2**20, 100_000
_MOST_HELD = 128 * 2**20
"""Bytes of all pages that are open at once: one of data and one dictionary a column."""
_ROWS, _PART = 1024, 16 * 2**20
"""Rows and bytes that are decoded at once."""
_VALUE, _NESTED_VALUE = 8, 12
"""Bytes of a value in memory; of one in a list, with its place."""
_HEADERS = 2**12, 2**22
"""Bytes in which a page's header is looked for first, and at last."""
_DICTIONARY = 7
"""The part of a page header that dictionaries have."""
_UNREADABLE = (6, 7)
"""DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: only their packed values say what they unpack to."""
_PARTS = {5: 2, 7: 2, 8: 4}
"""The parts of a page header that have the number of values, by kind of page, and where in them the encoding is."""
_DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, EOFError)


def records(file: BinaryIO, budget: Budget) -> Iterator[dict[str, Any]]:
    """The records of a Parquet ``file``; dates and times as text.

    Raises :class:`DataError` for a file that is damaged, that cannot be read in parts, or is beyond the budget.
    """
    try:
        yield from _records(file, budget)
    except _DAMAGE as error:
        reason = next(iter(str(error).splitlines()), "it is damaged")[:200].rstrip(".")
        problem = f"{budget.name} is not a readable Parquet file: {reason}."
        raise DataError(problem, "Save it again, for example with pandas.") from None


def _records(file: BinaryIO, budget: Budget) -> Iterator[dict[str, Any]]:
    opened = _open(file, budget)
    for group in range(opened.num_row_groups):
        size = _rows_at_once(file, opened, group, budget)
        for batch in opened.iter_batches(size, row_groups=[group], use_threads=False):
            budget.check()
            for part in _parts(batch, budget.name):
                yield from _plain(part).to_pylist()


def _open(file: BinaryIO, budget: Budget) -> parquet.ParquetFile:
    """The file, with its strings as dictionaries; only its footer is read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    if end[4:] != MAGIC:
        raise Malformed("it does not end as one")
    if int.from_bytes(end[:4], "little") > _MOST_FOOTER:
        raise Malformed(f"its footer has over {_MOST_FOOTER:,} bytes; it has too many row groups or columns")
    bounds = {"thrift_string_size_limit": _MOST_FOOTER, "thrift_container_size_limit": _MOST_LISTED}
    schema = parquet.ParquetFile(file, **bounds).schema
    columns = [schema.column(place) for place in range(len(schema))]
    budget.columns([column.path for column in columns])
    budget.columns(schema.to_arrow_schema().names)
    strings = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return parquet.ParquetFile(file, read_dictionary=strings, buffer_size=2**20, **bounds)


# How far it unpacks --------------------------------------------------------------------------------------------------


class _Page(NamedTuple):
    """A page of a column: whether it is the dictionary, and the bytes and values that it unpacks to."""

    dictionary: bool
    size: int
    values: int


def _rows_at_once(file: BinaryIO, opened: parquet.ParquetFile, group: int, budget: Budget) -> int:
    """How many rows of a row group are decoded together; all its pages are within the budget."""
    layout, rows = opened.metadata.row_group(group), max(1, opened.metadata.row_group(group).num_rows)
    held, of_row = 0, 0.0
    for place in range(layout.num_columns):
        column = opened.schema.column(place)
        nested = column.max_repetition_level > 0
        least = max(_NESTED_VALUE if nested else _VALUE, column.length or 0)
        largest, total, densest = {True: 0, False: 0}, 0, 0.0
        for page in _pages(file, layout.column(place)):
            unpacked = max(page.size, page.values * least)
            budget.unpack(unpacked)
            total += unpacked
            largest[page.dictionary] = max(largest[page.dictionary], page.size)
            densest = max(densest, 0 if page.dictionary else unpacked / max(1, page.values))
        held += sum(largest.values())
        of_row += total / rows if nested else densest
        if held > _MOST_HELD:
            raise Malformed(f"its pages unpack to over {_MOST_HELD:,} bytes at once; they are too large")
    return max(1, min(_ROWS, int(_PART / max(1.0, of_row))))


def _pages(file: BinaryIO, column: parquet.ColumnChunkMetaData) -> Iterator[_Page]:
    """The pages of a column in a row group, by their headers alone."""
    start, dictionary = column.data_page_offset, column.dictionary_page_offset
    place = dictionary if dictionary and 0 < dictionary < start else start
    end = place + (column.total_compressed_size if column.num_values else 0)
    while place < end:
        header, length = _header(file, place)
        size, packed = _count(header, 2), _count(header, 3)
        place += length + packed
        kind = next((kind for kind in _PARTS if isinstance(header.get(kind), dict)), None)
        if kind is not None and header[kind].get(_PARTS[kind]) in _UNREADABLE:
            raise Malformed("a column has strings in a delta encoding, which is not read here")
        yield _Page(kind == _DICTIONARY, size, 0 if kind is None else _count(header[kind], 1))


def _count(fields: dict[int, Any], number: int) -> int:
    """A field that counts something."""
    value = fields.get(number)
    if not isinstance(value, int) or not 0 <= value < 2**31:
        raise Malformed("its headers are damaged")
    return value


def _header(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """The header of the page at ``place``, by the numbers of its fields, and its length in bytes."""
    for most in _HEADERS:
        file.seek(place)
        stream = io.BytesIO(file.read(most))
        try:
            return read_struct(stream), stream.tell()
        except EOFError:
            continue
    raise Malformed("its headers are damaged")


# What it holds -------------------------------------------------------------------------------------------------------


def _parts(batch: pa.RecordBatch, name: str) -> Iterator[pa.RecordBatch]:
    """Parts of ``batch``, in order, that can be written out in Python."""
    weight = sum(_weight(column) for column in batch.columns)
    if weight <= MAX_RECORD_BYTES:
        yield batch
    elif batch.num_rows == 1:
        raise DataError(
            f"{name} has a row of over {MAX_RECORD_BYTES:,} bytes.", "Keep the columns with the text and the label."
        )
    else:
        middle = batch.num_rows // 2
        yield from _parts(batch.slice(0, middle), name)
        yield from _parts(batch.slice(middle), name)


def _weight(array: pa.Array) -> int:
    """Bytes of all cells when each is written out, a string as often as it occurs."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _weight(array.storage)
    if types.is_dictionary(kind):
        lengths = pc.binary_length(array.dictionary) if _is_text(kind.value_type) else None
        return _VALUE * len(array) + (0 if lengths is None else pc.sum(lengths.take(array.indices)).as_py() or 0)
    if types.is_struct(kind):
        return _VALUE * len(array) + sum(_weight(part) for part in array.flatten())
    if types.is_map(kind):
        array = array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    inner = _weight(array.flatten()) if types.is_nested(kind) else int(array.nbytes)
    return _VALUE * len(array) + inner


def _is_text(kind: pa.DataType) -> bool:
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same cells without dictionaries; dates and times, which Python may not have, as text."""
    return pa.RecordBatch.from_arrays([_written(column) for column in batch.columns], batch.schema.names)


def _written(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        return _written(array.storage)
    if types.is_dictionary(array.type):
        return array.dictionary_decode()
    if types.is_timestamp(array.type):
        array = array.cast(pa.timestamp(array.type.unit))  # in UTC, which needs no database of time zones
    return array.cast(pa.string()) if types.is_temporal(array.type) else array
