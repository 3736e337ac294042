"""Reading of a data set: its columns, its labels, and the reasons why a row is bad.

A file has the columns ``text`` and ``label`` (a class index or name) and optionally ``text_b`` (the second text of a
pair), ``rationale`` and ``rationale_b`` (the human evidence in each text: a JSON list of ``[start, end)`` character
spans), and ``paraphrase`` (the text in other words; in JSONL and Parquet also a list of such); other columns can be
named instead. All else is ignored, and so are rationales that no question needs. An empty ``text_b`` is no second text.
A label may be in a list of its own, as tools for annotation write it; rows that an annotator rejected or ignored are
left out, where a column ``answer`` has nothing but Prodigy's answers. Files are streamed: of a large file only the
requested rows are read, but for one look at all labels where they are numbers, one at all answers where one rejects,
and one at all lines where tabs separate fields.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import islice, pairwise
from pathlib import Path
from reprlib import repr as quote
from typing import Any

from explainlab.data.doubts import Doubts
from explainlab.data.formats import Record
from explainlab.data.labels import LEFT_OUT, LONGEST_LABEL, Classes, LeftOut, Unclear, label_of
from explainlab.data.rows import Row, Rows, Sample, Span
from explainlab.data.sources import Source, locate, source_state
from explainlab.errors import DataError
from explainlab.limits import MAX_CLASSES, Limits
from explainlab.reader import ANYBODY, Reader

_WRITE = "Write it as [[start, end], ...], in characters."


def read_spans(cell: Any, column: str, text: str) -> tuple[Span, ...] | None:
    """Return the spans of ``text`` in a ``cell``, half-open, in characters from 0; None for an empty cell.

    A cell is a list, or its JSON: of pairs ``[start, end]``; of records with ``start`` and ``end`` (Label Studio,
    Prodigy), whose ``text`` is compared; or of the places of single characters in rising order (SemEval 2021, Task 5).
    Raises :class:`DataError` for any other form, and for a span that is not inside the text.
    """
    if cell is None or cell == "":
        return None
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise DataError(f"The {column} is not JSON.", _WRITE) from None
    if not isinstance(cell, list):
        raise DataError(f"The {column} is not a list of spans.", _WRITE)
    if cell and all(type(place) is int for place in cell):
        spans = _of_places(cell, column)
    else:
        spans = [_span(entry, column) for entry in cell]
    for start, end in spans:
        if not 0 <= start < end <= len(text):
            raise DataError(
                f"The {column} span [{start}, {end}) is not inside the text of {len(text)} characters.",
                "Spans count characters from 0, and the end is the first character after the span.",
            )
    for entry, (start, end) in zip(cell, spans, strict=False):
        if isinstance(entry, dict) and isinstance(entry.get("text"), str) and entry["text"] != text[start:end]:
            here, said = quote(text[start:end]), quote(entry["text"])
            raise DataError(
                f"The {column} span [{start}, {end}) is {here}, and its record says {said}.",
                "Spans count characters from 0; JavaScript counts most emoji as two.",
            )
    return tuple(spans)


def _span(entry: Any, column: str) -> Span:
    """Read the span that a pair or a record names."""
    edges = [entry.get("start"), entry.get("end")] if isinstance(entry, dict) else entry
    if not isinstance(edges, list) or len(edges) != 2 or not all(type(edge) is int for edge in edges):
        if isinstance(edges, list) and edges and all(edge in (0, 1) for edge in edges) and len(edges) > 2:
            raise _marks_words(column)
        raise DataError(f"The {column} is not a list of spans.", _WRITE)
    start, end = edges
    return start, end


def _of_places(places: Sequence[int], column: str) -> list[Span]:
    """Return the runs of neighbours among the ``places`` of single characters."""
    if set(places) <= {0, 1}:
        raise _marks_words(column)
    if len(places) == 2 or any(after <= before for before, after in pairwise(places)):
        raise DataError(f"The {column} is neither a list of spans nor places of characters in rising order.", _WRITE)
    starts = [place for before, place in pairwise([None, *places]) if place is not None and place - 1 != before]
    ends = [place + 1 for place, after in pairwise([*places, None]) if place is not None and place + 1 != after]
    return list(zip(starts, ends, strict=True))


def _marks_words(column: str) -> DataError:
    return DataError(
        f"The {column} has a mark, 0 or 1, for each word.",
        "Write for each marked word its first character and the one after its last, as in [[0, 4], [10, 15]].",
    )


ROLES = ("text", "label", "text_b", "rationale", "rationale_b", "paraphrase")

OPTIONAL_COLUMNS: Mapping[str, str] = {
    "rationale": "Write there which characters are the evidence, as in [[0, 4], [10, 15]], of a second text in "
    "rationale_b; or leave out the metrics that need it.",
    "paraphrase": "Write there each text in other words; or leave out the metrics that need it.",
}
"""Roles of columns that only some questions need, with the content that they expect."""
LOOKED_AT = 1_000
"""Number of first records in which a column is searched: records of a JSON file may have different columns."""

_EACH = "|"
"""The separator of the columns of a label if each class has one."""
_TRUTHS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False, "": False}
"""Truth values of the cells of such a column: True if the class is the label."""
_ANSWER, _ACCEPTED, _NOT_ACCEPTED = "answer", "accept", ("reject", "ignore")
"""The column with the answer of an annotator, the answer that confirms a label, and those that do not."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Dataset:
    """The rows read from a source, and the bad or excluded ones as ``(row number, reason)``.

    ``total``: the number of usable rows of the source; None if its end was not reached. ``notes``: the
    :class:`explainlab.data.doubts.Doubts` about them, and the encoding of a file that is not UTF-8.
    """

    name: str
    rows: Sequence[Row]
    skipped: tuple[tuple[int, str], ...] = ()
    total: int | None = None
    notes: tuple[str, ...] = ()

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
    marks: Collection[str] = (),
    needs_label: bool = True,
) -> Dataset:
    """Read the data set at ``path``: a file, or an id that :func:`explainlab.data.sources.locate` knows.

    ``labels`` are the model's class names in order: every row then needs a label, and it becomes the name that
    :class:`explainlab.data.labels.Classes` finds. Without ``labels`` the label column may be missing or empty, and
    labels stay as written. Unless the question ``needs_label``, no label makes a row bad: one that is no class for
    certain is None. ``limit`` ends the reading after that number of good rows; with a ``seed`` the whole source
    is read, and this number of good rows is drawn at random (see :class:`explainlab.data.rows.Sample`). ``skip_bad``
    collects bad rows in ``Dataset.skipped`` instead of raising. ``columns`` maps roles (see ``ROLES``) to the file's
    column names. ``classes`` maps labels as the file writes them to classes, or to :data:`LEFT_OUT`: rows with such a
    label are always in ``Dataset.skipped``, and never raise. A file without a line of names has its columns named by
    their numbers, from 1. If each class has a column that is true or false, all of them name the label: ``{"label":
    "negative|positive"}``. ``marks`` are the roles of :data:`OPTIONAL_COLUMNS` that a question needs: only then a row
    is bad if its rationale cannot be read; otherwise it has none.

    Raises :class:`DataError` for a file that is missing, malformed or empty, for missing columns, for the first bad row
    (unless skipped) with its number, for the first number whose column has no clear meaning (also with ``skip_bad``),
    for classes that the model does not have, and beyond the limits of the ``reader``, whose uploads are read.
    """
    if limit is not None and limit < 1:
        raise DataError(f"The limit of {limit} rows leaves no data.", "Use a limit of at least 1.")
    source = locate(path, reader)
    name, rows = source.name, Rows()
    skipped: list[tuple[int, str]] = []
    remedy = ""
    sample = None if seed is None or limit is None else Sample(limit, seed)
    doubts, notes = Doubts(source, columns or {}, labels, marks), list[str]()
    for number, record, row in stream_rows(path, labels, columns, classes, reader, marks, notes, needs_label):
        if isinstance(row, Row):
            doubts.see(record, row)
            (rows.append if sample is None else sample.see)(row)
        elif isinstance(row, LeftOut) or (skip_bad and not isinstance(row, Unclear)):
            skipped.append((number, row.problem))
            remedy = remedy or row.remedy
        else:
            raise DataError(f"Row {number} of {name}: {row.problem}", row.remedy)
        if sample is None and len(rows) == limit:
            return Dataset(name, rows, tuple(skipped), notes=(*notes, *doubts.notes))
    total = len(rows) if sample is None else sample.seen
    if not total:
        raise _nothing_left(name, skipped, remedy)
    return Dataset(name, rows if sample is None else sample.rows(), tuple(skipped), total, (*notes, *doubts.notes))


