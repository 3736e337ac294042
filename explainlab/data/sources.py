"""Sources of data sets: embedded examples, files, uploads and the hub, and their files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from explainlab.data import hub, uploads
from explainlab.data.budget import Budget
from explainlab.data.formats import SEPARATED, Record, known_suffix, records
from explainlab.errors import DataError
from explainlab.guard import Exceeded, Reading, Tell, guarded
from explainlab.limits import Limits
from explainlab.reader import ANYBODY, Reader
from explainlab.request import digest
from explainlab.settings import ASSETS

PREFIX = "embedded:"


@dataclass(frozen=True)
class ExampleSet:
    """An embedded example set: its id, a title to show, its file and the label names in that file."""

    id: str
    title: str
    path: Path
    labels: tuple[str, ...]


def _by_id(*sets: ExampleSet) -> dict[str, ExampleSet]:
    return {examples.id: examples for examples in sets}


EXAMPLES = _by_id(
    ExampleSet(
        PREFIX + "sentiment",
        "Opinions on films, books, meals, music and gadgets",
        ASSETS / "examples" / "sentiment.csv",
        ("negative", "positive"),
    ),
    ExampleSet(
        PREFIX + "news",
        "Short news items on four topics",
        ASSETS / "examples" / "news.csv",
        ("World", "Sports", "Business", "Sci/Tech"),
    ),
)

TO_LEARN = _by_id(
    ExampleSet(
        PREFIX + "meals",
        "Reviews of meals, made of patterns, to train small models on",
        ASSETS / "examples" / "meals.csv",
        ("negative", "positive"),
    ),
    ExampleSet(
        PREFIX + "meals-test",
        "More reviews of meals, to test these models on",
        ASSETS / "examples" / "meals-test.csv",
        ("negative", "positive"),
    ),
    ExampleSet(
        PREFIX + "today",
        "Sentences about meals of which one word tells a little, to show how masks leak the class",
        ASSETS / "examples" / "today.csv",
        ("negative", "positive"),
    ),
    ExampleSet(
        PREFIX + "today-test",
        "More such sentences, to test models on",
        ASSETS / "examples" / "today-test.csv",
        ("negative", "positive"),
    ),
)
"""Sets from which small models learn in seconds; the texts to explain are in :data:`EXAMPLES`."""


def embedded_examples(example_id: str) -> ExampleSet:
    """Return the example set with this id (``embedded:...``).

    Raises :class:`DataError`, naming the nearest ids, if there is none.
    """
    every = EXAMPLES | TO_LEARN
    if example_id in every:
        return every[example_id]
    names = [known.removeprefix(PREFIX) for known in every]
    near = get_close_matches(example_id.removeprefix(PREFIX), names) or names
    raise DataError(f"There is no example set {example_id!r}.", f"Did you mean {PREFIX}{f' or {PREFIX}'.join(near)}?")


def examples_for(labels: Sequence[str]) -> ExampleSet | None:
    """Return the example set with exactly these class names, in any order and case; None if no set fits."""
    wanted = sorted(label.casefold() for label in labels)
    fitting = (s for s in EXAMPLES.values() if sorted(label.casefold() for label in s.labels) == wanted)
    return next(fitting, None)


_FIRST_RECORDS, _MOST_RECORDS, _MOST_BYTES = 16, 1024, 2**18
"""The records of the first part of a source, which double from part to part, and the most records and bytes of one."""


@dataclass(frozen=True)
class Source:
    """The existing files of a data set, in their order, and its name to show."""

    name: str
    files: tuple[Path, ...]

    @property
    def is_separated(self) -> bool:
        """Tell whether it has fields between separators, so that its first line may be a row instead of names."""
        return known_suffix(self.files[0].name).startswith(SEPARATED)

    def records(self, reader: Reader, named: Collection[str] = (), notes: list[str] | None = None) -> Iterator[Record]:
        """Yield all records, from column to value, read as ``reader``; one budget for all files.

        Columns are ``named`` as in :func:`explainlab.data.formats.records`. Warnings about the files are added to
        ``notes`` before the records that follow. Raises :class:`DataError` for a damaged file, and beyond the limits of
        the ``reader``.
        """
        notes = [] if notes is None else notes
        arguments = {
            "name": self.name,
            "files": [str(file.absolute()) for file in self.files],
            "named": [*named],
            "limits": asdict(reader.limits),
        }
        guard = _unguarded if all(ASSETS in file.parents for file in self.files) else guarded
        try:
            for part in guard(read_parts, arguments, reader.watch):
                notes += [note for note in part["notes"] if note not in notes]
                yield from part["records"]
        except Exceeded as exceeded:
            raise DataError(
                f"{self.name} {exceeded}.", "Save it again, for example with pandas, or split it."
            ) from None


def _unguarded(reading: Reading, arguments: Mapping[str, Any], watch: Tell) -> Iterator[Any]:
    """Run a reading of our own files in this process."""
    return reading(watch, **arguments)


def read_parts(
    watch: Tell, name: str, files: Sequence[str], named: Collection[str], limits: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the ``records`` of all files in parts, each with the ``notes`` up to it: see :meth:`Source.records`.

    A part ends before a record that brings a note, and before an error.
    """
    budget = Budget(name, Reader(limits=Limits(**limits), watch=watch))
    part, notes, most, begun = list[Record](), list[str](), _FIRST_RECORDS, 0
    try:
        for path in map(Path, files):
            budget.name = path.name if len(files) > 1 else name
            for record in records(path, budget, named):
                if len(part) == most or budget.bytes - begun > _MOST_BYTES or budget.notes != notes:
                    yield {"records": part, "notes": notes}
                    part, notes, begun = [], [*budget.notes], budget.bytes
                    most = min(2 * most, _MOST_RECORDS)
                part.append(record)
    except DataError:
        yield {"records": part, "notes": notes}
        raise
    yield {"records": part, "notes": budget.notes}


