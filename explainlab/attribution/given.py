"""Uploaded attributions: scores from a file, evaluated like those of our own methods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from explainlab.data import source_digest
from explainlab.data.sources import locate
from explainlab.errors import DataError, RequestError, first_refused
from explainlab.reader import ANYBODY
from explainlab.text.units import Feature, trimmed

T = TypeVar("T")
Place = tuple[int, int, int]
"""The part of a text, and the half-open span of characters in it."""


class GivenFeature(BaseModel):
    """A scored span: characters ``start`` to ``end`` (half-open) of the text (``part`` 0) or its pair (1).

    Special tokens and some tokens of blanks have no characters: ``special`` distinguishes them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    start: int = Field(ge=0)
    end: int
    score: FiniteFloat
    part: int = Field(0, ge=0, le=1)
    special: bool = False


class GivenMap(BaseModel):
    """The scores of a text: ``scores``, one per feature, special ones included, or ``features`` with their spans.

    ``explain --json`` prints such a record.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str
    text_pair: str | None = None
    scores: tuple[FiniteFloat, ...] | None = None
    features: tuple[GivenFeature, ...] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> GivenMap:
        if (self.scores is None) == (self.features is None):
            raise PydanticCustomError("form", "Give either scores or features")
        return self

    def fitted(self, features: tuple[Feature, ...], name: str) -> np.ndarray:
        """Return float64 [n]: a score for each of ``features``; scores of parts of a feature are added up.

        Features of the same characters, such as the bytes of one letter, take the scores of these characters in their
        order. A blank that is no feature belongs to the next one, as in :func:`explainlab.text.units.group`.

        Raises :class:`RequestError` where the number does not fit, where a span crosses the border of a feature or is
        shared by several, and where a content feature has no score.
        """
        if self.scores is not None:
            if len(self.scores) != len(features):
                raise self._misfit(name, f"has {len(self.scores)} scores for {len(features)} features")
            return np.array(self.scores, dtype=np.float64)
        scores, covered = np.zeros(len(features)), np.zeros(len(features), dtype=bool)
        content = {i: (f.part, f.start, f.end) for i, f in enumerate(features) if not f.special}
        own = _grouped((place, i) for i, place in content.items())
        for place, given in self._placed.items():
            holders = own.get(place) or self._holders(place, given, content)
            part, start, end = place
            if not holders:
                raise self._misfit(name, f"scores the characters {start} to {end}, which are not a feature")
            if len(holders) not in (1, len(given)):
                problem = f"has {len(given)} scores for the characters {start} to {end}"
                raise self._misfit(name, f"{problem}, which {len(holders)} features share")
            values = [span.score for span in given]
            scores[holders] += values if len(holders) > 1 else sum(values)
            letters = self._text(part)[start:end].strip()
            covered[[i for i in holders if letters or not features[i].text.strip()]] = True
        for feature, known in zip(features, covered, strict=True):
            if not (known or feature.special):
                raise self._misfit(name, f"has no score for {feature.text!r} at {feature.start}")
        return scores

    @property
    def _placed(self) -> dict[Place, list[GivenFeature]]:
        """The content spans of each place in their order, without blanks at their ends."""
        spans = [span for span in self.features or () if not span.special]
        return _grouped(((span.part, *trimmed(self._text(span.part), span.start, span.end)), span) for span in spans)

    def _holders(self, place: Place, given: list[GivenFeature], content: dict[int, Place]) -> list[int]:
        """Return the features of ``content``, by index, that a ``place`` belongs to which is none of theirs.

        A place without characters may be a special token's: it is a blank's only if the ``given`` spans say so.
        """
        part, start, end = place
        text, said = self._text(part), all("special" in span.model_fields_set for span in given)
        if start <= end <= len(text) and not text[start:end].strip() and (start < end or said):
            of_part = [i for i, own in content.items() if own[0] == part]
            return [i for i in of_part if content[i][2] > start][:1] or of_part[-1:]
        return [i for i, own in content.items() if own[0] == part and own[1] <= start < end <= own[2]]

    def _text(self, part: int) -> str:
        return self.text if part == 0 else self.text_pair or ""

    def _misfit(self, name: str, problem: str) -> RequestError:
        return RequestError(
            f"The attribution of {_short(self.text)} in {name} {problem}.",
            "Give a score for every feature of this model's encoding, or use words as the unit.",
        )


class GivenMaps:
    """All attributions of a file, by text.

    Raises :class:`DataError` for a text with two that differ.
    """

    def __init__(self, path: str, maps: Iterable[GivenMap]) -> None:
        self._file = Path(path).name
        self._records: dict[tuple[str, str | None], GivenMap] = {}
        for number, record in enumerate(maps, start=1):
            first = self._records.setdefault((record.text, record.text_pair), record)
            if first != record:
                raise DataError(
                    f"{self._file} has two attributions of {_short(record.text)}, the second in record {number}.",
                    "Keep that of one method and of one class in each file.",
                )

    def scores(self, text: str, text_pair: str | None, features: tuple[Feature, ...]) -> np.ndarray:
        """Return float64 [n]: the scores of a text for its ``features``; raises :class:`RequestError` if there are
        none.
        """
        record = self._records.get((text, text_pair))
        if record is None:
            raise RequestError(
                f"{self._file} has no attribution of {_short(text)}.", "Give one for every text of the data set."
            )
        return record.fitted(features, self._file)


def given_name(path: str) -> str:
    """Return the name of a file's attributions in a table."""
    return Path(path).stem


def read_given(path: str) -> GivenMaps:
    """Read the attributions of the data file ``path``, in JSON a list of records, or a record per line:
    :class:`GivenMap`.

    Raises :class:`DataError` for a file that is missing or damaged, that holds another kind of record, or two different
    attributions of a text.
    """
    return _read(path, source_digest(path))


@lru_cache(maxsize=8)
def _read(path: str, _digest: str) -> GivenMaps:
    return GivenMaps(path, _records(path))


def _records(path: str) -> Iterator[GivenMap]:
    source = locate(path, ANYBODY)
    for number, record in enumerate(source.records(ANYBODY), start=1):
        try:
            yield GivenMap.model_validate(record)
        except ValidationError as error:
            first = first_refused(error)
            why = f"{first.name or 'the record'}: {first.reason}"
            raise DataError(
                f"Record {number} of {source.name} is not an attribution: {why}.",
                'Write {"text": ..., "scores": [...]}, or what explain --json prints.',
            ) from None


def _grouped(pairs: Iterable[tuple[Place, T]]) -> dict[Place, list[T]]:
    """Return all values of each place, in their order."""
    grouped: defaultdict[Place, list[T]] = defaultdict(list)
    for place, value in pairs:
        grouped[place].append(value)
    return grouped


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