def stream_rows(
    path: str | Path,
    labels: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
    marks: Collection[str] = (),
    notes: list[str] | None = None,
    needs_label: bool = True,
) -> Iterator[tuple[int, Record, Row | DataError]]:
    """Yield for each row its number, its cells by column, and the row or the reason why it cannot be used.

    No row is kept in memory. The arguments and the errors are those of :func:`read_dataset`, except the errors of bad
    rows. If labels are numbers of classes, the whole column is read before the first row. Warnings about the source are
    added to ``notes``.
    """
    source, names = locate(path, reader), column_names(columns)
    named = {role: names[role] for role in columns or {}}
    known = Classes(labels, classes or {}, partial(_labels, str(path), names["label"], tuple(named.values()), reader))
    are_judged = cache(partial(_are_judged, str(path), tuple(named.values()), reader))
    for number, record in enumerate(source.records(reader, named.values(), notes), start=1):
        if number == 1:
            requires_label = (needs_label and labels is not None) or leaves_out(classes or {})
            _check_columns(source, record, named, requires_label, (), reader)
        if number > reader.limits.max_rows:
            problem = f"{source.name} has more than {reader.limits.max_rows:,} rows."
            raise DataError(problem, "Split it, or take only its first rows.")
        label = label_cell(record, names["label"])
        known.find(label)  # the first number reads the whole column: its errors end all
        try:
            if names["label"] != _ANSWER and record.get(_ANSWER) in _NOT_ACCEPTED and are_judged():
                raise LeftOut(f"Its {_ANSWER} is {record[_ANSWER]}: the annotator did not accept its label.")
            yield number, record, _row(number, record, label, names, known, reader.limits, marks, needs_label)
        except DataError as error:
            heads = {} if number > 1 or isinstance(error, LeftOut) else headings(record, named, known)
            options = " ".join(f"--column {shlex.quote(f'{role}={name}')}" for role, name in heads.items())
            remedy = f"The first line has the names of the columns: name them, on the command line by {options}"
            yield number, record, DataError(error.problem, remedy) if heads else error


