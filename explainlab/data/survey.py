"""A data set before use: its columns and first rows, and the classes that its labels name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from explainlab.data.files import Classes, Row, column_names, stream_rows
from explainlab.data.sources import locate
from explainlab.errors import DataError
from explainlab.reader import ANYBODY, Reader

MOST_LABELS = 1_000
"""Most distinct values of a column of classes."""
LISTED = 1_000
"""Bad rows that are listed; all are counted."""


@dataclass(frozen=True)
class Preview:
    """The columns that the first records of a data set have, and the cells of these records as text, by column."""

    name: str
    columns: tuple[str, ...]
    records: tuple[dict[str, str], ...]


@dataclass(frozen=True)
class Written:
    """A label as a file writes it (empty: no label), its number of rows, and the class that it names, if any."""

    label: str
    rows: int
    names: str | None


@dataclass(frozen=True)
class Survey:
    """How many rows of a data set can be used and how many cannot (the first of them as ``(number, reason)``).

    ``labels``: all that the file writes as a label, the most frequent first.
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


def preview(path: str | Path, rows: int = 5, reader: Reader = ANYBODY) -> Preview:
    """The first ``rows`` records of a data set; no more of its file is read.

    Raises :class:`DataError` for a file that is missing, of an unknown format, or damaged at its beginning.
    """
    source = locate(path, reader)
    records = list(islice(source.records(), rows))
    columns = tuple(dict.fromkeys(column for record in records for column in record))
    cells = [{name: "" if cell is None else str(cell) for name, cell in record.items()} for record in records]
    return Preview(source.name, columns, tuple(cells))


def survey(
    path: str | Path,
    labels: Sequence[str],
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
) -> Survey:
    """Read a whole data set, holding none of its rows, for a model with the class names ``labels``.

    ``columns`` and ``classes`` as for :func:`explainlab.data.files.read_dataset`, whose errors it raises; but bad rows
    are counted. Also raises :class:`DataError` for over 1,000 different labels.
    """
    column = column_names(columns)["label"]
    good, bad = 0, 0
    skipped: list[tuple[int, str]] = []
    written: Counter[str] = Counter()
    for number, record, row in stream_rows(path, labels, columns, classes, reader):
        cell = record.get(column)
        written["" if cell is None else str(cell).strip()] += 1
        if len(written) > MOST_LABELS:
            raise DataError(f"The column {column} has over {MOST_LABELS:,} different labels.", "Choose another column.")
        if isinstance(row, Row):
            good += 1
            continue
        bad += 1
        if len(skipped) < LISTED:
            skipped.append((number, row.problem))
    known = Classes(labels, classes or {})
    counts = tuple(Written(label, n, _named(known, label)) for label, n in written.most_common())
    return Survey(locate(path, reader).name, good, bad, tuple(skipped), counts)


def _named(classes: Classes, label: str) -> str | None:
    try:
        return classes.match(label)
    except DataError:
        return None
