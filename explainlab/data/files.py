"""Reading a data set from a file: CSV, TSV, JSONL or Parquet, each also gzipped.

A file has the columns ``text`` and ``label`` (a class index or name) and optionally ``text_b`` (the second text of a
pair), ``rationale`` and ``rationale_b`` (the human evidence in each text: a JSON list of ``[start, end)`` character
spans). Whatever else it has is ignored. Files are streamed: of a large file only the rows asked for are read.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from reprlib import repr as quote
from typing import IO, Any

from explainlab.data.examples import PREFIX, embedded_examples
from explainlab.errors import DataError
from explainlab.settings import settings

ROLES = ("text", "label", "text_b", "rationale", "rationale_b")

Span = tuple[int, int]
Record = dict[str, Any]

# Guards against files that unpack to more than memory holds; texts have their own, far lower limit in the settings.
_MAX_LINE_BYTES = 16 * 2**20
_MAX_UNPACKED_BYTES = 2**30
csv.field_size_limit(_MAX_LINE_BYTES)

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled text or pair of texts.

    ``number`` counts the file's data rows from 1, without the header. ``label`` is the class name, or what the file
    says if no class names were given, or None. Rationales are ``[start, end)`` character spans of the text they belong
    to; an empty tuple means "nothing marked", None means "not annotated".
    """

    number: int
    text: str
    text_pair: str | None = None
    label: str | None = None
    rationale: tuple[Span, ...] | None = None
    rationale_pair: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class Dataset:
    """The rows read from one source, and the bad rows that were left out, as ``(row number, reason)``."""

    name: str
    rows: tuple[Row, ...]
    skipped: tuple[tuple[int, str], ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rows in hexadecimal; the same rows give the same digest in whatever format they were kept."""
        digest = hashlib.sha256()
        for row in self.rows:
            values = [row.number, row.text, row.text_pair, row.label, row.rationale, row.rationale_pair]
            digest.update(json.dumps(values).encode() + b"\n")
        return digest.hexdigest()


def source_digest(path: str | Path) -> str:
    """SHA-256 of the very file behind a path or an embedded id, in hexadecimal; read anew only once it has changed.

    Raises :class:`DataError` for a file that is missing or cannot be read.
    """
    name, file = _locate(path)
    try:
        status = file.stat()
        return _file_digest(file.absolute(), status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.", "Check the file.") from None


def read_dataset(
    path: str | Path,
    labels: Sequence[str] | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Dataset:
    """Read the data set at ``path``: a file, or the id of an embedded example set (``embedded:...``).

    ``labels`` are the model's class names in order: every row then needs a label, and it becomes the name it matches
    (exactly, else in another case, else as an index from 0). Without ``labels`` the label column may be missing or
    empty, and labels stay as written. ``limit`` ends the reading after that many good rows. ``skip_bad`` collects bad
    rows in ``Dataset.skipped`` instead of raising. ``columns`` maps roles (see ``ROLES``) to the file's column names.

    Raises :class:`DataError` for a file that is missing, malformed, empty or not UTF-8, for missing columns, for the
    first bad row (unless skipped) with its number, and beyond the settings' ``max_rows`` and ``max_characters``.
    """
    if limit is not None and limit < 1:
        raise DataError(f"The limit of {limit} rows leaves no data.", "Use a limit of at least 1.")
    name, path = _locate(path)
    read_row = partial(_row, columns=_column_names(columns), classes=_Classes(labels) if labels is not None else None)
    rows: list[Row] = []
    skipped: list[tuple[int, str]] = []
    for number, record in enumerate(_records(path), start=1):
        if number == 1:
            _check_columns(name, record, columns or {}, needs_label=labels is not None)
        if number > settings().max_rows:
            raise DataError(f"{name} has more than {settings().max_rows:,} rows.", "Split it, or read it with a limit.")
        try:
            rows.append(read_row(number, record))
        except DataError as error:
            if not skip_bad:
                raise DataError(f"Row {number} of {name}: {error.problem}", error.remedy) from None
            skipped.append((number, error.problem))
        if len(rows) == limit:
            break
    if not rows:
        raise _nothing_left(name, skipped)
    return Dataset(name, tuple(rows), tuple(skipped))


# ---- where and which columns


@lru_cache(maxsize=64)
def _file_digest(file: Path, _size: int, _changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _locate(path: str | Path) -> tuple[str, Path]:
    """The name to show and the existing file behind a path or an embedded id."""
    if str(path).startswith(PREFIX):
        return str(path), embedded_examples(str(path)).path
    path = Path(path)
    try:
        if path.is_file():
            return path.name, path
        siblings = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
    except OSError as error:
        raise DataError(f"There is no data file {str(path)!r}: {error.strerror}.", "Check the path.") from None
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder, not a data file.", "Name a file in it.")
    near = get_close_matches(path.name, siblings)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "Check the path."
    raise DataError(f"There is no data file {str(path)!r}.", remedy)


def _column_names(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The column of every role: the one given, else the one of the role's own name."""
    unknown = sorted(set(columns or {}) - set(ROLES))
    if unknown:
        raise DataError(f"There is no column role {unknown[0]!r}.", f"The roles are {', '.join(ROLES)}.")
    return {role: role for role in ROLES} | dict(columns or {})


def _check_columns(name: str, record: Record, columns: Mapping[str, str], needs_label: bool) -> None:
    """Raise unless the first record has the columns that were named and those that every file needs."""
    needed = {"text", *columns} | ({"label"} if needs_label else set())
    missing = [columns.get(role, role) for role in ROLES if role in needed and columns.get(role, role) not in record]
    if missing:
        wanted, found = (", ".join(map(quote, islice(some, 20))) for some in (missing, record))
        raise DataError(
            f"{name} has no column {wanted}; the columns found are {found or 'none'}.",
            f"Rename the right column to {missing[0]!r}; in CSV and TSV files the first line holds the names.",
        )


def _nothing_left(name: str, skipped: list[tuple[int, str]]) -> DataError:
    """The error of a source without a single good row."""
    if not skipped:
        return DataError(f"{name} has no data rows.", "A data file needs a text column and at least one row.")
    number, reason = skipped[0]
    return DataError(f"All rows of {name} are bad ({len(skipped)}); row {number}: {reason}", "Mend the file.")


# ---- one row's cells


class _Classes:
    """A model's class names, and the match of what a file says to them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.by_case = {name.casefold(): name for name in reversed(self.names)}

    def match(self, label: str) -> str:
        """The class that a label names, or numbers from 0; raises :class:`DataError` if it is no class."""
        if label in self.names:
            return label
        if label.casefold() in self.by_case:
            return self.by_case[label.casefold()]
        index = re.fullmatch(r"(\d{1,9})(\.0+)?", label, re.ASCII)
        if index and int(index[1]) < len(self.names):
            return self.names[int(index[1])]
        raise DataError(
            f"The label {quote(label)} is no class of the model." if label else "The label is missing.",
            f"Use {' or '.join(self.names)}, or an index from 0 to {len(self.names) - 1}; or skip bad rows.",
        )


def _row(number: int, record: Record, columns: Mapping[str, str], classes: _Classes | None) -> Row:
    """A record as a checked row; raises :class:`DataError` without the row's number."""
    cell = {role: record.get(column) for role, column in columns.items()}
    text = _text(cell["text"], columns["text"])
    pair = _text(cell["text_b"], columns["text_b"]) if columns["text_b"] in record else None
    return Row(
        number=number,
        text=text,
        text_pair=pair,
        label=_label(cell["label"], classes),
        rationale=_spans(cell["rationale"], columns["rationale"], text),
        rationale_pair=_spans(cell["rationale_b"], columns["rationale_b"], pair or ""),
    )


def _text(value: Any, column: str) -> str:
    """A text that is a string, not blank, encodable and within the character limit."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise DataError(f"The {column} is empty.", "Fill it in, or remove the row.")
    if not isinstance(value, str):
        raise DataError(f"The {column} is not a string but {type(value).__name__}.", "Write it as a quoted string.")
    if len(value) > settings().max_characters:
        raise DataError(
            f"The {column} has {len(value):,} characters; the limit is {settings().max_characters:,}.",
            "Shorten it, or raise EXPLAINLAB_MAX_CHARACTERS.",
        )
    if _SURROGATE.search(value):
        raise DataError(f"The {column} holds half a character (a lone surrogate).", "Remove it from the text.")
    return value


def _label(value: Any, classes: _Classes | None) -> str | None:
    """The label as a class name, or as written if there are no classes to match; None if it is empty then."""
    label = "" if value is None else str(value).strip()
    return classes.match(label) if classes else label or None


def _spans(value: Any, column: str, text: str) -> tuple[Span, ...] | None:
    """The character spans in a rationale cell; None if the cell is empty."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise DataError(f"The {column} is not JSON.", "Write it as [[start, end], ...].") from None
    if not isinstance(value, list) or not all(_is_pair(span) for span in value):
        raise DataError(f"The {column} is not a list of spans.", "Write it as [[start, end], ...], in characters.")
    for start, end in value:
        if not 0 <= start < end <= len(text):
            raise DataError(
                f"The {column} span [{start}, {end}) is not inside the text of {len(text)} characters.",
                "Spans count characters from 0, and the end is the first character after the span.",
            )
    return tuple((start, end) for start, end in value)


def _is_pair(span: Any) -> bool:
    """Whether this is a list of two whole numbers."""
    return isinstance(span, list) and len(span) == 2 and all(type(edge) is int for edge in span)


# ---- the formats


def _records(path: Path) -> Iterator[Record]:
    """The file's records, one dictionary from column to value a data row; every damage becomes a DataError."""
    packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if packed else path.name).suffix.lower()
    if suffix not in _FORMATS:
        raise DataError(
            f"{path.name} is not of a known format.", f"Use {', '.join(_FORMATS)}, each with or without .gz at the end."
        )
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            yield from _FORMATS[suffix](stream, path.name)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path.name} is not a whole gzip file.", "Pack it again, or unpack it first.") from None
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}.", "Check the file.") from None


def _lines(stream: IO[bytes], name: str) -> Iterator[str]:
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


def _separated(stream: IO[bytes], name: str, delimiter: str) -> Iterator[Record]:
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


def _json_lines(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Records of a JSONL file: one JSON object a line; blank lines do not count."""
    for number, line in enumerate(_lines(stream, name), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            detail = getattr(error, "msg", "nested too deeply or a number too long")
            raise DataError(f"Line {number} of {name} is not JSON: {detail}.", "Write one object a line.") from None
        if not isinstance(record, dict):
            raise DataError(f"Line {number} of {name} is not a JSON object.", 'Write {"text": ..., "label": ...}.')
        yield record


def _parquet(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Records of a Parquet file, read batch by batch; a packed one is unpacked into memory first."""
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
        raise DataError(f"{name} is not a readable Parquet file: {reason}", "Write it again.") from None


_FORMATS: dict[str, Callable[[IO[bytes], str], Iterator[Record]]] = {
    ".csv": partial(_separated, delimiter=","),
    ".tsv": partial(_separated, delimiter="\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