# ---- which columns


def require_columns(
    path: str | Path,
    columns: Mapping[str, str],
    needs_label: bool,
    marks: Collection[str] = (),
    reader: Reader = ANYBODY,
) -> None:
    """Raise :class:`DataError` as :func:`read_dataset` for a missing column; read only the first records.

    ``marks`` are further required roles of :data:`OPTIONAL_COLUMNS`. An empty file passes.
    """
    names = column_names(columns)
    named = tuple((role, names[role]) for role in sorted(columns))
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
    """Check as :func:`require_columns`, once for each version of a file: pages ask often."""
    columns = dict(named)
    source = locate(path, reader)
    first = next(source.records(reader, columns.values()), None)
    if first is not None:
        _check_columns(source, first, columns, needs_label, marks, reader)


def leaves_out(classes: Mapping[str, str]) -> bool:
    """Tell whether rows are left out for their label, so that a label column is needed."""
    return LEFT_OUT in classes.values()


def without_marks(name: str, role: str, columns: Mapping[str, str]) -> DataError:
    """Return the error of a data set, called ``name``, without cells for a ``role`` of :data:`OPTIONAL_COLUMNS`."""
    column = quote(column_names(columns)[role])
    return DataError(
        f"{name} gives no {role}: its column {column} is missing or empty in all rows read.", OPTIONAL_COLUMNS[role]
    )