def locate(path: str | Path, reader: Reader) -> Source:
    """Return the source for a file's path, or an id: ``embedded:...``, ``upload:...`` of the ``reader`` or ``hub:...``.

    Raises :class:`DataError` for one that is not there; a hub data set that is not stored here is fetched.
    """
    named = str(path)
    if named.startswith(PREFIX):
        return Source(named, (embedded_examples(named).path,))
    if named.startswith(uploads.PREFIX):
        file = uploads.upload_path(named, reader.uploads)
        return Source(uploads.upload_name(named, reader.uploads), (file,))
    if named.startswith(hub.PREFIX):
        return Source(named, hub.hub_files(named))
    return _file(Path(path))


def source_digest(path: str | Path, reader: Reader = ANYBODY) -> str:
    """Return SHA-256 of the file behind a path or an id, in hexadecimal; computed again only after a change.

    The digest of an upload is its name. For several files it is that of their concatenated digests. Raises
    :class:`DataError` for a file that is missing or cannot be read.
    """
    if str(path).startswith(uploads.PREFIX):
        return uploads.upload_path(str(path), reader.uploads).name.partition(".")[0]
    source = locate(path, reader)
    try:
        digests = [_file_digest(file.absolute(), *_state(file)) for file in source.files]
    except OSError as error:
        raise _unreadable(source, error) from None
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode("ascii")).hexdigest()


def rows_digest(path: str | Path, reader: Reader = ANYBODY) -> str:
    """Return a digest of the content and the format of the files behind a path or an id, which decide its rows.

    Raises as :func:`source_digest`, and for a file of no known format.
    """
    content = source_digest(path, reader)
    formats = {known_suffix(file.name).removesuffix(".gz") for file in locate(path, reader).files}
    return digest([content, sorted(formats)])


def source_state(path: str | Path, reader: Reader = ANYBODY) -> tuple[tuple[int, int], ...]:
    """Return size and time of change of the files behind a path or an id, without reading them; nothing for the hub.

    Raises :class:`DataError` for a file that is missing or cannot be read.
    """
    if str(path).startswith(hub.PREFIX):
        return ()
    source = locate(path, reader)
    try:
        return tuple(_state(file) for file in source.files)
    except OSError as error:
        raise _unreadable(source, error) from None


def _unreadable(source: Source, error: OSError) -> DataError:
    return DataError(f"{source.name} cannot be read: {error.strerror or error}.", "Check the file.")


def _file(path: Path) -> Source:
    try:
        if path.is_file():
            return Source(path.name, (path,))
        siblings = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
    except OSError as error:
        raise DataError(f"There is no data file {str(path)!r}: {error.strerror}.", "Check the path.") from None
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder, not a data file.", "Name a file in it.")
    near = get_close_matches(path.name, siblings)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "Check the path."
    raise DataError(f"There is no data file {str(path)!r}.", remedy)


def _state(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=64)
def _file_digest(file: Path, _size: int, _changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
