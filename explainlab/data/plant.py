"""A data set whose truth is known: words are put into its texts, and they alone decide the new labels (thesis 004)."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from explainlab.data.files import Row, Span, read_dataset
from explainlab.declared import Parameters
from explainlab.errors import DataError, ResourceError
from explainlab.files import write_file
from explainlab.reader import ANYBODY, Reader
from explainlab.request import checked

ENDING = ".csv"


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
    """How words are planted."""

    words: Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_words)] = Field(
        ("negative", "positive"), description="The words, one for each class, which it names; commas between."
    )
    position: Literal["end", "start", "random"] = Field(
        "end", description="Where in the text: at its end, at its start, or after a random blank."
    )
    share: float = Field(1.0, ge=0, le=1, description="The share of the texts that get a word.")


@dataclass(frozen=True)
class Planted:
    """What :func:`plant` wrote: ``rows`` into the file ``out``, of which ``planted`` got a word.

    In ``already`` of the rows a word of the list stood before. ``best_accuracy`` is the highest that a model can have.
    """

    out: str
    rows: int
    planted: int
    already: int
    best_accuracy: float


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

    ``parameters`` are those of :class:`Planting`. Every label is drawn uniformly from the ``words``, whatever the text
    and its old label. With probability ``share`` the word of the label is put into the text, with a blank between; its
    place is the row's rationale. Else nothing is put in, and the rationale is empty. Second texts are kept. Equal
    arguments give equal bytes; another share or position leaves the labels as they are, and a larger share plants in
    the same rows and more. ``columns`` and ``reader`` are as in :func:`explainlab.data.read_dataset`.

    Raises :class:`explainlab.errors.RequestError` for parameters that are not accepted, :class:`DataError` for a file
    that cannot be read and for an ``out`` that exists or is no ``.csv``, :class:`ResourceError` if it cannot be
    written.
    """
    planting, path = checked(Planting, **parameters), Path(out)
    if path.exists():
        raise DataError(f"{path} exists already.", "Choose another name for the planted file, or remove that one.")
    if path.suffix.lower() != ENDING:
        raise DataError(f"{path.name} is not the name of a CSV file.", f"Let it end with {ENDING}.")
    rows = read_dataset(source, columns=columns, reader=reader).rows
    generator, standing = random.Random(seed), _standing(planting.words)
    records = [_record(row, planting, generator) for row in rows]
    paired = any(row.text_pair is not None for row in rows)
    try:
        write_file(path, _csv(records, paired).encode())
    except OSError as error:
        raise ResourceError(f"{path} cannot be written: {error.strerror or error}.", "Choose another place.") from None
    return Planted(
        out=str(path),
        rows=len(rows),
        planted=sum(bool(record["rationale"]) for record in records),
        already=sum(bool(standing.search(f"{row.text}\n{row.text_pair or ''}")) for row in rows),
        best_accuracy=best_accuracy(planting.share, len(planting.words)),
    )


def best_accuracy(share: float, classes: int) -> float:
    """The highest expected accuracy where a ``share`` of the rows says its class and the others are drawn at random."""
    return share + (1 - share) / classes


def _standing(words: tuple[str, ...]) -> re.Pattern[str]:
    """Finds any of the ``words`` as whole words, in any case."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)


def _record(row: Row, planting: Planting, generator: random.Random) -> dict[str, Any]:
    """The new row. Three numbers are drawn for each: for its label, for whether a word is planted, and for where."""
    label, chance, place = (generator.random() for _ in range(3))
    word = planting.words[int(label * len(planting.words))]
    text, spans = row.text, list[Span]()
    if chance < planting.share:
        text, start = _put(row.text, word, planting.position, place)
        spans = [(start, start + len(word))]
    return {"text": text, "text_b": row.text_pair, "label": word, "rationale": spans}


def _put(text: str, word: str, position: str, place: float) -> tuple[str, int]:
    """``text`` with ``word`` in it, and where that starts; a text without a blank gets it at its end."""
    blanks = [i for i, character in enumerate(text) if character.isspace()]
    if position == "start":
        return f"{word} {text}", 0
    if position == "end" or not blanks:
        return f"{text} {word}", len(text) + 1
    start = blanks[int(place * len(blanks))] + 1
    return f"{text[:start]}{word} {text[start:]}", start


def _csv(records: list[dict[str, Any]], paired: bool) -> str:
    written = io.StringIO()
    names = ["text", *(["text_b"] if paired else []), "label", "rationale"]
    writer = csv.DictWriter(written, names, extrasaction="ignore", lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows({**record, "rationale": json.dumps(record["rationale"])} for record in records)
    return written.getvalue()
