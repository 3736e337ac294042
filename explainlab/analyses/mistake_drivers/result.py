"""The words that drive mistakes: the fields of the result, which are its JSON, and the answer in words."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval
from explainlab.analyses.wording import counted, joined, quoted


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


_WORDS = """
    a an the this that these those some any each every either neither both all another such
    i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves one ones who whom whose which what
    am is are was were be been being do does did doing done has have had having
    can could will would shall should may might must
    about above across after against along among around as at before behind below beside between beyond by down during
    for from in inside into near of off on onto out outside over past since through to toward under until up upon with
    within without via per
    and or nor so yet if then than because while although though whether when where why how
    there here also too very just s t d ll m re ve o
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
"""Ours, and for English only. Words that turn a meaning round (not, no, but, never) are none of them."""


def is_function(words: Sequence[str]) -> bool:
    """Return whether all of these case-folded ``words`` are function words."""
    return all(word in FUNCTION_WORDS for word in words)


MOST = 3


def verdict(body: MistakeDriversData, least: int) -> str:
    """Name the words whose scores are clearly above zero in ``least`` rows or more, content words first."""
    wrong = counted(body.n_wrong, "misclassified row")
    if not body.n_wrong:
        return f"The model is right about each of the {counted(body.n_right, 'row')}: nothing drives a mistake."
    clear = sorted([word for word in body.words if word.clear], key=lambda word: is_function(word.words))
    if not clear:
        why = f"none occurs in at least {least} of them with scores that are above zero beyond chance"
        return f"In {wrong} no word clearly pushes toward a wrong class: {why}."
    named = [
        f"{quoted(word.name)} toward {quoted(word.predicted)} ({counted(word.rows, 'row')})" for word in clear[:MOST]
    ]
    more = f" and {len(clear) - MOST:,} more" if len(clear) > MOST else ""
    words = joined(named) if not more else f"{', '.join(named)}{more}"
    push = "this word pushes" if len(clear) == 1 else "these words push"
    return f"In {wrong} {push} toward a wrong class: {words}."


def folded(driver: Driver, hide_function_words: bool = False) -> bool:
    """Return whether a driver is folded at first: because it is not clear, or because it is grammar."""
    return not driver.clear or (hide_function_words and is_function(driver.words))
