"""Lists, tables and numbers that may not fit into memory: most of them is in temporary files, deleted with their owner.

Everything here raises :class:`ResourceError` where the disk is full.
"""

from __future__ import annotations

import json
import mmap
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import eq
from tempfile import SpooledTemporaryFile, TemporaryFile, gettempdir
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from explainlab.errors import ResourceError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
FEW = 1_000
"""The values of a list that stay in memory."""
LITTLE = 2**22
"""The bytes of a table, or of numbers, that stay in memory."""
_BLOCK = 2**20
_ALIGNED = 16


class LazySequence(Sequence[T]):
    """A sequence that makes each item when it is read."""

    @abstractmethod
    def item(self, place: int) -> T:
        """Return the item at ``place``, from 0 to below the length."""

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        places = range(len(self))[place]
        return self.item(places) if isinstance(places, int) else self.items(places)

    def items(self, places: range) -> list[T]:
        """Return the items at ``places``."""
        return [self.item(place) for place in places]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


class DiskList(LazySequence[T]):
    """A list to which values are added; all but the first :data:`FEW` are in a file.

    ``write`` makes JSON of a value, and ``read`` makes the value again. Memory keeps only their offsets. Any thread may
    read.
    """

    def __init__(self, write: Callable[[T], Any], read: Callable[[Any], T], values: Iterable[T] = ()) -> None:
        self._write, self._read = write, read
        self._few: list[T] = []
        self._ends = array("q", [0])
        self._file = SpooledTemporaryFile(_BLOCK)  # noqa: SIM115
        self._lock = Lock()
        for value in values:
            self.append(value)

    def append(self, value: T) -> None:
        """Add ``value``."""
        if len(self._few) < FEW:
            self._few.append(value)
            return
        line = json.dumps(self._write(value)).encode()
        with self._lock, _room():
            self._file.seek(self._ends[-1])
            self._file.write(line)
        self._ends.append(self._ends[-1] + len(line))

    def __len__(self) -> int:
        return len(self._few) + len(self._ends) - 1

    def item(self, place: int) -> T:
        """See :meth:`LazySequence.item`."""
        if place < len(self._few):
            return self._few[place]
        start, end = self._ends[place - len(self._few) :][:2]
        with self._lock, _room():
            self._file.seek(start)
            line = self._file.read(end - start)
        return self._read(json.loads(line))


class Chosen(LazySequence[T]):
    """A view of the items of ``values`` at ``places``, an int64 array."""

    def __init__(self, values: Sequence[T], places: np.ndarray) -> None:
        self._values, self._places = values, places

    def __len__(self) -> int:
        return len(self._places)

    def item(self, place: int) -> T:
        """See :meth:`LazySequence.item`."""
        return self._values[int(self._places[place])]


class DiskTable:
    """A table of ``n`` rows with the fields of ``dtype``, at first 0: an array of that type, but stored by columns.

    A field is an array [n, ...] whose columns are contiguous. The fields of a large table are in one file.
    """

    def __init__(self, dtype: np.dtype[np.void], n: int) -> None:
        self._dtype, self._n = dtype, n
        fields = {name: dtype[name] for name in dtype.names or ()}
        sizes = [-(-own.itemsize * n // _ALIGNED) * _ALIGNED for own in fields.values()]
        room = _zeros(sum(sizes))
        starts = np.cumsum([0, *sizes]).tolist()
        self._fields: dict[str, np.ndarray] = {
            name: np.ndarray((n, *own.shape), own.base, room, start, order="F")
            for (name, own), start in zip(fields.items(), starts, strict=False)
        }

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, chosen: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, chosen: np.ndarray) -> DiskTable: ...
    def __getitem__(self, chosen: str | np.ndarray) -> np.ndarray | DiskTable:
        """Return the field of this name, or the rows at these places; the table itself for all rows in their order."""
        if isinstance(chosen, str):
            return self._fields[chosen]
        if np.array_equal(chosen, np.arange(self._n)):
            return self
        rows = DiskTable(self._dtype, len(chosen))
        for name, field in self._fields.items():
            for new, old in zip(_columns(rows[name]), _columns(field), strict=True):
                new[:] = old[chosen]
        return rows

    def __setitem__(self, place: int, values: Iterable[Any]) -> None:
        for field, value in zip(self._fields.values(), values, strict=True):
            field[place] = value


class Packed:
    """Columns of rows in ``parts``, each the bytes of a Parquet file; iterated once."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)


class Packable(ABC):
    """Rows that a store keeps as :class:`Packed` columns instead of JSON."""

    @abstractmethod
    def packed(self) -> Packed:
        """Return all rows, in parts."""


class DiskFloats:
    """A list of float64 to which numbers are added, and which is then read as a whole."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(LITTLE)  # noqa: SIM115
        self._bytes = 0

    def extend(self, numbers: Iterable[float]) -> None:
        """Add ``numbers``."""
        own = array("d", numbers)
        with _room():
            self._file.write(own)
        self._bytes += 8 * len(own)

    def read(self) -> np.ndarray:
        """Return all numbers, float64 [count]."""
        return np.frombuffer(_contents(self._file, self._bytes)) if self._bytes else np.empty(0)


def arrow_table(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return a table of the rows of all ``batches``, which have this ``schema``; a large one stays in a file."""
    import pyarrow as pa

    file = SpooledTemporaryFile(LITTLE)  # noqa: SIM115
    with _room(), pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return pa.ipc.open_file(pa.BufferReader(_contents(file, file.tell()))).read_all()


def _contents(file: SpooledTemporaryFile[bytes], size: int) -> bytes | mmap.mmap:
    """Return the ``size`` bytes of ``file``; many of them stay in the file."""
    with _room():
        file.seek(0)
        return file.read() if size <= LITTLE else mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def _columns(field: np.ndarray) -> np.ndarray:
    """Return the columns of a field as a view, [columns, n]."""
    return field.reshape(len(field), -1, order="F").T if field.size else field[:0]


def _zeros(size: int) -> bytearray | mmap.mmap:
    """Return ``size`` bytes of 0; many of them are in a file, which takes its room on the disk at once."""
    if size <= LITTLE:
        return bytearray(size)
    with _room(), TemporaryFile() as file:
        for start in range(0, size, _BLOCK):
            file.write(bytes(min(_BLOCK, size - start)))
        file.flush()
        return mmap.mmap(file.fileno(), size)


@contextmanager
def _room() -> Iterator[None]:
    """Raise :class:`ResourceError` where the disk refuses a file."""
    try:
        yield
    except OSError as error:
        raise ResourceError(
            f"Temporary files cannot be written: {error.strerror or error}.",
            f"Free space in {gettempdir()}, or set TMPDIR to another folder.",
        ) from error
