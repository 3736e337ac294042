"""The result of the analysis ``mistake_drivers``: its fields are its JSON."""

from __future__ import annotations

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval


class Interaction(Interval):
    """The interaction of two words: their push together beyond that of each alone, as a mean over ``rows`` rows."""

    rows: int


class Driver(Record):
    """Words, one or two side by side, and how they push toward ``predicted``, a wrong class.

    ``mean`` is that of their scores in ``rows`` misclassified rows, ``row_numbers`` in the file, with its 95% interval
    from ``low`` to ``high``; ``right_mean`` and its interval are of scores for the same class in ``right_rows`` rows
    that are predicted right. ``once``: the words are in one misclassified row only. ``clear``: the scores are
    above zero beyond chance, by a test that is corrected for all words or all pairs. Scores are in units of the model's
    output.
    """

    words: list[str]
    predicted: str
    rows: int
    once: bool
    clear: bool
    mean: float
    low: float | None
    high: float | None
    right_mean: float | None
    right_low: float | None
    right_high: float | None
    right_rows: int
    row_numbers: list[int]

    @property
    def name(self) -> str:
        """The words as a text."""
        return " ".join(self.words)

    @property
    def wrong_interval(self) -> Interval:
        """Mean and interval over the misclassified rows."""
        return Interval(mean=self.mean, low=self.low, high=self.high)

    @property
    def right_interval(self) -> Interval:
        """Mean and interval over the rows that are predicted right."""
        return Interval(mean=self.right_mean, low=self.right_low, high=self.right_high)


class _Named(Record):
    """Fields that come before those of a :class:`Driver`."""

    word: str


class DrivingWord(Driver, _Named):
    """A ``word``, which is the only one of ``words``."""


class DrivingPair(Driver):
    """Two words; the ``interaction`` is measured for the first pairs only, and the JSON has no other."""

    interaction: Interaction | None = Field(None, exclude_if=lambda value: value is None)


class MistakeDriversData(Record):
    """The drivers of ``n_wrong`` misclassified rows toward their wrong classes, by ``method`` (options after colons).

    ``n_compared`` of the ``n_right`` correct rows serve as the comparison. ``words`` and ``pairs`` are ranked.
    """

    n_wrong: int
    n_right: int
    n_compared: int
    words: list[DrivingWord]
    pairs: list[DrivingPair]
    method: str
