"""A random sample of rows, stratified by label, in one pass over a file of any length."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from explainlab.data.rows import Row, Rows
from explainlab.disk_backed import Chosen

Label = str | None


class Sample:
    """Draws at most ``size`` of the rows that it is shown, without replacement; equal seeds draw equal rows.

    Every label, and having none, is a stratum with a share of the sample in proportion to its rows (see
    :func:`allocation`). Within a stratum all rows are equally likely: each gets a random number, and the smallest stay.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._random = random.Random(seed)
        self._counts: Counter[Label] = Counter()
        self._rows = Rows()  # also those that have given way to others
        self._drawn: dict[Label, list[tuple[float, int]]] = {}  # a heap a label, the largest number first, with places

    @property
    def seen(self) -> int:
        """The rows shown so far."""
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
        """The sample, in the order in which it was shown."""
        shares = allocation(self._counts, self._size, self._random)
        drawn = [place for label, heap in self._drawn.items() for _, place in heapq.nlargest(shares[label], heap)]
        return Chosen(self._rows, np.sort(np.array(drawn, dtype=np.int64)))


def allocation(counts: Mapping[Label, int], size: int, generator: random.Random) -> dict[Label, int]:
    """How many rows each stratum of ``counts`` rows gives to a sample of ``size``, all if there are no more.

    In proportion to the counts by the largest remainders (Hare's method); ``generator`` decides between equal ones.
    """
    total = sum(counts.values())
    size = min(size, total)
    shares = {label: size * count // total for label, count in counts.items()}
    by_remainder = sorted(counts, key=lambda label: (-(size * counts[label] % total), generator.random()))
    for label in by_remainder[: size - sum(shares.values())]:
        shares[label] += 1
    return shares
