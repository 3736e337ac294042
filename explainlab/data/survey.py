"""A data set before use: its columns and first rows, the classes of its labels, and names that do not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from reprlib import repr as quote
from typing import Any

from explainlab.data.files import LOOKED_AT, column_names, headings, label_cell, missing_columns, stream_rows
from explainlab.data.formats import Record
from explainlab.data.labels import LONGEST_LABEL, Classes, label_of, nearest, proposed
from explainlab.data.rows import Row
from explainlab.data.sources import Source, locate
from explainlab.errors import DataError
from explainlab.reader import ANYBODY, Reader

MOST_LABELS = 1_000
"""Most distinct values of a column of classes."""
LISTED = 1_000
"""Bad rows that are listed; all are counted."""
LISTED_NAMES = 5
"""Names that a sentence lists."""
SHOWN = 500
"""Characters of a cell that a preview shows."""


@dataclass(frozen=True)
class Preview:
    """The columns of the first records of a data set, and the cells of these records as text, by column.

    ``numbers`` name the columns if the first line is a row; there are none in a format with names. ``notes``: warnings
    about the file.
    """

    name: str
    columns: tuple[str, ...]
    records: tuple[dict[str, str], ...]
    numbers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """A label as a file writes it (empty: no label), its number of rows, and its class, if any."""

    label: str
    rows: int
    names: str | None


@dataclass(frozen=True)
class Survey:
    """The numbers of usable and unusable rows of a data set (the first of these as ``(number, reason)``).

    ``labels``: all labels in the file's spelling, the most frequent first.
    """

    name: str
    rows: int
    bad: int
    skipped: tuple[tuple[int, str], ...]
    labels: tuple[Written, ...]

    @property
    def mismatched(self) -> tuple[Written, ...]:
        """The labels that are no class of the model."""
        return tuple(written for written in self.labels if written.names is None)


@dataclass(frozen=True)
class Misfit:
    """Names that do not fit: the ``problem``, and the nearest ``columns`` for roles that have none, or have numbers.

    ``of_labels``: with these columns there are labels that are no class of the model.
    """

    problem: str
    columns: dict[str, str]
    of_labels: bool


def preview(
    path: str | Path, rows: int = 5, reader: Reader = ANYBODY, columns: Mapping[str, str] | None = None
) -> Preview:
    """Return the first ``rows`` records of a data set, their cells cut to 500 characters; no more of its file is read.

    In a file with tabs all lines are scanned once, for its quotation marks. ``columns`` are the named ones. Raises
    :class:`DataError` for a file that is missing, of an unknown format, or damaged at its beginning.
    """
    source, notes = locate(path, reader), list[str]()
    records = islice(source.records(reader, (columns or {}).values(), notes), rows)
    cells = [{name: _shown(cell) for name, cell in record.items()} for record in records]
    names = tuple(dict.fromkeys(column for record in cells for column in record))
    numbers = tuple(str(place + 1) for place in range(len(names))) if source.is_separated else ()
    return Preview(source.name, names, tuple(cells), numbers, tuple(notes))


def survey(
    path: str | Path,
    labels: Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
) -> Survey:
    """Read a whole data set, holding none of its rows, for a model with the class names ``labels`` (None: for any).

    ``columns`` and ``classes`` as for :func:`explainlab.data.files.read_dataset`, whose errors it raises; but bad rows
    are counted. Also raises :class:`DataError` for over 1,000 different labels, and for one of over 200 characters.
    """
    column = column_names(columns)["label"]
    good, bad = 0, 0
    skipped: list[tuple[int, str]] = []
    written: Counter[str] = Counter()
    for number, record, row in stream_rows(path, labels, columns, classes, reader):
        label = label_of(label_cell(record, column))
        if len(label) > LONGEST_LABEL:
            problem = f"Row {number} has a label of {len(label):,} characters in the column {quote(column)}."
            raise DataError(problem, "Choose another column.")
        written[label] += 1
        if len(written) > MOST_LABELS:
            raise DataError(f"The column {column} has over {MOST_LABELS:,} different labels.", "Choose another column.")
        if isinstance(row, Row):
            good += 1
            continue
        bad += 1
        if len(skipped) < LISTED:
            skipped.append((number, row.problem))
    known = Classes(labels, classes or {}, lambda: written)
    counts = tuple(Written(label, n, known.find(label)) for label, n in written.most_common())
    return Survey(locate(path, reader).name, good, bad, tuple(skipped), counts)


def misfit(
    path: str | Path,
    labels: Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
    needs_label: bool = True,
) -> Misfit | None:
    """Return missing columns, and labels of the first 1,000 records that are no class; None if all fits.

    The arguments and errors are those of :func:`explainlab.data.files.read_dataset`. An empty file fits. If the
    question does not ``needs_label``, labels are a misfit only where a class is likely for all of them.
    """
    source, named = locate(path, reader), dict(columns or {})
    found, written, first = _labelled(source, named, reader)
    missing = missing_columns(found, named, labels is not None) if found else {}
    near: dict[str, str] = {}
    for role, column in missing.items():
        taken = {*named.values(), *near.values()}
        name = nearest(column, [other for other in found if other not in taken])
        near |= {role: name} if name else {}
    if "label" in near:
        _, written, _ = _labelled(source, named | near, reader)
    known = Classes(labels, classes or {}, lambda: written)
    unread = [label for label in written if label and label not in known.left_out and known.find(label) is None]
    needed = needs_label or "label" in named or bool(classes)
    likely = any(written) and all(map(proposed(unread, labels or ()).get, unread))
    if not (needed or likely):
        unread = []
        missing, near = ({role: name for role, name in own.items() if role != "label"} for own in (missing, near))
    problems = [f"{source.name} has no column {_quoted(missing.values())}."] if missing else []
    heads = headings(first, named, known)
    if heads:
        problems.append(f"The first line of {source.name} has the names of its columns.")
        near, written = heads, [label for label in written if label != label_of(first[named["label"]])]
        known = Classes(labels, classes or {}, lambda: written)
    strange = [label for label in unread if label in written and known.find(label) is None]
    doubts = {label: doubt for label in strange if (doubt := known.doubt(label))}
    if len(doubts) < len(strange):
        problems.append(
            f"No class of the model is called {_quoted(label for label in strange if label not in doubts)}."
        )
    problems += [f"The labels may mean other classes: {doubt}." for doubt in set(doubts.values())]
    return Misfit(" ".join(problems), near, bool(strange)) if problems else None


def _labelled(source: Source, columns: Mapping[str, str], reader: Reader) -> tuple[dict[str, None], list[str], Record]:
    """Return the columns of the first records, their different labels, and the first one; ``columns`` are named."""
    found: dict[str, None] = {}
    written: dict[str, None] = {}
    first: Record = {}
    column = column_names(columns)["label"]
    for record in islice(source.records(reader, columns.values()), LOOKED_AT):
        first = first or record
        found.update(dict.fromkeys(record))
        written[label_of(label_cell(record, column))[:SHOWN]] = None
    return found, [*written], first


def _quoted(names: Iterable[str]) -> str:
    """Join the first of ``names`` for a sentence that denies them: "'a', 'b' or 'c'"."""
    first = [quote(name) for name in islice(names, LISTED_NAMES + 1)]
    *others, last = [*first[:LISTED_NAMES], "others"] if len(first) > LISTED_NAMES else first
    return f"{', '.join(others)} or {last}" if others else last


def _shown(cell: Any) -> str:
    """Return the beginning of a cell as text; empty if the cell is."""
    return "" if cell is None else str(cell)[:SHOWN]
