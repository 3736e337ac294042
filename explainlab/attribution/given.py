"""Attributions made elsewhere: scores read from a file, to be evaluated like those of our own methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from explainlab.data import source_digest
from explainlab.data.sources import locate
from explainlab.errors import DataError, RequestError, first_refused
from explainlab.reader import ANYBODY
from explainlab.text.units import Feature


class GivenFeature(BaseModel):
    """A scored span: characters ``start`` to ``end`` (half-open) of the text (``part`` 0) or its pair (1)."""

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
        """float64 [n]: a score for each of ``features``; scores of parts of a feature are added up.

        Raises :class:`RequestError` where the number does not fit, where a span crosses the border of a feature, and
        where a content feature has no score.
        """
        if self.scores is not None:
            if len(self.scores) != len(features):
                raise self._misfit(name, f"has {len(self.scores)} scores for {len(features)} features")
            return np.array(self.scores, dtype=np.float64)
        assert self.features is not None
        scores, covered = np.zeros(len(features)), np.zeros(len(features), dtype=bool)
        for span in self.features:
            if not span.special:
                place = next((i for i, feature in enumerate(features) if _holds(feature, span)), None)
                if place is None:
                    raise self._misfit(
                        name, f"scores the characters {span.start} to {span.end}, which are not a feature"
                    )
                scores[place] += span.score
                covered[place] = True
        for feature, known in zip(features, covered, strict=True):
            if not (known or feature.special):
                raise self._misfit(name, f"has no score for {feature.text!r} at {feature.start}")
        return scores

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
        """float64 [n]: the scores of a text for its ``features``; raises :class:`RequestError` if there are none."""
        record = self._records.get((text, text_pair))
        if record is None:
            raise RequestError(
                f"{self._file} has no attribution of {_short(text)}.", "Give one for every text of the data set."
            )
        return record.fitted(features, self._file)


def given_name(path: str) -> str:
    """The name of a file's attributions in a table."""
    return Path(path).stem


def read_given(path: str) -> GivenMaps:
    """The attributions of the data file ``path``, in JSON a list of records, or a record per line: :class:`GivenMap`.

    Raises :class:`DataError` for a file that is missing or damaged, that holds another kind of record, or two
    different attributions of a text.
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


def _holds(feature: Feature, span: GivenFeature) -> bool:
    inside = feature.start <= span.start < span.end <= feature.end
    return inside and feature.part == span.part and not feature.special


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
