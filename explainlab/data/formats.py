"""The formats of data files, record by record: CSV, TSV, JSON, JSONL and Parquet, each also gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from copy import copy
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from explainlab.data.budget import Budget, cell_too_long
from explainlab.data.dialect import TAB, Decoder, Dialect, dialect_of
from explainlab.errors import DataError
from explainlab.limits import MAX_CELL_CHARACTERS, MAX_RECORD_BYTES

Record = dict[str, Any]
Stream = io.BufferedReader

SEPARATED = (".csv", ".tsv")
"""Endings of files whose columns may have no names."""
_CHUNK = 2**20
_MOST_OF_TABLE = 2**24
"""Most bytes of a JSON file that is one object with all rows: it is read whole."""
_MOST_DIALECTS = 64
_dialects: dict[tuple[str, int, int, int, int], Dialect] = {}
"""Dialects by the state of their files, for the last files."""
_START = re.compile(r"\s*(\[)?")
"""The beginning of a JSON file, with the bracket that opens a list."""
_TABLE = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[{\[]')
"""The beginning of a JSON file that may be one object with all rows: its first value is no text and no number."""
_NEXT, _END = re.compile(r"\s*([\[,])\s*(?=[^\s\]])"), re.compile(r"\s*(\[\s*)?\]\s*")
"""Characters of a JSON list before a value, and after the last one or in an empty list."""
_TOO_LONG, _LINE_END = "field larger than field limit", "new-line character seen in unquoted field"
csv.field_size_limit(MAX_CELL_CHARACTERS)


def known_suffix(name: str) -> str:
    """Return the ending of a file's name, in lower case, which determines its format: ``.csv``, ``.jsonl.gz``.

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


def records(path: Path, budget: Budget, named: Collection[str] = ()) -> Iterator[Record]:
    """Yield the records of a file of the budget's source: a dictionary from column to value per row.

    The first line of a file of :data:`SEPARATED` fields names its columns. Where all the ``named`` columns are whole
    numbers, and not all are in that line, the file has no such line: its columns are called 1, 2 and so on.

    Raises :class:`DataError` for any damage, and where it takes more than the ``budget``.
    """
    name, suffix = budget.name, known_suffix(path.name)
    try:
        with path.open("rb") as file, _unpacked(file) if suffix.endswith(".gz") else nullcontext(file) as stream:
            size = max(1, path.stat().st_size)
            budget.open(size, lambda: min(1.0, file.tell() / size))
            yield from _FORMATS[suffix.removesuffix(".gz")](stream, budget, named)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{name} is not a whole gzip file.", "Pack it again, or unpack it first.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.", "Check the file.") from None


def _unpacked(file: Stream) -> Stream:
    """Open the content of a gzip file, a megabyte at a time, as its lines are slow to read one by one."""
    return io.BufferedReader(gzip.GzipFile(fileobj=file), _CHUNK)


def _lines(file: Stream, budget: Budget) -> Iterator[str]:
    """Yield the decoded lines with their ends, without a byte order mark."""
    decoder = Decoder(budget)
    for number, raw in enumerate(_raw_lines(file), start=1):
        budget.line(raw, number)
        yield decoder.decode(raw, f" in line {number}", is_last=True)


def _one_by_one(lines: Iterator[str], budget: Budget) -> Iterator[str]:
    """Yield the ``lines``, each as a record."""
    for line in lines:
        budget.end_record()
        yield line


def _raw_lines(file: Stream) -> Iterator[bytes]:
    """Yield the lines with their ends, which are carriage returns alone if the first line has one inside (old Macs).

    Lines are cut where they are longer than any record.
    """
    first = file.readline(MAX_RECORD_BYTES + 1)
    if b"\r" not in first.rstrip(b"\r\n"):
        yield from chain(filter(None, [first]), iter(partial(file.readline, MAX_RECORD_BYTES + 1), b""))
        return
    rest = b""
    for chunk in chain([first], iter(partial(file.read, _CHUNK), b"")):
        *lines, rest = (rest + chunk).split(b"\r")
        yield from (line + b"\r" for line in lines)
        if len(rest) > MAX_RECORD_BYTES:
            break
    yield from filter(None, [rest])


