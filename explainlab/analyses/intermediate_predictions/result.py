"""The typed result of intermediate predictions: of a text, and of a data set."""

from __future__ import annotations

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody


class Position(Record):
    """The prediction after ``end`` characters of the feature's text: logits and probabilities by class.

    ``masked``, on request: the probabilities for the whole text with everything after the feature masked; None for
    special tokens.
    """

    end: int
    logits: dict[str, float]
    probabilities: dict[str, float]
    masked: dict[str, float] | None = Field(None, exclude_if=lambda value: value is None)


class IntermediatePredictionsText(TextBody):
    """The predictions on the way through a text: a position a feature, the last one being the prediction."""

    positions: list[Position]


class TextPositions(Record):
    """One text of a data set: ``row`` is its number.

    ``settled`` is the share of its features, above 0 to 1, that were read when the predicted class changed no more.
    """

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    settled: float
    positions: list[Position]


class SettledSummary(Record):
    """The mean of ``settled`` over ``n`` texts.

    ``apart``, on request: the mean distance to the masked texts' predictions.
    """

    n: int
    settled: Interval
    apart: Interval | None = Field(None, exclude_if=lambda value: value is None)


class IntermediatePredictionsData(Record):
    """The predictions on the way through a data set's texts, and when they settle."""

    texts: list[TextPositions]
    summary: SettledSummary
