"""Reading a data set: its columns, its labels, and what makes a row bad.

A file has the columns ``text`` and ``label`` (a class index or name) and optionally ``text_b`` (the second text of a
pair), ``rationale`` and ``rationale_b`` (the human evidence in each text: a JSON list of ``[start, end)`` character
spans), and ``paraphrase`` (the text in other words; in JSONL and Parquet also a list of such); other columns can be
named instead. All else is ignored. Files are streamed: of a large file only the requested rows are read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from reprlib import repr as quote
from typing import Any

from explainlab.data.formats import Record
from explainlab.data.labels import LEFT_OUT, LONGEST_LABEL, Classes, LeftOut, Unclear, label_of
from explainlab.data.rows import Row, Rows, Span
from explainlab.data.sampling import Sample
from explainlab.data.sources import locate, source_state
from explainlab.errors import DataError
from explainlab.limits import MAX_CLASSES, Limits
from explainlab.reader import ANYBODY, Reader

ROLES = ("text", "label", "text_b", "rationale", "rationale_b", "paraphrase")

MARKS: Mapping[str, str] = {
    "rationale": "Write there which characters are the evidence, as in [[0, 4], [10, 15]], of a second text in "
    "rationale_b; or leave out the metrics that need it.",
    "paraphrase": "Write there each text in other words; or leave out the metrics that need it.",
}
"""Roles of columns that only some questions need: what to write there."""
_LOOKED_AT = 1_000
"""Further records in which such a column is looked for: those of a JSONL file may have different ones."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Dataset:
    """The rows read from a source, and those that were left out, bad or as was asked, as ``(row number, reason)``.

    ``total``: the rows of the source that can be used; None where its end was not reached.
    """

    name: str
    rows: Sequence[Row]
    skipped: tuple[tuple[int, str], ...] = ()
    total: int | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rows in hexadecimal; the same rows give the same digest in every file format."""
        digest = hashlib.sha256()
        for row in self.rows:
            values = [row.number, row.text, row.text_pair, row.label, row.rationale, row.rationale_pair]
            digest.update(json.dumps([*values, *row.paraphrases]).encode() + b"\n")
        return digest.hexdigest()


def read_dataset(
    path: str | Path,
    labels: Sequence[str] | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
    seed: int | None = None,
) -> Dataset:
    """Read the data set at ``path``: a file, or what else :func:`explainlab.data.sources.locate` knows by an id.

    ``labels`` are the model's class names in order: every row then needs a label, and it becomes the name that
    :class:`explainlab.data.labels.Classes` finds. Without ``labels`` the label column may be missing or
    empty, and labels stay as written. ``limit`` ends the reading after that many good rows; with a ``seed`` the whole
    source is read instead, and so many good rows are drawn at random (see :class:`explainlab.data.sampling.Sample`).
    ``skip_bad`` collects bad rows in ``Dataset.skipped`` instead of raising. ``columns`` maps roles (see ``ROLES``) to
    the file's column names, ``classes`` labels as the file writes them to what they mean, or to :data:`LEFT_OUT`: rows
    with such a label are always in ``Dataset.skipped``, and never raise.

    Raises :class:`DataError` for a file that is missing, malformed, empty or not UTF-8, for missing columns, for the
    first bad row (unless skipped) with its number, for the first number whose column has no clear meaning (also where
    bad rows are skipped), for classes that are none of the model's, and beyond the limits of the ``reader``, whose
    uploads are read.
    """
    if limit is not None and limit < 1:
        raise DataError(f"The limit of {limit} rows leaves no data.", "Use a limit of at least 1.")
    name = locate(path, reader).name
    rows = Rows()
    skipped: list[tuple[int, str]] = []
    remedy = ""
    sample = None if seed is None or limit is None else Sample(limit, seed)
    for number, _, row in stream_rows(path, labels, columns, classes, reader):
        if isinstance(row, Row):
            (rows.append if sample is None else sample.see)(row)
        elif isinstance(row, LeftOut) or (skip_bad and not isinstance(row, Unclear)):
            skipped.append((number, row.problem))
            remedy = remedy or row.remedy
        else:
            raise DataError(f"Row {number} of {name}: {row.problem}", row.remedy)
        if sample is None and len(rows) == limit:
            return Dataset(name, rows, tuple(skipped))
    total = len(rows) if sample is None else sample.seen
    if not total:
        raise _nothing_left(name, skipped, remedy)
    return Dataset(name, rows if sample is None else sample.rows(), tuple(skipped), total)


def stream_rows(
    path: str | Path,
    labels: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
) -> Iterator[tuple[int, Record, Row | DataError]]:
    """Yield for each row its number, its cells by column, and the row or why it cannot be used; nothing is held.

    The arguments and the errors are those of :func:`read_dataset`, but for those of a bad row. Where labels are numbers
    of classes, the whole column is read before the first row.
    """
    source = locate(path, reader)
    names = column_names(columns)
    known = Classes(labels, classes or {}, partial(_labels, str(path), names["label"], reader))
    for number, record in enumerate(source.records(reader), start=1):
        if number == 1:
            _check_columns(source.name, record, columns or {}, labels is not None or leaves_out(classes or {}))
        if number > reader.limits.max_rows:
            problem = f"{source.name} has more than {reader.limits.max_rows:,} rows."
            raise DataError(problem, "Split it, or take only its first rows.")
        known.find(record.get(names["label"]))  # at the first number the column is read: its errors end the reading
        try:
            yield number, record, _row(number, record, names, known, reader.limits)
        except DataError as error:
            yield number, record, error


# ---- which columns


def require_columns(
    path: str | Path,
    columns: Mapping[str, str],
    needs_label: bool,
    marks: Collection[str] = (),
    reader: Reader = ANYBODY,
) -> None:
    """Raise :class:`DataError` as :func:`read_dataset` for a missing column; only the first records are read.

    ``marks`` are the roles of :data:`MARKS` that are needed too. Of an empty file nothing is known.
    """
    named = tuple(sorted(columns.items()))
    _has_columns(str(path), source_state(path, reader), named, needs_label, tuple(marks), reader)


@lru_cache(maxsize=256)
def _has_columns(
    path: str,
    _state: object,
    named: tuple[tuple[str, str], ...],
    needs_label: bool,
    marks: tuple[str, ...],
    reader: Reader,
) -> None:
    """As :func:`require_columns`; a file that has them is not read again before it changes: pages ask often."""
    columns = dict(named)
    source = locate(path, reader)
    records = source.records(reader)
    first = next(records, None)
    if first is None:
        return
    _check_columns(source.name, first, columns, needs_label)
    names = column_names(columns)
    absent = [role for role in marks if names[role] not in first]
    others = {column for record in islice(records, _LOOKED_AT) for column in record} if absent else set()
    for role in absent:
        if names[role] not in others:
            raise without_marks(source.name, role, columns)


def leaves_out(classes: Mapping[str, str]) -> bool:
    """Whether rows are left out for their label, so that a label column is needed."""
    return LEFT_OUT in classes.values()


def without_marks(name: str, role: str, columns: Mapping[str, str]) -> DataError:
    """The error of a data set, called ``name``, that has nothing for a ``role`` of :data:`MARKS`."""
    column = quote(column_names(columns)[role])
    return DataError(f"{name} gives no {role}: its column {column} is missing or empty in all rows read.", MARKS[role])


def column_names(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The column of every role: from ``columns``, else of the role's own name."""
    unknown = sorted(set(columns or {}) - set(ROLES))
    if unknown:
        raise DataError(f"There is no column role {unknown[0]!r}.", f"The roles are {', '.join(ROLES)}.")
    return {role: role for role in ROLES} | dict(columns or {})


