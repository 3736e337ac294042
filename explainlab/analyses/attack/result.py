"""The typed result of attacks on a method's maps: of one text, and of a data set."""

from __future__ import annotations

from explainlab.analyses.attack.search import Ending, Objective
from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody
from explainlab.models.classifier import Prediction


class Measures(Record):
    """The changes by an attack: ``rank_change``, ``top_k_sum_change`` of the map; the probability before minus after.

    The probability is that of the class predicted for the original text.
    """

    rank_change: float
    top_k_sum_change: float
    probability_change: float
    absolute_probability_change: float


class AttackRow(Record):
    """The means of one ``objective`` and radius over ``n`` texts; ``epsilon`` is the radius as requested.

    ``radius`` is the same in the units of word embeddings. ``failed`` texts withstood (their changes are 0, and in the
    means); numbers that are not finite stopped the ``not_finite`` ones.
    """

    objective: Objective
    epsilon: str
    radius: float
    rank_change: Interval
    top_k_sum_change: Interval
    probability_change: Interval
    absolute_probability_change: Interval
    failed: int
    not_finite: int
    n: int

    @property
    def label(self) -> str:
        """The objective and the radius."""
        return f"{self.objective}, {self.epsilon}"


class AttackedText(Record):
    """One attack on the text of a ``row``: the ``scores`` [n_features] of its best feasible iterate, at ``best_step``.

    The attack ended after ``steps``. ``stopped`` is the reason: the limit of steps, a settled search, numbers that are
    not finite, or a radius of 0. ``failed``: no feasible iterate lowered the listed features' share.
    """

    row: int
    objective: Objective
    epsilon: str
    measures: Measures
    steps: int
    stopped: Ending
    best_step: int
    failed: bool
    scores: list[float]


class Course(Record):
    """Every tenth iterate of an attack, and its last one, by their ``step``.

    ``loss`` is the minimised value, ``top_k_sum`` the listed features' share, ``probability`` that of the predicted
    class.
    """

    objective: Objective
    epsilon: str
    step: list[int]
    loss: list[float]
    top_k_sum: list[float]
    probability: list[float]


class Original(Record):
    """A text before the attacks: the ``scores`` [n_features] of its map, and the features ``listed`` [k] by place.

    ``top_k_sum`` is their share of the map. ``left_out``: the reason why it was not attacked; empty for an attacked
    text.
    """

    scores: list[float]
    listed: list[int]
    top_k_sum: float | None
    left_out: str


class AttackText(TextBody):
    """All attacks on one text. ``deviation`` is the standard deviation of the word table, the unit ``s``.

    ``caveats``: weaknesses of attacks on this model, or with these radii.
    """

    method: str
    label: str
    deviation: float
    caveats: list[str]
    original: Original
    rows: list[AttackRow]
    texts: list[AttackedText]
    trajectory: list[Course]


class AttackedRow(Original):
    """A text of a data set, by the number of its ``row``."""

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    prediction: Prediction


class AttackData(Record):
    """The attacks on a data set's texts, and their means; ``left_out`` texts were not attacked."""

    method: str
    label: str
    deviation: float
    caveats: list[str]
    rows: list[AttackRow]
    left_out: int
    originals: list[AttackedRow]
    texts: list[AttackedText]