def _dialect(file: Stream, budget: Budget, usual: str) -> Dialect:
    """Return the dialect of a CSV or TSV file and rewind it; detect it once for each version of the file."""
    about = os.fstat(file.fileno())
    state = usual, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
    found = _dialects.get(state)
    if found is None:
        look = copy(budget)
        look.notes = []
        found = dialect_of(budget.name, _one_by_one(_lines(file, look), look), usual)
        file.seek(0)
        while len(_dialects) >= _MOST_DIALECTS:
            _dialects.pop(next(iter(_dialects)), None)
        _dialects[state] = found
    return found


def _separated(file: Stream, budget: Budget, named: Collection[str], usual: str) -> Iterator[Record]:
    """Yield the records of a CSV or TSV file, in its own dialect; blank lines do not count."""
    dialect = _dialect(file, budget, usual)
    reader = dialect.reader(_lines(file, budget))
    header: list[str] = []
    try:
        for cells in reader:
            budget.end_record()
            if not cells or (dialect.is_declared and reader.line_num == 1):
                continue
            if not header:
                header = [column.strip() for column in cells]
                has_names = not named or not all(name.isdecimal() for name in named) or {*named} <= {*header}
                header = header if has_names else [str(place + 1) for place in range(len(cells))]
                budget.columns(header)
                if has_names:
                    continue
            if len(cells) != len(header):
                raise DataError(
                    f"Line {reader.line_num} of {budget.name} has {len(cells):,} fields, the first has {len(header)}.",
                    "Put quotation marks around fields that hold the separator."
                    if dialect.encloses
                    else "Its quotation marks are read as characters: write no tab within a text.",
                )
            yield dict(zip(header, cells, strict=True))
    except csv.Error as error:
        place = f"Line {reader.line_num} of {budget.name}"
        if _TOO_LONG in str(error):
            raise cell_too_long(place) from None
        if _LINE_END in str(error):
            raise DataError(
                f"{place} has a line end within a field.",
                "Let all lines end alike, or put quotation marks around the field.",
            ) from None
        raise DataError(
            f"{place} is malformed: {error}.",
            "Double the quotation marks inside a quoted field, and close every quoted field.",
        ) from None


def _json(file: Stream, budget: Budget, named: Collection[str]) -> Iterator[Record]:
    """Yield the records of a JSON file: objects, one a line or in a list, or an object that has all rows."""
    beginning = file.read(_CHUNK).decode("utf-8-sig", "replace")
    file.seek(0)
    start = _START.match(beginning)
    of_file = _in_list if start and start[1] else _in_table if _TABLE.match(beginning) else _in_lines
    for place, size, record in of_file(file, budget):
        if not isinstance(record, dict):
            raise DataError(f"{place} is not a JSON object.", 'Write {"text": ..., "label": ...}.')
        if size > MAX_CELL_CHARACTERS and any(_is_long(cell) for cell in record.values()):
            raise cell_too_long(place)
        budget.columns([*record])
        yield record


def _in_lines(file: Stream, budget: Budget) -> Iterator[tuple[str, int, Any]]:
    """Yield the place, the characters and the value of each line of a JSON file; blank lines do not count."""
    for number, line in enumerate(_lines(file, budget), start=1):
        budget.end_record()
        if not line.strip():
            continue
        place = f"Line {number} of {budget.name}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _not_json(place, error) from None
        yield place, len(line), value