def missing_columns(record: Record, columns: Mapping[str, str], needs_label: bool) -> dict[str, str]:
    """By role the columns that a record lacks, of the named ones and of those that every file needs."""
    needed = {"text", *columns} | ({"label"} if needs_label else set())
    names = {role: columns.get(role, role) for role in ROLES if role in needed}
    return {role: column for role, column in names.items() if column not in record}


def _check_columns(name: str, record: Record, columns: Mapping[str, str], needs_label: bool) -> None:
    """Raise unless the first record has the named columns and those that every file needs."""
    missing = [*missing_columns(record, columns, needs_label).values()]
    if missing:
        absent, existing = (", ".join(map(quote, islice(some, 20))) for some in (missing, record))
        raise DataError(
            f"{name} has no column {absent}; the columns found are {existing or 'none'}.",
            f"Say which column it is, or rename it {missing[0]!r}; in CSV and TSV files the first line names them.",
        )


def _nothing_left(name: str, skipped: list[tuple[int, str]], remedy: str) -> DataError:
    """The error of a source without a single good row; the ``remedy`` is that of the first bad one."""
    if not skipped:
        return DataError(f"{name} has no data rows.", "A data file needs a text column and at least one row.")
    number, reason = skipped[0]
    return DataError(f"No row of {name} can be used; row {number}: {reason}", remedy or "Correct the file.")