def headings(first: Record, columns: Mapping[str, str], known: Classes) -> dict[str, str]:
    """Return by role the names of ``columns`` that are numbers; none, unless the ``first`` record likely holds them."""
    if [*first] != [str(place + 1) for place in range(len(first))] or columns.get("label") not in first:
        return {}
    if not known.is_heading(label_of(first[columns["label"]])):
        return {}
    return {role: str(first[column]).strip() for role, column in columns.items() if column in first}


def column_names(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the column of every role: from ``columns``, else the column with the role's own name."""
    unknown = sorted(set(columns or {}) - set(ROLES))
    if unknown:
        raise DataError(f"There is no column role {unknown[0]!r}.", f"The roles are {', '.join(ROLES)}.")
    return {role: role for role in ROLES} | {role: str(column) for role, column in (columns or {}).items()}


def columns_of(source: Source, columns: Mapping[str, str], reader: Reader) -> dict[str, None]:
    """Return the columns of the first records, in their order; those of ``columns`` are named."""
    first = islice(source.records(reader, columns.values()), LOOKED_AT)
    return dict.fromkeys(column for record in first for column in record)


def missing_columns(found: Collection[str], columns: Mapping[str, str], needs_label: bool) -> dict[str, str]:
    """Return by role the columns that are not ``found``, of the named ones and the required ones."""
    needed = {"text", *columns} | ({"label"} if needs_label else set())
    names = {role: columns.get(role, role) for role in ROLES if role in needed}
    if "label" in names and _of_classes(names["label"], found):
        del names["label"]
    return {role: column for role, column in names.items() if column not in found}


def _check_columns(
    source: Source,
    first: Record,
    columns: Mapping[str, str],
    needs_label: bool,
    marks: Collection[str],
    reader: Reader,
) -> None:
    """Raise unless a file has the named columns, the required ones, and those of ``marks``.

    Further records are read, and may have them, only where the ``first`` has not.
    """
    names = column_names(columns)
    found: Collection[str] = first
    if missing_columns(first, columns, needs_label) or any(names[role] not in first for role in marks):
        found = columns_of(source, columns, reader)
    missing = missing_columns(found, columns, needs_label)
    if missing:
        absent, existing = (", ".join(map(quote, islice(some, 20))) for some in (missing.values(), found))
        name = next(iter(missing.values()))
        classes = " Columns of classes are named together: label=no|yes." if "label" in missing else ""
        raise DataError(
            f"{source.name} has no column {absent}; the columns found are {existing or 'none'}.",
            f"Say which column it is, or rename it {name!r}; in CSV and TSV files the first line names them, or number "
            f"them: text=1.{classes}",
        )
    for role in marks:
        if names[role] not in found:
            raise without_marks(source.name, role, columns)


def _nothing_left(name: str, skipped: list[tuple[int, str]], remedy: str) -> DataError:
    """Return the error of a source without a good row, and the ``remedy`` of the first row that has one."""
    if not skipped:
        return DataError(f"{name} has no data rows.", "A data file needs a text column and at least one row.")
    number, reason = skipped[0]
    return DataError(f"No row of {name} can be used; row {number}: {reason}", remedy or "Correct the file.")


# ---- one row's cells


def _labels(path: str, column: str, named: tuple[str, ...], reader: Reader) -> Collection[str]:
    """Return the different labels in a ``column`` of a data set, whose columns are ``named``.

    The file is read once for each of its versions.
    """
    return _different(path, source_state(path, reader), column, named, reader)


@lru_cache(maxsize=16)
def _different(path: str, _state: object, column: str, named: tuple[str, ...], reader: Reader) -> Collection[str]:
    labels: dict[str, None] = {}
    for record in islice(locate(path, reader).records(reader, named), reader.limits.max_rows):
        label = label_of(label_cell(record, column))
        if len(label) <= LONGEST_LABEL:
            labels[label] = None
        if len(labels) > MAX_CLASSES:
            break
    return tuple(labels)


def _are_judged(path: str, named: tuple[str, ...], reader: Reader) -> bool:
    """Tell whether all answers of a data set are an annotator's answers to a proposed label.

    The file is read once for each of its versions, up to the first other answer.
    """
    return _has_only_answers(path, source_state(path, reader), named, reader)


@lru_cache(maxsize=16)
def _has_only_answers(path: str, _state: object, named: tuple[str, ...], reader: Reader) -> bool:
    records = islice(locate(path, reader).records(reader, named), reader.limits.max_rows)
    return all(label_of(record.get(_ANSWER)) in ("", _ACCEPTED, *_NOT_ACCEPTED) for record in records)


def _of_classes(column: str, found: Collection[str]) -> list[str]:
    """Return the columns that ``column`` names with bars between, one a class; none if it is a single column."""
    if column in found:
        return []
    parts = column.split(_EACH)
    return parts if len(parts) > 1 and all(part in found for part in parts) else []


def label_cell(record: Record, column: str) -> Any:
    """Return the cell of a label; where each class has a column of its own, the list of those that are true."""
    parts = _of_classes(column, record)
    if not parts:
        return record.get(column)
    truths = {part: _TRUTHS.get(label_of(record[part]).casefold()) for part in parts}
    return [part if true else f"{part}={record[part]}" for part, true in truths.items() if true is not False]


def _row(
    number: int,
    record: Record,
    label: Any,
    columns: Mapping[str, str],
    classes: Classes,
    limits: Limits,
    marks: Collection[str],
    needs_label: bool,
) -> Row:
    """Return a record, whose :func:`label_cell` is ``label``, as a checked row.

    Raises :class:`DataError` without the row's number.
    """
    cell = {role: record.get(column) for role, column in columns.items()}
    classes.require_kept(label)
    text = _text(cell["text"], columns["text"], limits)
    pair = None if _is_empty(cell["text_b"]) else _text(cell["text_b"], columns["text_b"], limits)
    if needs_label and isinstance(label, list) and len(label) > 1:
        raise DataError(f"The {columns['label']} has {len(label)} labels.", "Give every row a single label.")
    return Row(
        number=number,
        text=text,
        text_pair=pair,
        label=classes.match(label) if needs_label else classes.find(label),
        rationale=_rationale(cell["rationale"], columns["rationale"], text, marks),
        rationale_pair=_rationale(cell["rationale_b"], columns["rationale_b"], pair or "", marks),
        paraphrases=tuple(_paraphrases(cell["paraphrase"], columns["paraphrase"], limits)),
    )


def _text(value: Any, column: str, limits: Limits) -> str:
    """Return a text if it is a string, not blank, encodable and within the character limit."""
    if _is_empty(value):
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


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _rationale(value: Any, column: str, text: str, marks: Collection[str]) -> tuple[Span, ...] | None:
    """Return the spans in a cell; a cell in no known form raises only where rationales are among ``marks``."""
    if value is None:
        return None
    with nullcontext() if "rationale" in marks else suppress(DataError):
        return read_spans(value, column, text)
    return None


def _paraphrases(value: Any, column: str, limits: Limits) -> Iterator[str]:
    """Yield the paraphrases in a cell, a string or a list; skip invalid ones, as few questions read this column."""
    for text in value if isinstance(value, list) else [value]:
        if _is_empty(text):
            continue
        with suppress(DataError):
            yield _text(text, column, limits)
