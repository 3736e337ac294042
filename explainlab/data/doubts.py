"""Doubts about a data set that was read without an error: signs that its writer meant something else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from reprlib import repr as quote

import regex

from explainlab.data.formats import Record
from explainlab.data.labels import NO_CLASS, label_of
from explainlab.data.rows import Row, Span
from explainlab.data.sources import Source

_LABELS = 1_000
"""Number of first labels that are compared with the name of their column."""
_LEAST_SPANS = 3
"""Number of spans from which the share of odd ones is a sign; fewer spans must all be odd, and fit another unit."""
_EDGE_OF_WORD = regex.compile(r"(?w)\b|\A|\Z|(?<=\s)|(?=\s)")
"""Places where a word may begin or end (Unicode Standard Annex 29), or a blank."""

_UNITS = {"utf-8": 1, "utf-16-le": 2}
"""Encodings whose units a span may count, with their bytes."""
_TWO_UNITS = regex.compile("[\U00010000-\U0010ffff]")
"""A character that is two units in UTF-16, as most emoji are."""


class Doubts:
    """A collector of doubts, as ``notes`` for readers, which looks at every row of a ``source`` and its record.

    ``columns`` are the named ones, ``labels`` the classes of the model (None: any), and ``marks`` the roles that a
    question needs beside text and label.
    """

    def __init__(
        self, source: Source, columns: Mapping[str, str], labels: Sequence[str] | None, marks: Collection[str]
    ) -> None:
        self._source, self._columns = source, columns
        self._classes = {label.casefold() for label in labels or ()}
        self._compares = "rationale" in marks
        self._names: list[str] = []
        self._written: list[str] = []
        self._unread, self._unread_label = 0, ""
        self._spans = self._odd = 0
        self._far = self._far_odd = 0
        self._fit_elsewhere = 0

    def see(self, record: Record, row: Row) -> None:
        """Look at the next ``row``, made of the ``record``."""
        if self._classes and row.label is None and (label := label_of(record.get(self._columns.get("label", "label")))):
            self._unread += 1
            self._unread_label = self._unread_label or label
        if len(self._written) < _LABELS and "label" in self._columns:
            self._names = self._names or [*record]
            self._written.append(str(record.get(self._columns["label"], "")).strip())
        if self._compares:
            for text, spans in ((row.text, row.rationale), (row.text_pair or "", row.rationale_pair)):
                self._see_spans(text, spans or ())

    def _see_spans(self, text: str, spans: Sequence[Span]) -> None:
        """Count the ``spans`` that mark no words, and those behind a character of two units in UTF-16."""
        emoji = _TWO_UNITS.search(text) if spans else None
        far = emoji.start() if emoji else len(text)
        for start, end in spans:
            whole, self._spans = _is_whole(text, start, end), self._spans + 1
            self._odd += not whole
            self._far += start > far
            self._far_odd += not whole and start > far
            self._fit_elsewhere += not whole and self._spans < _LEAST_SPANS and _fits_elsewhere(text, start, end)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return each doubt in words, with its remedy."""
        return tuple(chain(self._of_header(), self._of_labels(), self._of_spans()))

    def _of_header(self) -> list[str]:
        name = self._columns.get("label", "")
        numbered = self._names in ([str(i + start) for i in range(len(self._names))] for start in (0, 1))
        if not self._written or numbered or self._has_names or not self._is_label(name):
            return []
        return [
            f"The first line of {self._source.name} may be a row: the column of its labels is called {quote(name)}. "
            "If so, name columns by their numbers, as in text=1 and label=2."
        ]

    def _of_labels(self) -> list[str]:
        told = f"Rows without a label: {self._unread:,}, as {quote(self._unread_label)} {NO_CLASS} for certain. "
        remedy = "Match labels with classes to use them, on the command line by --label WRITTEN=CLASS."
        return [told + remedy] if self._unread else []

    @property
    def _has_names(self) -> bool:
        """Tell if the file surely names its columns: its format does, or one is called text or label."""
        return not self._source.is_separated or not {"text", "label"}.isdisjoint(self._names)

    def _is_label(self, name: str) -> bool:
        """Tell whether ``name`` is like the labels in the column that it names."""
        if name in self._written:
            return True
        first = self._written[0]
        return (name.isdecimal() and first.isdecimal()) or {name.casefold(), first.casefold()} <= self._classes

    def _of_spans(self) -> list[str]:
        odd = "begin or end within a word, or mark a blank"
        if self._spans >= _LEAST_SPANS and 2 * self._odd > self._spans:
            told = f"Of {self._spans:,} marked spans {self._odd:,} {odd}"
            return [f"{told}. They must count characters of the text from 0; these may count words, or bytes."]
        if self._far >= _LEAST_SPANS and 2 * self._far_odd > self._far:
            told = f"Of {self._far:,} marked spans behind an emoji {self._far_odd:,} {odd}"
            return [f"{told}. An emoji must count as one character; here it may count as two, as in JavaScript."]
        told = f"All marked spans ({self._spans}) {odd}. They must count characters of the text from 0; "
        return [f"{told}these may count words, bytes or UTF-16."] if 0 < self._spans == self._fit_elsewhere else []


def _is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether a span begins and ends where words may, and marks no blank."""
    return bool(text[start:end].strip()) and all(_EDGE_OF_WORD.match(text, edge) for edge in (start, end))


def _fits_elsewhere(text: str, start: int, end: int) -> bool:
    """Tell whether a span may count words, or marks other whole words if it counts bytes or units of UTF-16."""
    spans = [[_place(text, size * edge, unit) for edge in (start, end)] for unit, size in _UNITS.items()]
    others = (span for span in spans if span != [start, end])
    return end <= len(text.split()) or any(_is_whole(text, *span) for span in others)


def _place(text: str, byte: int, encoding: str) -> int:
    """Return the number of whole characters before a ``byte`` of ``text``."""
    return len(text.encode(encoding)[:byte].decode(encoding, "ignore"))