# ---- one row's cells


def _labels(path: str, column: str, reader: Reader) -> Collection[str]:
    """Return the different labels in a column of a data set; a file is read for them once, until it changes."""
    return _different(path, source_state(path, reader), column, reader)


@lru_cache(maxsize=16)
def _different(path: str, _state: object, column: str, reader: Reader) -> Collection[str]:
    labels: dict[str, None] = {}
    for record in islice(locate(path, reader).records(reader), reader.limits.max_rows):
        label = label_of(record.get(column))
        if len(label) <= LONGEST_LABEL:
            labels[label] = None
        if len(labels) > MAX_CLASSES:
            break
    return tuple(labels)


def _row(number: int, record: Record, columns: Mapping[str, str], classes: Classes, limits: Limits) -> Row:
    """A record as a checked row; raises :class:`DataError` without the row's number."""
    cell = {role: record.get(column) for role, column in columns.items()}
    classes.require_kept(cell["label"])
    text = _text(cell["text"], columns["text"], limits)
    pair = _text(cell["text_b"], columns["text_b"], limits) if columns["text_b"] in record else None
    return Row(
        number=number,
        text=text,
        text_pair=pair,
        label=classes.match(cell["label"]),
        rationale=_spans(cell["rationale"], columns["rationale"], text),
        rationale_pair=_spans(cell["rationale_b"], columns["rationale_b"], pair or ""),
        paraphrases=tuple(_paraphrases(cell["paraphrase"], columns["paraphrase"], limits)),
    )


def _text(value: Any, column: str, limits: Limits) -> str:
    """A text that is a string, not blank, encodable and within the character limit."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise DataError(f"The {column} is empty.", "Fill it in, or remove the row.")
    if not isinstance(value, str):
        raise DataError(f"The {column} is not a string but {type(value).__name__}.", "Write it as a quoted string.")
    if len(value) > limits.max_characters:
        raise DataError(
            f"The {column} has {len(value):,} characters; the limit is {limits.max_characters:,}.",
            f"Shorten it. {limits.words('max_characters')}",
        )
    if _SURROGATE.search(value):
        raise DataError(f"The {column} holds half a character (a lone surrogate).", "Remove it from the text.")
    return value


def _paraphrases(value: Any, column: str, limits: Limits) -> Iterator[str]:
    """The texts in a cell, of one or a list; what is no text of a model is none: few questions read this column."""
    for text in value if isinstance(value, list) else [value]:
        with suppress(DataError):
            yield _text(text, column, limits)


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
