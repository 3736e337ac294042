"""Doubts about a data set that was read without an error: signs that its writer meant something else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from reprlib import repr as quote

import regex

from explainlab.data.formats import Record
from explainlab.data.rows import Row, Span
from explainlab.data.sources import Source

_LABELS = 1_000
"""Number of first labels that are compared with the name of their column."""
_LEAST_SPANS = 3
_EDGE_OF_WORD = regex.compile(r"(?w)\b|\A|\Z|(?<=\s)|(?=\s)")
"""Places where a word may begin or end (Unicode Standard Annex 29), or a blank."""

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
        self._spans = self._odd = 0
        self._far = self._far_odd = 0

    def see(self, record: Record, row: Row) -> None:
        """Look at the next ``row``, made of the ``record``."""
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
            whole = text[start:end].strip() and all(_EDGE_OF_WORD.match(text, edge) for edge in (start, end))
            self._spans += 1
            self._odd += not whole
            self._far += start > far
            self._far_odd += not whole and start > far

    @property
    def notes(self) -> tuple[str, ...]:
        """Return each doubt in words, with its remedy."""
        return tuple(chain(self._of_header(), self._of_spans()))

    def _of_header(self) -> list[str]:
        name = self._columns.get("label", "")
        numbered = self._names in ([str(i + start) for i in range(len(self._names))] for start in (0, 1))
        if not self._written or numbered or self._has_names or not self._is_label(name):
            return []
        return [
            f"The first line of {self._source.name} may be a row: the column of its labels is called {quote(name)}. "
            "If so, name columns by their numbers, as in text=1 and label=2."
        ]

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
        return []
