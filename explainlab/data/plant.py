"""A data set with known truth: planted words alone decide the new labels (thesis 004)."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from explainlab.data.files import ROLES, read_dataset
from explainlab.data.rows import Row, Span
from explainlab.data.sources import locate
from explainlab.declared import Parameters
from explainlab.errors import DataError, ResourceError
from explainlab.files import write_file
from explainlab.reader import ANYBODY, Reader
from explainlab.request import validated

VERSION = 1
"""The version of the output of :func:`planted_files`: a change of its bytes needs a new one."""
ENDING = ".csv"
WORD = "planted_word"
"""The column that identifies a planted file: the word in each text, or nothing."""
MANY = 0.05
"""The share of texts that may contain a word beforehand without a warning."""


def _split(words: Any) -> Any:
    return words.split(",") if isinstance(words, str) else words


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(word.strip() for word in words)
    if not all(words):
        raise PydanticCustomError("blank", "A word has nothing but blanks")
    if len({word.casefold() for word in words}) < len(words):
        raise PydanticCustomError("twice", "A word is given twice")
    if len(words) < 2:
        raise PydanticCustomError("few", "Give two words or more, one for each class")
    return words


class Planting(Parameters):
    """Settings of planting."""

    words: Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_words)] = Field(
        ("negative", "positive"), description="The words, one for each class, which it names; commas between."
    )
    position: Literal["end", "start", "random"] = Field(
        "end", description="Where in the text: at its end, at its start, or after a random blank."
    )
    share: float = Field(1.0, ge=0, le=1, description="The share of the texts that get a word.")
    held_out: float = Field(
        0.0, ge=0, le=0.9, description="The share of the rows that go into a second file, to test a model on."
    )


@dataclass(frozen=True)
class Planted:
    """The result of :func:`plant`: ``rows``, of which ``planted`` got a word, in the file ``out``.

    In ``already`` of the rows a word of the list stood before. ``best_accuracy`` is the highest that a model can have.
    ``held_out`` is the second file, or None.
    """

    out: str
    rows: int
    planted: int
    already: int
    best_accuracy: float
    held_out: str | None = None

    def lines(self) -> list[str]:
        """Report the result to a reader, with a warning if the words occurred in many texts before."""
        rows = f"{self.rows:,} rows in {self.out}, a word put into {self.planted:,} of them"
        best = f"The best accuracy possible is {self.best_accuracy:.1%}."
        held_out = f"Rows held out, to test a model on: {self.held_out}." if self.held_out else ""
        told = [f"{rows}; in {self.already:,} rows a word stood already. {best}", held_out]
        return [*filter(None, [*told, standing_words(self.already, self.rows)])]


@dataclass(frozen=True)
class PlantedFiles:
    """Two planted CSV files, the second of the rows held out (empty: none); else as :class:`Planted`."""

    content: bytes
    held_out: bytes
    rows: int
    held_out_rows: int
    planted: int
    already: int


def plant(
    source: str | Path,
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
    reader: Reader = ANYBODY,
    **parameters: Any,
) -> Planted:
    """Write the rows of ``source`` to the CSV file ``out`` with new labels, and words that give these away.

    ``parameters`` are those of :class:`Planting`; rows held out go into a second file, ``NAME-held-out.csv``. The rest
    is as for :func:`planted_files`.

    Raises :class:`explainlab.errors.RequestError` for parameters that are not accepted, :class:`DataError` for a file
    that cannot be read and for an ``out`` that exists or is no ``.csv``, :class:`ResourceError` if it cannot be
    written.
    """
    planting, path = validated(Planting, **parameters), Path(out)
    second = path.with_name(f"{path.stem}-held-out{path.suffix}") if planting.held_out else None
    for each in filter(None, (path, second)):
        if each.exists():
            raise DataError(f"{each} exists already.", "Choose another name for the planted file, or remove that one.")
    if path.suffix.lower() != ENDING:
        raise DataError(f"{path.name} is not the name of a CSV file.", f"Let it end with {ENDING}.")
    files = planted_files(source, planting, columns=columns, seed=seed, reader=reader)
    try:
        write_file(path, files.content)
        if second is not None:
            write_file(second, files.held_out)
    except OSError as error:
        raise ResourceError(f"{path} cannot be written: {error.strerror or error}.", "Choose another place.") from None
    return Planted(
        out=str(path),
        rows=files.rows,
        planted=files.planted,
        already=files.already,
        best_accuracy=best_accuracy(planting.share, len(planting.words)),
        held_out=None if second is None else str(second),
    )


def planted_files(
    source: str | Path,
    planting: Planting,
    *,
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
    reader: Reader = ANYBODY,
) -> PlantedFiles:
    """Plant words in the rows of ``source``.

    Every label is drawn uniformly from the words, whatever the text and its old label. With probability ``share`` the
    word of the label is put into the text, with a blank between; its place is the row's rationale. Else nothing is put
    in, and the rationale is empty. Second texts are kept. Equal arguments give equal bytes; another share or position
    leaves the labels as they are, and a larger share plants in the same rows and more. ``columns`` and ``reader`` are
    as in :func:`explainlab.data.read_dataset`, whose errors are raised; also :class:`DataError` where rows are to be
    held out and there are fewer than two.
    """
    rows = read_dataset(source, columns=columns, reader=reader).rows
    generator, standing = random.Random(seed), _standing(planting.words)
    records = [_record(row, planting, generator) for row in rows]
    paired = any(row.text_pair is not None for row in rows)
    held = _held_out(records, planting, seed)
    parts = [[record for i, record in enumerate(records) if (i in held) == second] for second in (False, True)]
    return PlantedFiles(
        content=_csv(parts[0], paired),
        held_out=_csv(parts[1], paired) if held else b"",
        rows=len(rows),
        held_out_rows=len(held),
        planted=sum(bool(record["rationale"]) for record in records),
        already=sum(bool(standing.search(f"{row.text}\n{row.text_pair or ''}")) for row in rows),
    )


def is_planted(source: str | Path, columns: Mapping[str, str], reader: Reader = ANYBODY) -> bool:
    """Tell whether :func:`plant` wrote ``source`` and no role has another column.

    Raises :class:`DataError` for a file that cannot be read.
    """
    first = next(iter(locate(source, reader).records(reader)), {})
    return {WORD, "rationale"} <= set(first) and all(columns.get(role, role) == role for role in ROLES)


def standing_words(already: int, rows: int) -> str:
    """Warn that a word occurred in ``already`` of the ``rows`` before, if these are many; else return an empty text."""
    if already <= MANY * rows:
        return ""
    return (
        f"In {already:,} of {rows:,} texts a word of the list stood before, which says nothing of their new labels: "
        "choose rarer words."
    )


def best_accuracy(share: float, classes: int) -> float:
    """Return the highest expected accuracy if a ``share`` of the rows shows its class and the others are random."""
    return share + (1 - share) / classes


def _standing(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that finds any of the ``words`` as whole words, in any case."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)


def _record(row: Row, planting: Planting, generator: random.Random) -> dict[str, Any]:
    """Return the new row. Three random numbers decide its label, whether a word is planted, and the place."""
    label, chance, place = (generator.random() for _ in range(3))
    word = planting.words[int(label * len(planting.words))]
    text, spans = row.text, list[Span]()
    if chance < planting.share:
        text, start = _put(row.text, word, planting.position, place)
        spans = [(start, start + len(word))]
    return {"text": text, "text_b": row.text_pair, "label": word, "rationale": spans, WORD: word if spans else ""}


def _held_out(records: Sequence[Mapping[str, Any]], planting: Planting, seed: int) -> set[int]:
    """Return the places of the held-out rows; at least one is held out, and one is not.

    Each class has the same number of rows with a word and without: guessing has the accuracy of chance.
    """
    if not planting.held_out:
        return set()
    if len(records) < 2:
        raise DataError("Of a single row none can be held out.", "Choose a data set with more rows.")
    drawn, held = random.Random(f"held out {seed}"), set[int]()
    for planted in (True, False):
        alike = [(i, record["label"]) for i, record in enumerate(records) if bool(record["rationale"]) == planted]
        by_class = [[i for i, label in alike if label == word] for word in planting.words]
        each = min(round(planting.held_out * len(alike) / len(by_class)), *map(len, by_class))
        held |= {i for places in by_class for i in drawn.sample(places, each)}
    if len(held) == len(records):
        held.remove(0)
    return held or {drawn.randrange(len(records))}


def _put(text: str, word: str, position: str, place: float) -> tuple[str, int]:
    """Return ``text`` with ``word`` in it, and the start of the word; a text without a blank gets it at its end."""
    blanks = [i for i, character in enumerate(text) if character.isspace()]
    if position == "start":
        return f"{word} {text}", 0
    if position == "end" or not blanks:
        return f"{text} {word}", len(text) + 1
    start = blanks[int(place * len(blanks))] + 1
    return f"{text[:start]}{word} {text[start:]}", start


def _csv(records: Sequence[Mapping[str, Any]], paired: bool) -> bytes:
    written = io.StringIO()
    names = ["text", *(["text_b"] if paired else []), "label", "rationale", WORD]
    writer = csv.DictWriter(written, names, extrasaction="ignore", lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows({**record, "rationale": json.dumps(record["rationale"])} for record in records)
    return written.getvalue().encode()
