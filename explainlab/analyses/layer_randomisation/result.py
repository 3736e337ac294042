"""The typed result of layer randomisation: of a text, and of a data set."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody

Mode = Literal["cascading", "independent"]
"""The random units: all from the top down to the unit, or that unit alone."""

Rhos = dict[Mode, dict[str, dict[str, float | None]]]
"""Rank correlations by mode, unit and method; None where there is none."""


class MethodFacts(Record):
    """A ``method`` with its options, its ``id``, its ``label``, and whether its scores have signs."""

    method: str
    id: str
    label: str
    signed: bool


class OriginalMap(MethodFacts):
    """The ``scores`` [n_features] of a method on the model itself."""

    scores: list[float]


class Survival(Record):
    """Spearman's rho between maps of the model and of one that is random in ``mode`` down to ``unit``.

    It compares the scores of the content features, or their absolute values (``absolute``). A text's value is the mean
    over its draws; ``mean`` is that over ``n`` texts with its 95% interval, and ``draws`` the mean of every draw alone.
    ``undefined`` texts have no value: all scores of a map are equal, or it could not be computed.
    """

    method: str
    mode: Mode
    unit: str
    absolute: bool
    mean: float | None
    low: float | None
    high: float | None
    draws: list[float | None]
    n: int
    undefined: int

    @property
    def interval(self) -> Interval:
        """The mean with its interval."""
        return Interval(mean=self.mean, low=self.low, high=self.high)


class Control(Record):
    """The similarity of a ``method``'s maps to maps that no model made.

    ``random``: rho with a map of uniform scores, averaged over texts; the mean and the 5% and 95% quantiles of 100 such
    maps. ``order``: rho with the text order (the first feature highest), as a mean with its interval.
    """

    method: str
    absolute: bool
    random: Interval
    order: Interval


class RandomMap(Record):
    """The ``scores`` [n_features] of a method on a random model, of the first draw."""

    mode: Mode
    unit: str
    method: str
    scores: list[float]


class RandomisationRow(Record):
    """The contribution of one text: ``values`` for its scores, ``absolute`` for their absolute values."""

    row: int
    text: str
    text_pair: str | None
    label: str | None
    values: Rhos
    absolute: Rhos


class RandomisationText(TextBody):
    """Layer randomisation of one text, the only one of ``texts``.

    ``units`` are those randomised, top first; ``text_seed`` is the seed of the methods. ``left_out`` gives the reason
    for each default method that is missing.
    """

    shown_alone = ("maps",)

    text_seed: int
    units: list[str]
    methods: list[OriginalMap]
    rows: list[Survival]
    controls: list[Control]
    texts: list[RandomisationRow]
    maps: list[RandomMap]
    left_out: list[str] = Field(default_factory=list)


class RandomisationData(Record):
    """Layer randomisation of ``n`` texts: means, and the contribution of every text; ``left_out`` as of a text."""

    n: int
    units: list[str]
    methods: list[MethodFacts]
    rows: list[Survival]
    controls: list[Control]
    texts: list[RandomisationRow]
    left_out: list[str] = Field(default_factory=list)
