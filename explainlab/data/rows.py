"""The rows of a data set, which may not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explainlab.disk_backed import DiskList

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled text or pair of texts.

    ``number`` counts the file's data rows from 1, without the header. ``label`` is the class name, or as written if
    there are no class names, or None. Rationales are ``[start, end)`` character spans of the text they belong
    to; an empty tuple means "nothing marked", None means "not annotated". ``paraphrases`` are of the text.
    """

    number: int
    text: str
    text_pair: str | None = None
    label: str | None = None
    rationale: tuple[Span, ...] | None = None
    rationale_pair: tuple[Span, ...] | None = None
    paraphrases: tuple[str, ...] = ()


class Rows(DiskList[Row]):
    """A list of rows: see :class:`explainlab.disk_backed.DiskList`."""

    def __init__(self) -> None:
        super().__init__(_cells, _row)


def _cells(row: Row) -> list[Any]:
    return [row.number, row.text, row.text_pair, row.label, row.rationale, row.rationale_pair, row.paraphrases]


def _row(cells: list[Any]) -> Row:
    """Return the row of the JSON of its cells."""
    number, text, text_pair, label, rationale, rationale_pair, paraphrases = cells
    return Row(number, text, text_pair, label, _spans(rationale), _spans(rationale_pair), tuple(paraphrases))


def _spans(cell: list[list[int]] | None) -> tuple[Span, ...] | None:
    return None if cell is None else tuple((start, end) for start, end in cell)
