"""The forms in which people and tools mark the characters of a text that are the evidence for its label."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from reprlib import repr as quote
from typing import Any

from explainlab.data.rows import Span
from explainlab.errors import DataError

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
