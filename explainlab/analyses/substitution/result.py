"""Attacks by words, of one text and of a data set: the typed result, and the answer in words."""

from __future__ import annotations

from pydantic import Field, model_serializer

from explainlab.analyses.attack.result import AttackedRow, Measures, Original
from explainlab.analyses.attack.search import Objective
from explainlab.analyses.attack.verdict import not_attacked
from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody
from explainlab.analyses.substitution.search import Ending
from explainlab.analyses.wording import counted, interval_words, joined, quoted, whole_percent


class WordMeasures(Measures):
    """The effect of an attack, and the share of the words with a letter that it ``replaced``."""

    replaced_share: float


class SubstitutionRow(Record):
    """The means of one ``objective`` over ``n`` texts; ``epsilon`` is the budget: a share of the words.

    ``failed`` texts withstood: no word was replaced. Their changes are 0, and in the means.
    """

    objective: Objective
    epsilon: str
    rank_change: Interval
    top_k_sum_change: Interval
    probability_change: Interval
    absolute_probability_change: Interval
    replaced_share: Interval
    failed: int
    n: int


class ReplacedWord(Record):
    """A word that was replaced: its ``feature``, how it was written ``before`` and ``after``: in JSON from and to."""

    feature: int
    before: str = Field(alias="from")
    after: str = Field(alias="to")

    @model_serializer
    def _written(self) -> dict[str, int | str]:
        return {"feature": self.feature, "from": self.before, "to": self.after}


class SubstitutedText(Record):
    """One attack on the text of a ``row``: the ``text`` that it ends with, and the ``scores`` [n_features] of its map.

    It ``stopped`` after ``steps`` replaced words: by its budget, without gain, or as no word kept the prediction.
    ``dropped`` counts the near words that were left out because the text was tokenised otherwise with them.
    """

    row: int
    objective: Objective
    epsilon: str
    measures: WordMeasures
    steps: int
    stopped: Ending
    failed: bool
    dropped: int
    scores: list[float]
    replaced: list[ReplacedWord]
    text: str
    text_pair: str | None = None


class SubstitutionText(TextBody):
    """All attacks on one text; ``label`` is that of the ``method``."""

    method: str
    label: str
    original: Original
    rows: list[SubstitutionRow]
    texts: list[SubstitutedText]


class SubstitutionData(Record):
    """The same of a data set, and the means; ``left_out`` texts were not attacked."""

    method: str
    label: str
    rows: list[SubstitutionRow]
    left_out: int
    originals: list[AttackedRow]
    texts: list[SubstitutedText]


def text_verdict(body: SubstitutionText) -> str:
    """Name the replaced words of one text, and say how its map changed."""
    if body.original.left_out:
        return not_attacked(body, body.original)
    own = body.texts[-1]
    if own.failed:
        return (
            f"No near word drove the map of {body.label} away: none of those that kept the prediction lowered the top "
            f"words' share of {body.original.top_k_sum or 0.0:.3f}."
        )
    words = joined([f"{quoted(word.before)} by {quoted(word.after)}" for word in own.replaced])
    before, measures = body.original.top_k_sum or 0.0, own.measures
    return (
        f"Replacing {words} ({own.objective}) moved {whole_percent(measures.rank_change)} of the top places of "
        f"{body.label} and took their share from {before:.3f} to {before - measures.top_k_sum_change:.3f}, while the "
        f"probability changed by {measures.absolute_probability_change:.3f}."
    )


def data_verdict(body: SubstitutionData) -> str:
    """Say how the attacks changed maps on average; the constrained attacks if the run has any."""
    row = body.rows[-1]
    if not row.n:
        return f"None of {counted(body.left_out, 'text')} was attacked: {body.originals[0].left_out}."
    moved = row.rank_change
    between = "" if moved.low is None else f" ({interval_words(moved, '.0%')})"
    return (
        f"Over {counted(row.n, 'text')}, near words in place of {whole_percent(row.replaced_share.mean or 0.0)} of all "
        f"words ({row.objective}) move {whole_percent(moved.mean or 0.0)}{between} of the top places of {body.label} "
        f"and take {row.top_k_sum_change.mean or 0.0:.3f} of their share; {row.failed} of {row.n} attacks failed."
    )
