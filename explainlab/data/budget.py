"""Limits for reading a data file: one budget for every format, so that no file unpacks to more than is allowed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from reprlib import repr as quote

from explainlab.errors import DataError
from explainlab.limits import ALWAYS_UNPACKED, MAX_CELL_CHARACTERS, MAX_COLUMNS, MAX_RATIO, MAX_RECORD_BYTES
from explainlab.reader import Reader

_CALLS, _LARGE = 1024, 2**16
_TELL_SECONDS = 0.05


class Budget:
    """The bytes, lines and seconds that reading the source ``name`` may take as ``reader``.

    Its methods raise :class:`DataError` beyond a limit, and the errors of ``reader.watch``. ``bytes`` counts unpacked
    bytes; ``notes`` are warnings about the source.
    """

    def __init__(self, name: str, reader: Reader) -> None:
        self.name = name
        self.notes: list[str] = []
        self._share: Callable[[], float] = lambda: 0.0
        self._limits, self._watch = reader.limits, reader.watch
        self.bytes = self._most = self._of_record = self._calls = self._blank = 0
        self._start = self._told = time.monotonic()

    def open(self, size: int, share: Callable[[], float]) -> None:
        """Start the next file; ``size`` is its size on disk."""
        self._share = share
        self._most = min(self._limits.max_unpacked_mb * 2**20, self.bytes + ALWAYS_UNPACKED + MAX_RATIO * size)

    def unpack(self, size: int) -> None:
        """Count ``size`` more unpacked bytes."""
        self.bytes += size
        if self.bytes > self._most:
            raise self._too_large()
        self._calls += 1
        if size > _LARGE or not self._calls % _CALLS:
            self.check()

    def line(self, raw: bytes, number: int) -> None:
        """Count a line of text; it belongs to the record that :meth:`end_record` ends."""
        self.unpack(len(raw))
        self._of_record += len(raw)
        if self._of_record > MAX_RECORD_BYTES:
            raise DataError(
                f"Line {number} of {self.name} ends a record of over {MAX_RECORD_BYTES:,} bytes.",
                "Check the line ends and the quotation marks.",
            )
        self._blank += raw.isspace()
        if self._blank > self._limits.max_rows:
            raise DataError(f"{self.name} has over {self._limits.max_rows:,} blank lines.", "Remove them.")

    def end_record(self) -> None:
        """Complete the record of the last lines."""
        self._of_record = 0

    def columns(self, names: Sequence[str]) -> None:
        """Count the columns ``names`` of the source."""
        if len(names) > MAX_COLUMNS:
            problem = f"{self.name} has {len(names):,} columns; the limit is {MAX_COLUMNS:,}."
            raise DataError(problem, "Keep the columns with the text and the label.")
        if len(set(names)) < len(names):
            repeated = [name for name, count in Counter(names).items() if name and count > 1]
            if repeated:
                raise DataError(f"{self.name} has two columns {quote(repeated[0])}.", "Rename one of them.")

    def note(self, words: str) -> None:
        """Keep ``words`` for readers of the source, once."""
        if words not in self.notes:
            self.notes.append(words)

    def check(self) -> None:
        """Check the time limit, and call the watcher."""
        now = time.monotonic()
        if now - self._start > self._limits.max_read_seconds:
            raise DataError(
                f"{self.name} takes longer than {self._limits.max_read_seconds:,} s to read.",
                f"Split it, or take fewer rows. {self._limits.words('max_read_seconds')}",
            )
        if now - self._told > _TELL_SECONDS:
            self._watch(self._share())
            self._told = time.monotonic()
            self._start += self._told - now  # the watcher's time is no reading time

    def _too_large(self) -> DataError:
        if self._most < self._limits.max_unpacked_mb * 2**20:
            problem = f"{self.name} holds over {MAX_RATIO} times its size when it is unpacked."
            return DataError(problem, "Save it as a plain CSV file.")
        problem = f"{self.name} holds over {self._limits.max_unpacked_mb:,} MB when it is unpacked."
        return DataError(problem, f"Split it. {self._limits.words('max_unpacked_mb')}")


def cell_too_long(place: str) -> DataError:
    """Return the error of a cell at ``place`` beyond the limit of every format."""
    problem = f"{place} has a cell of over {MAX_CELL_CHARACTERS:,} characters."
    return DataError(problem, "Shorten it, or leave the column out.")
