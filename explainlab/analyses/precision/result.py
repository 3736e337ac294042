"""The typed result of precision: of a text, and of a data set."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody
from explainlab.request import Dtype

Against = Literal["seed", "random"]
"""The controls that show the size of a difference: the same method with other draws, or random maps."""


class MethodFacts(Record):
    """A ``method`` with its options, its ``id``, its ``label``, whether its scores have signs, and whether it draws."""

    method: str
    id: str
    label: str
    signed: bool
    draws: bool


class FormatFacts(Record):
    """A number format. ``rounded``: whether it holds other weights than the files, or the same, as these are so too."""

    dtype: Dtype
    rounded: bool


class Likeness(Record):
    """The similarity of two maps of a text; None where it is undefined.

    ``rank_correlation``: Spearman's rho of the content features' scores. ``top_5``: the share of the five highest
    features in float32 that are among the five highest in the other map; only for texts of more than five features.
    """

    rank_correlation: float | None = None
    top_5: float | None = None


class Compared(Likeness):
    """A ``method``'s map in ``dtype`` beside that in float32; ``broken``: why there is none (empty: there is one)."""

    dtype: Dtype
    method: str
    broken: str = ""


class Held(Likeness):
    """A ``method``'s map in float32 ``against`` another."""

    against: Against
    method: str


class Read(Record):
    """The prediction for a text in ``dtype``: the largest difference of a logit, and the predicted class.

    None where the logits are not finite.
    """

    dtype: Dtype
    logits: float | None
    predicted: str | None


class ReadText(Record):
    """One text of a data set, by its number, with its ``features`` (content only) and the ``predicted`` class.

    ``margin`` is how far the highest logit is above the second in float32.
    """

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    predicted: str
    margin: float
    features: int
    read: list[Read]
    maps: list[Compared]
    controls: list[Held]


class PrecisionRow(Record):
    """The effect of ``dtype`` on the model and on the maps of a ``method``, as means over texts with 95% intervals.

    ``logits``: the largest difference of a text's logits. ``predictions_changed`` counts texts. ``n`` texts have a map
    in both formats, and ``broken`` ones have not. Of the n, ``undefined`` are left out of both means, as all scores of
    a map are equal, and ``short`` ones, of five features or fewer, out of ``top_5``.
    """

    dtype: Dtype
    method: str
    logits: Interval
    predictions_changed: int
    rank_correlation: Interval
    top_5: Interval
    n: int
    undefined: int
    short: int
    broken: int


class Control(Record):
    """A ``method``'s maps in float32 held ``against`` others, as means over ``n`` texts."""

    against: Against
    method: str
    rank_correlation: Interval
    top_5: Interval
    n: int


class HalfMap(Record):
    """The ``scores`` [n_features] of a ``method`` in ``dtype``."""

    dtype: Dtype
    method: str
    scores: list[float]


class PrecisionText(TextBody):
    """Every number format and method on one text; ``maps`` has those of float32 too.

    ``left_out`` gives the reason for everything that cannot run.
    """

    shown_alone = ("maps", "features")

    left_out: list[str]
    formats: list[FormatFacts]
    methods: list[MethodFacts]
    rows: list[PrecisionRow]
    controls: list[Control]
    texts: list[ReadText]
    maps: list[HalfMap]


class PrecisionData(Record):
    """The same over ``n`` texts."""

    n: int
    left_out: list[str]
    formats: list[FormatFacts]
    methods: list[MethodFacts]
    rows: list[PrecisionRow]
    controls: list[Control]
    texts: list[ReadText]
