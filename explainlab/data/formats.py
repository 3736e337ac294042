"""The formats of data files, read record by record: CSV, TSV, JSONL and Parquet, each also gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from explainlab.data.budget import Budget, cell_too_long
from explainlab.errors import DataError
from explainlab.limits import MAX_CELL_CHARACTERS, MAX_RECORD_BYTES

Record = dict[str, Any]
Stream = BinaryIO | gzip.GzipFile

_CHUNK = 2**20
_TOO_LONG = "field larger than field limit"
csv.field_size_limit(MAX_CELL_CHARACTERS)


def known_suffix(name: str) -> str:
    """The ending of a file's name, in lower case, which determines its format: ``.csv``, ``.jsonl.gz``.

    Raises :class:`DataError` for any other ending.
    """
    path = Path(name.lower())
    packed = path.suffix if path.suffix == ".gz" else ""
    suffix = Path(path.stem).suffix if packed else path.suffix
    if suffix not in _FORMATS:
        raise DataError(
            f"{name} is not of a known format.", f"Use {', '.join(_FORMATS)}, each with or without .gz at the end."
        )
    return suffix + packed


def records(path: Path, budget: Budget) -> Iterator[Record]:
    """The records of a file of the budget's source: a dictionary from column to value per row.

    Raises :class:`DataError` for any damage, and where it takes more than the ``budget``.
    """
    name, suffix = budget.name, known_suffix(path.name)
    try:
        with path.open("rb") as file, gzip.open(file) if suffix.endswith(".gz") else nullcontext(file) as stream:
            size = max(1, path.stat().st_size)
            budget.open(size, lambda: min(1.0, file.tell() / size))
            yield from _FORMATS[suffix.removesuffix(".gz")](stream, budget)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{name} is not a whole gzip file.", "Pack it again, or unpack it first.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.", "Check the file.") from None


def _lines(file: Stream, budget: Budget) -> Iterator[str]:
    """The decoded lines with their ends; a byte order mark is dropped."""
    stream = io.BufferedReader(file, _CHUNK) if isinstance(file, gzip.GzipFile) else file
    offset = 0
    for number, raw in enumerate(iter(partial(stream.readline, MAX_RECORD_BYTES + 1), b""), start=1):
        budget.line(raw, number)
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            position = offset + error.start
            problem = f"{budget.name} is not UTF-8: byte {position} in line {number}."
            raise DataError(problem, "Save it as UTF-8.") from None
        offset += len(raw)
        yield line.removeprefix("\ufeff") if number == 1 else line


def _separated(file: Stream, budget: Budget, delimiter: str) -> Iterator[Record]:
    """Records of a CSV or TSV file: quotation marks around fields, doubled inside them; blank lines do not count."""
    reader = csv.reader(_lines(file, budget), delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            budget.end_record()
            if not cells:
                continue
            if not header:
                header = [column.strip() for column in cells]
                budget.columns(header)
            elif len(cells) == len(header):
                yield dict(zip(header, cells, strict=True))
            else:
                raise DataError(
                    f"Line {reader.line_num} of {budget.name} has {len(cells):,} fields, the header has {len(header)}.",
                    "Put quotation marks around fields that hold the separator.",
                )
    except csv.Error as error:
        place = f"Line {reader.line_num} of {budget.name}"
        if _TOO_LONG in str(error):
            raise cell_too_long(place) from None
        raise DataError(
            f"{place} is malformed: {error}.",
            "Double the quotation marks inside a quoted field, and close every quoted field.",
        ) from None


def _json_lines(file: Stream, budget: Budget) -> Iterator[Record]:
    """Records of a JSONL file: one JSON object a line; blank lines do not count."""
    for number, line in enumerate(_lines(file, budget), start=1):
        budget.end_record()
        if not line.strip():
            continue
        place = f"Line {number} of {budget.name}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            detail = getattr(error, "msg", "nested too deeply or a number too long")
            raise DataError(f"{place} is not JSON: {detail}.", "Write one object on each line.") from None
        if not isinstance(record, dict):
            raise DataError(f"{place} is not a JSON object.", 'Write {"text": ..., "label": ...}.')
        if len(line) > MAX_CELL_CHARACTERS and any(_is_long(cell) for cell in record.values()):
            raise cell_too_long(place)
        budget.columns([*record])
        yield record


def _is_long(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) > MAX_CELL_CHARACTERS


def _parquet(file: Stream, budget: Budget) -> Iterator[Record]:
    """Records of a Parquet file; one that is packed is unpacked to the disk first."""
    from explainlab.data import parquet  # slow to import and needed for this format only

    if not isinstance(file, gzip.GzipFile):
        yield from parquet.records(file, budget)
        return
    with TemporaryFile() as unpacked:
        while chunk := file.read(_CHUNK):
            if not unpacked.tell() and not chunk.startswith(parquet.MAGIC):
                break
            budget.unpack(len(chunk))
            unpacked.write(chunk)
        yield from parquet.records(unpacked, budget)


_FORMATS: dict[str, Callable[[Stream, Budget], Iterator[Record]]] = {
    ".csv": partial(_separated, delimiter=","),
    ".tsv": partial(_separated, delimiter="\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
