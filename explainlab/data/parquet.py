"""Parquet files, read in parts by Arrow. Strings stay in their dictionaries until the length of every cell is known.

The footer of a file has its unpacked size. If the size is wrong, the guard limits Arrow's memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from explainlab.data.budget import Budget
from explainlab.errors import DataError
from explainlab.limits import MAX_RECORD_BYTES

MAGIC = b"PAR1"
_MOST_FOOTER, _MOST_LISTED = 2 * 2**20, 100_000
_ROWS, _PART = 1024, 16 * 2**20
"""Rows and bytes that are decoded at once."""
_VALUE, _NESTED_VALUE = 8, 12
"""Bytes of a value in memory; of one in a list, with its place."""
_NO_DICTIONARIES = ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY")
"""Encodings of strings of which Arrow makes no dictionaries."""
_DATASETS = b"huggingface"
"""The key of the features of the library datasets in the metadata of a schema."""
_DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, EOFError)


def records(file: BinaryIO, budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield the records of a Parquet ``file``; dates and times as text, and cells of JSON as their values.

    Numbers whose names the file gives, as the library datasets does, are these names.

    Raises :class:`DataError` for a file that is damaged, that cannot be read in parts, or is beyond the budget.
    """
    try:
        yield from _records(file, budget)
    except MemoryError:
        raise
    except _DAMAGE as error:
        reason = next(iter(str(error).splitlines()), "it is damaged")[:200].rstrip(".")
        problem = f"{budget.name} is not a readable Parquet file: {reason}."
        raise DataError(problem, "Save it again, for example with pandas.") from None


def _records(file: BinaryIO, budget: Budget) -> Iterator[dict[str, Any]]:
    _require_footer(file)
    opened = _open(file, budget)
    columns = [opened.schema.column(place) for place in range(len(opened.schema))]
    meant = _meant(opened, columns)
    for place in range(opened.num_row_groups):
        size = _rows_at_once(opened.metadata.row_group(place), columns, budget)
        for batch in opened.iter_batches(size, row_groups=[place], use_threads=False):
            budget.check()
            for part in _parts(batch, budget.name):
                for record in _plain(part).to_pylist():
                    for name, mean in meant.items():
                        record[name] = mean(record[name])
                    yield record


def _require_footer(file: BinaryIO) -> None:
    """Raise :class:`ValueError` for a file without a footer, or with one that is too long."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    if end[4:] != MAGIC:
        raise ValueError("it does not end as one")
    if int.from_bytes(end[:4], "little") > _MOST_FOOTER:
        raise ValueError(f"its footer has over {_MOST_FOOTER:,} bytes; it has too many row groups or columns")


def _rows_at_once(group: parquet.RowGroupMetaData, columns: list[parquet.ColumnSchema], budget: Budget) -> int:
    """Return how many rows of a row ``group`` are decoded together; by the footer it is within the budget."""
    total = 0
    for place, column in enumerate(columns):
        chunk = group.column(place)
        least = max(_NESTED_VALUE if column.max_repetition_level > 0 else _VALUE, column.length or 0)
        unpacked: int = max(chunk.total_uncompressed_size, chunk.num_values * least, 0)
        budget.unpack(unpacked)
        total += unpacked
    rows: int = group.num_rows
    return max(1, min(_ROWS, _PART * max(1, rows) // max(1, total)))


def _open(file: BinaryIO, budget: Budget) -> parquet.ParquetFile:
    """Open the file, with its strings as dictionaries; only its footer is read."""
    bounds = {"thrift_string_size_limit": _MOST_FOOTER, "thrift_container_size_limit": _MOST_LISTED}
    plain = parquet.ParquetFile(file, **bounds)
    schema, first = plain.schema, plain.metadata.row_group(0) if plain.num_row_groups else None
    columns = [schema.column(place) for place in range(len(schema))]
    budget.columns([column.path for column in columns])
    budget.columns(schema.to_arrow_schema().names)
    strings = [
        column.path
        for place, column in enumerate(columns)
        if column.physical_type == "BYTE_ARRAY"
        and not (first and any(encoding in _NO_DICTIONARIES for encoding in first.column(place).encodings))
    ]
    return parquet.ParquetFile(file, read_dictionary=strings, buffer_size=2**20, **bounds)


# The meaning of cells by the schema ----------------------------------------------------------------------------------


def _meant(file: parquet.ParquetFile, columns: list[parquet.ColumnSchema]) -> dict[str, Callable[[Any], Any]]:
    """Return, by column, the functions that turn cells into their meaning: names of classes, or values of JSON."""
    meant: dict[str, Callable[[Any], Any]] = {
        column.path: _value for column in columns if column.logical_type.type == "JSON" and "." not in column.path
    }
    schema = file.schema_arrow
    for name, names in _class_names((schema.metadata or {}).get(_DATASETS, b"")).items():
        if name in schema.names and types.is_integer(_of_one(schema.field(name).type)):
            meant[name] = partial(_name, names)
    return meant


def _of_one(kind: pa.DataType) -> pa.DataType:
    """Return the type of a cell, or of the elements of its lists."""
    return kind.value_type if types.is_list(kind) or types.is_large_list(kind) else kind


def _class_names(metadata: bytes) -> dict[str, list[str]]:
    """Return the names of classes by column, in the order of their numbers: ``ClassLabel`` of the library datasets.

    A cell may also be a list of such numbers.
    """
    try:
        features = json.loads(metadata)["info"]["features"].items()
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return {}
    listed = [(name, kind.get("feature", kind) if isinstance(kind, dict) else kind) for name, kind in features]
    kinds = [(name, kind) for name, kind in listed if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"]
    names = {name: kind.get("names") for name, kind in kinds}
    return {
        name: own for name, own in names.items() if isinstance(own, list) and all(isinstance(one, str) for one in own)
    }


def _name(names: list[str], number: Any) -> Any:
    """Return the name of a class; None for -1, by which datasets means no label; other numbers as they are.

    Of a list of numbers return the list of names.
    """
    if isinstance(number, list):
        return [_name(names, one) for one in number]
    if number is None or number == -1:
        return None
    return names[number] if number in range(len(names)) else number


def _value(cell: Any) -> Any:
    """Return the value of a cell that is JSON, and any other cell as it is."""
    with suppress(ValueError, RecursionError, TypeError):
        return json.loads(cell)
    return cell


# Parts of files ------------------------------------------------------------------------------------------------------


def _parts(batch: pa.RecordBatch, name: str) -> Iterator[pa.RecordBatch]:
    """Yield parts of ``batch``, in order, that fit into memory as Python objects."""
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
    """Return the bytes of all cells when each is written out, a string as often as it occurs."""
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
    """Return the same cells without dictionaries; dates and times, which Python may not have, as text."""
    return pa.RecordBatch.from_arrays([_written(column) for column in batch.columns], batch.schema.names)


def _written(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        return _written(array.storage)
    if types.is_dictionary(array.type):
        return array.dictionary_decode()
    if types.is_timestamp(array.type):
        array = array.cast(pa.timestamp(array.type.unit))  # in UTC, which needs no database of time zones
    return array.cast(pa.string()) if types.is_temporal(array.type) else array
