"""The rows of a data set, which are on disk if they are many, and random samples of them."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainlab.disk_backed import Chosen, DiskList

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
    """Rows in the order of their addition: see :class:`explainlab.disk_backed.DiskList`."""

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


Label = str | None


class Sample:
    """A sample of at most ``size`` of the rows shown to it, without replacement; equal seeds draw equal rows.

    Every label, and having none, is a stratum with a share of the sample in proportion to its rows (see
    :func:`allocation`). Within a stratum all rows are equally likely: each gets a random number, and the smallest stay.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._random = random.Random(seed)
        self._counts: Counter[Label] = Counter()
        self._rows = Rows()  # including rows that others have replaced
        self._drawn: dict[Label, list[tuple[float, int]]] = {}  # a heap a label, the largest number first, with places

    @property
    def seen(self) -> int:
        """Number of rows shown to the sample."""
        return self._counts.total()

    def see(self, row: Row) -> None:
        """Show the next row."""
        self._counts[row.label] += 1
        heap = self._drawn.setdefault(row.label, [])
        entry = (-self._random.random(), len(self._rows))
        if len(heap) < self._size or entry > heap[0]:
            (heapq.heappush if len(heap) < self._size else heapq.heapreplace)(heap, entry)
            self._rows.append(row)

    def rows(self) -> Sequence[Row]:
        """Return the sample in its original order."""
        shares = allocation(self._counts, self._size, self._random)
        drawn = [place for label, heap in self._drawn.items() for _, place in heapq.nlargest(shares[label], heap)]
        return Chosen(self._rows, np.sort(np.array(drawn, dtype=np.int64)))


def allocation(counts: Mapping[Label, int], size: int, generator: random.Random) -> dict[Label, int]:
    """Return the number of rows that each stratum of ``counts`` rows gives to a sample of ``size``.

    The numbers are in proportion to the counts by the largest remainders (Hare's method); ``generator`` decides between
    equal ones. If there are at most ``size`` rows, all are in the sample.
    """
    total = sum(counts.values())
    size = min(size, total)
    shares = {label: size * count // total for label, count in counts.items()}
    by_remainder = sorted(counts, key=lambda label: (-(size * counts[label] % total), generator.random()))
    for label in by_remainder[: size - sum(shares.values())]:
        shares[label] += 1
    return shares
