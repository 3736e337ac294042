"""The formats of data files, read record by record: CSV, TSV, JSONL and Parquet, each also gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from reprlib import repr as quote
from typing import Any

from explainlab.errors import DataError

Record = dict[str, Any]

# Guards against files that unpack to more than memory holds; texts have their own, far lower limit in the settings.
_MAX_LINE_BYTES = 16 * 2**20
_MAX_UNPACKED_BYTES = 2**30
csv.field_size_limit(_MAX_LINE_BYTES)


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


def records(path: Path, name: str) -> Iterator[Record]:
    """The file's records, a dictionary from column to value per row; any damage is a DataError about ``name``."""
    suffix = known_suffix(path.name)
    packed = suffix.endswith(".gz")
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            yield from _FORMATS[suffix.removesuffix(".gz")](stream, name)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{name} is not a whole gzip file.", "Pack it again, or unpack it first.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.", "Check the file.") from None


def _lines(stream: io.BufferedIOBase, name: str) -> Iterator[str]:
    """The decoded lines with their ends; a byte order mark is dropped."""
    offset = 0
    for number, raw in enumerate(iter(partial(stream.readline, _MAX_LINE_BYTES), b""), start=1):
        if len(raw) == _MAX_LINE_BYTES:
            raise DataError(f"Line {number} of {name} has over {_MAX_LINE_BYTES:,} bytes.", "Check the line ends.")
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            position = offset + error.start
            raise DataError(f"{name} is not UTF-8: byte {position} in line {number}.", "Save it as UTF-8.") from None
        offset += len(raw)
        yield line.removeprefix("\ufeff") if number == 1 else line


def _separated(stream: io.BufferedIOBase, name: str, delimiter: str) -> Iterator[Record]:
    """Records of a CSV or TSV file: quotation marks around fields, doubled inside them; blank lines do not count."""
    reader = csv.reader(_lines(stream, name), delimiter=delimiter, strict=True)
    rows = filter(None, reader)
    try:
        header = [column.strip() for column in next(rows, [])]
        repeated = [column for column in header if column and header.count(column) > 1]
        if repeated:
            raise DataError(f"{name} has two columns {quote(repeated[0])}.", "Rename one of them.")
        for cells in rows:
            if len(cells) != len(header):
                raise DataError(
                    f"Line {reader.line_num} of {name} has {len(cells)} fields, the header has {len(header)}.",
                    "Put quotation marks around fields that hold the separator.",
                )
            yield dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(
            f"Line {reader.line_num} of {name} is malformed: {error}.",
            "Double the quotation marks inside a quoted field, and close every quoted field.",
        ) from None


def _json_lines(stream: io.BufferedIOBase, name: str) -> Iterator[Record]:
    """Records of a JSONL file: one JSON object a line; blank lines do not count."""
    for number, line in enumerate(_lines(stream, name), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            detail = getattr(error, "msg", "nested too deeply or a number too long")
            raise DataError(
                f"Line {number} of {name} is not JSON: {detail}.", "Write one object on each line."
            ) from None
        if not isinstance(record, dict):
            raise DataError(f"Line {number} of {name} is not a JSON object.", 'Write {"text": ..., "label": ...}.')
        yield record


def _parquet(stream: io.BufferedIOBase, name: str) -> Iterator[Record]:
    """Records of a Parquet file, read batch by batch; a packed file is unpacked into memory first."""
    import pyarrow  # slow to import and needed for this format only
    from pyarrow import parquet

    if isinstance(stream, gzip.GzipFile):
        stream = io.BytesIO(stream.read(_MAX_UNPACKED_BYTES + 1))
        if stream.getbuffer().nbytes > _MAX_UNPACKED_BYTES:
            raise DataError(f"{name} unpacks to over {_MAX_UNPACKED_BYTES:,} bytes.", "Unpack it before reading.")
    try:
        for batch in parquet.ParquetFile(stream).iter_batches(batch_size=1024):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name} is not a readable Parquet file: {reason}", "Save it again.") from None


_FORMATS: dict[str, Callable[[io.BufferedIOBase, str], Iterator[Record]]] = {
    ".csv": partial(_separated, delimiter=","),
    ".tsv": partial(_separated, delimiter="\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
