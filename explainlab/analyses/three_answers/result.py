"""The result of the study ``three_answers``: its fields are its JSON."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval
from explainlab.analyses.roar.result import Estimated, MeasureFacts

Answer = Literal["plain", "masked", "roar"]
"""Erasure on the plain model, erasure on the masked model, Recursive ROAR."""
ANSWERS: tuple[Answer, ...] = ("plain", "masked", "roar")


class Placed(Interval):
    """The value of a ``measure`` by an ``answer`` with its 95% interval, and its ``rank`` among the measures.

    The value is the metric of erasure, or the faithfulness over the whole area (Eq. 3), of random words 0 by
    definition. The rank 1 is the best; equal values share the mean of their ranks. Its interval is of resamples, as
    that of erasure; that of faithfulness is the one that the study ``roar`` tells.
    """

    answer: Answer
    measure: str
    rank: Interval


class Agreed(Interval):
    """Kendall's tau-b between the values of all measures by two answers, with its 95% interval."""

    first: Answer
    second: Answer


class ThreeAnswersData(Record):
    """The orders of the measures by three answers to one question.

    ``base`` is an architecture or a model; ``plain`` and ``masked`` are the performance of the two models on ``n``
    whole test texts, by ``metric``. ``erasure`` is the metric of erasure in canonical form, with its
    ``erasure_label``, its ``erasure_definition``, and whether ``higher_is_better``. ``ratios`` are those of the grid,
    per cent or, if ``counted``, numbers of tokens. ``unknown`` counts the models of the grid that cannot be made.
    """

    base: str
    metric: str
    erasure: str
    erasure_label: str
    erasure_definition: str
    higher_is_better: bool
    n: int
    seeds: list[int]
    ratios: list[int]
    counted: bool
    measures: list[MeasureFacts]
    plain: Estimated
    masked: Estimated
    places: list[Placed]
    taus: list[Agreed]
    unknown: int
