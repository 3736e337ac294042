"""Parquet files, read in parts by Arrow: how far a part unpacks is known before any of it is unpacked.

The headers of a file's pages decide how much Arrow allocates. They are read first: Thrift structures (parquet.thrift of
Apache Parquet). Strings stay in their dictionaries until the length of every cell is known.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from explainlab.data.budget import Budget
from explainlab.data.thrift import I32, I64, LIST, STRUCT, Fields, Malformed, counted, read_struct
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
_DATASETS = b"huggingface"
"""Where the metadata of a schema have the features of the library datasets."""
_DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, EOFError)


def records(file: BinaryIO, budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield the records of a Parquet ``file``; dates and times as text, and cells of JSON as their values.

    Numbers whose names the file gives, as the library datasets does, are these names.

    Raises :class:`DataError` for a file that is damaged, that cannot be read in parts, or is beyond the budget.
    """
    try:
        yield from _records(file, budget)
    except _DAMAGE as error:
        reason = next(iter(str(error).splitlines()), "it is damaged")[:200].rstrip(".")
        problem = f"{budget.name} is not a readable Parquet file: {reason}."
        raise DataError(problem, "Save it again, for example with pandas.") from None


def _records(file: BinaryIO, budget: Budget) -> Iterator[dict[str, Any]]:
    groups = _footer(file)
    opened = _open(file, budget)
    columns = [opened.schema.column(place) for place in range(len(opened.schema))]
    meant = _meant(opened, columns)
    if opened.num_row_groups != len(groups):
        raise Malformed
    for place, group in enumerate(groups):
        size = _rows_at_once(file, columns, group, budget)
        for batch in opened.iter_batches(size, row_groups=[place], use_threads=False):
            budget.check()
            for part in _parts(batch, budget.name):
                for record in _plain(part).to_pylist():
                    for name, mean in meant.items():
                        record[name] = mean(record[name])
                    yield record


def _footer(file: BinaryIO) -> list[Fields]:
    """The row groups that the footer lists."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    if end[4:] != MAGIC:
        raise Malformed("it does not end as one")
    length = int.from_bytes(end[:4], "little")
    if length > _MOST_FOOTER:
        raise Malformed(f"its footer has over {_MOST_FOOTER:,} bytes; it has too many row groups or columns")
    file.seek(max(0, size - 8 - length))
    return list(read_struct(io.BytesIO(file.read(length))).get((4, LIST), []))


def _open(file: BinaryIO, budget: Budget) -> parquet.ParquetFile:
    """The file, with its strings as dictionaries; only its footer is read."""
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


def _rows_at_once(file: BinaryIO, columns: list[parquet.ColumnSchema], group: Fields, budget: Budget) -> int:
    """How many rows of a row group are decoded together; all its pages are within the budget."""
    chunks, rows = group.get((1, LIST), []), max(1, counted(group, 3, I64))
    if len(chunks) != len(columns):
        raise Malformed
    held, of_row = 0, 0.0
    for column, chunk in zip(columns, chunks, strict=True):
        nested = column.max_repetition_level > 0
        least = max(_NESTED_VALUE if nested else _VALUE, column.length or 0)
        largest, total, densest = {True: 0, False: 0}, 0, 0.0
        for page in _pages(file, chunk.get((3, STRUCT), {})):
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


def _pages(file: BinaryIO, column: Fields) -> Iterator[_Page]:
    """The pages of a column in a row group, by their headers alone."""
    start, dictionary = counted(column, 9, I64), column.get((11, I64), 0)
    place = dictionary if 0 < dictionary < start else start
    end = place + (counted(column, 7, I64) if counted(column, 5, I64) else 0)
    while place < end:
        header, length = _header(file, place)
        size, packed = counted(header, 2, I32), counted(header, 3, I32)
        place += length + packed
        kind = next((kind for kind in _PARTS if (kind, STRUCT) in header), None)
        part = {} if kind is None else header[kind, STRUCT]
        if kind is not None and part.get((_PARTS[kind], I32)) in _UNREADABLE:
            raise Malformed("a column has strings in a delta encoding, which is not read here")
        yield _Page(kind == _DICTIONARY, size, 0 if kind is None else counted(part, 1, I32))


def _header(file: BinaryIO, place: int) -> tuple[Fields, int]:
    """The header of the page at ``place``, by the numbers of its fields, and its length in bytes."""
    for most in _HEADERS:
        file.seek(place)
        stream = io.BytesIO(file.read(most))
        try:
            return read_struct(stream), stream.tell()
        except EOFError:
            continue
    raise Malformed


# The meaning of cells by the schema ----------------------------------------------------------------------------------


def _meant(file: parquet.ParquetFile, columns: list[parquet.ColumnSchema]) -> dict[str, Callable[[Any], Any]]:
    """Return, by column, the functions that turn cells into their meaning: names of classes, or values of JSON."""
    meant: dict[str, Callable[[Any], Any]] = {
        column.path: _value for column in columns if column.logical_type.type == "JSON" and "." not in column.path
    }
    schema = file.schema_arrow
    for name, names in _class_names((schema.metadata or {}).get(_DATASETS, b"")).items():
        if name in schema.names and types.is_integer(schema.field(name).type):
            meant[name] = partial(_name, names)
    return meant


def _class_names(metadata: bytes) -> dict[str, list[str]]:
    """Return the names of classes by column, in the order of their numbers: ``ClassLabel`` of the library datasets."""
    try:
        features = json.loads(metadata)["info"]["features"].items()
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return {}
    kinds = [(name, kind) for name, kind in features if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"]
    names = {name: kind.get("names") for name, kind in kinds}
    return {
        name: own for name, own in names.items() if isinstance(own, list) and all(isinstance(one, str) for one in own)
    }


def _name(names: list[str], number: int | None) -> str | int | None:
    """Return the name of a class; None for -1, by which datasets means no label; other numbers as they are."""
    if number is None or number == -1:
        return None
    return names[number] if number in range(len(names)) else number


def _value(cell: Any) -> Any:
    """Return the value of a cell that is JSON, and any other cell as it is."""
    with suppress(ValueError, RecursionError, TypeError):
        return json.loads(cell)
    return cell


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