def _in_list(file: Stream, budget: Budget) -> Iterator[tuple[str, int, Any]]:
    """Yield the place, the characters and the value of each entry of a JSON file that is one list."""
    decoder, scan = Decoder(budget), json.JSONDecoder().raw_decode
    text, at, number = "", 0, 1
    while True:
        place = f"Record {number} of {budget.name}"
        before, problem = _NEXT.match(text, at), None
        if before is not None and (before[1] == "[") == (number == 1):
            try:
                value, end = scan(text, before.end())
            except (ValueError, RecursionError) as error:
                problem = _not_json(place, error)
            else:
                yield place, end - at, value
                at, number = end, number + 1
                continue
        if len(text) - at > MAX_RECORD_BYTES:
            raise problem or _not_json(place, ValueError())
        chunk = file.read(max(_CHUNK // 16, len(text) - at))  # doubled, so that a long record is scanned a few times
        budget.unpack(len(chunk))
        text, at = text[at:] + decoder.decode(chunk, is_last=not chunk), 0
        if not chunk:
            end_of_list = _END.fullmatch(text)
            if end_of_list is not None and (end_of_list[1] is not None) == (number == 1):
                return
            raise problem or _not_json(place, ValueError())


def _in_table(file: Stream, budget: Budget) -> Iterator[tuple[str, int, Any]]:
    """Yield the place, the characters and the record of each row of a JSON file that is one object with all rows.

    Of any other file, yield what :func:`_in_lines` does.
    """
    look = copy(budget)
    look.notes = [*budget.notes]
    raw = file.read(_MOST_OF_TABLE + 1)
    text = Decoder(look).decode(raw, is_last=len(raw) <= _MOST_OF_TABLE).strip()
    if len(raw) > _MOST_OF_TABLE and "\n" not in text:
        raise DataError(
            f"{budget.name} is a single line of over {_MOST_OF_TABLE:,} bytes.",
            'Write one object on each line, in pandas by to_json(path, orient="records", lines=True).',
        )
    rows: Iterable[Any] | None = None
    with suppress(ValueError, RecursionError):
        rows = _rows_of(json.loads(text))
    if rows is None:
        file.seek(0)
        yield from _in_lines(file, budget)
    else:
        budget.unpack(len(raw))
        budget.notes = look.notes
        yield from ((f"Row {number} of {budget.name}", len(text), row) for number, row in enumerate(rows, start=1))


def _rows_of(table: Mapping[str, Any]) -> Iterable[Any] | None:
    """Return the rows of an object that pandas writes, or of a dictionary of columns; None if it is neither.

    Their names tell columns from rows, as pandas numbers rows.
    """
    parts = [*table.values()]
    if {*table} == {"schema", "data"} and isinstance(table["data"], list):
        return table["data"]
    if {*table} == {"columns", "index", "data"} and all(isinstance(part, list) for part in parts):
        names, rows = [str(name) for name in table["columns"]], table["data"]
        whole = len({*names}) == len(names) and all(isinstance(row, list) and len(row) == len(names) for row in rows)
        return (dict(zip(names, row, strict=True)) for row in rows) if whole else None
    if all(isinstance(part, list) and len(part) == len(parts[0]) for part in parts):
        return (dict(zip(table, row, strict=True)) for row in zip(*parts, strict=True))
    if not all(isinstance(part, dict) and part.keys() == parts[0].keys() for part in parts):
        return None
    of_rows = all(map(str.isdecimal, table)) and not all(map(str.isdecimal, parts[0]))
    return parts if of_rows else ({name: column[row] for name, column in table.items()} for row in parts[0])


def _not_json(place: str, error: Exception) -> DataError:
    detail = getattr(error, "msg", "cut off, nested too deeply, or a number too long")
    return DataError(f"{place} is not JSON: {detail}.", "Write one object on each line, or a list of objects.")


def _is_long(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) > MAX_CELL_CHARACTERS


def _parquet(file: Stream, budget: Budget, named: Collection[str]) -> Iterator[Record]:
    """Yield the records of a Parquet file; a packed file is unpacked to the disk first."""
    from explainlab.data import parquet  # slow to import and needed for this format only

    if isinstance(file.raw, io.FileIO):
        yield from parquet.records(file, budget)
        return
    with TemporaryFile() as unpacked:
        while chunk := file.read(_CHUNK):
            if not unpacked.tell() and not chunk.startswith(parquet.MAGIC):
                break
            budget.unpack(len(chunk))
            unpacked.write(chunk)
        yield from parquet.records(unpacked, budget)


_FORMATS: dict[str, Callable[[Stream, Budget, Collection[str]], Iterator[Record]]] = {
    ".csv": partial(_separated, usual=","),
    ".tsv": partial(_separated, usual=TAB),
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
    ".parquet": _parquet,
}
