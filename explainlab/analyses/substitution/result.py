"""The typed result of attacks by words: of one text, and of a data set."""

from __future__ import annotations

from pydantic import Field, model_serializer

from explainlab.analyses.attack.result import AttackedRow, Measures, Original
from explainlab.analyses.attack.search import Objective
from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody
from explainlab.analyses.substitution.search import Ending


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
