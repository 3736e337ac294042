"""Layer randomisation of a text and of a data set: the typed result, and the answer in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody
from explainlab.analyses.wording import counted, joined, mean_words

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


def verdict(body: RandomisationText | RandomisationData) -> str:
    """Say which methods still rank features by |score| as on the model itself, more than random maps do.

    A ranking survives if the whole interval of its rho, or its value on a single text, is above 95% of random maps; the
    highest rho comes first.
    """
    over = f"Over {counted(body.n, 'text')}" if isinstance(body, RandomisationData) else "On this text"
    rows = [row for row in body.rows if row.absolute and row.mean is not None]
    if not rows:
        return f"{over} no rank correlation is defined: none of {counted(len(body.methods), 'method')} can be judged."
    labels = {method.method: method.label for method in body.methods}
    last = [row for row in rows if row.mode == "cascading" and row.unit == body.units[-1]]
    if not last:
        return _one_by_one(over, len(body.units), rows, labels)
    controls = {control.method: control for control in body.controls if control.absolute}
    limit = max(controls[row.method].random.high or 0.0 for row in last)
    random = body.units[0] if len(body.units) == 1 else f"all from {body.units[0]} to {body.units[-1]}"
    last.sort(key=lambda row: -(row.mean or 0.0))
    kept = [row for row in last if survives(row, controls[row.method])]
    if kept:
        told = joined([f"{labels[row.method]} ({_words(row, controls[row.method])})" for row in kept])
        rest = [labels[row.method] for row in last if row not in kept]
        nothing = f", and nothing of those by {joined(rest)}" if rest else ""
        return (
            f"{over}, with {random} random, something is left of the rankings of |scores| by {told}{nothing} "
            f"(random maps: ρ up to {limit:.2f})."
        )
    best = last[0]
    return (
        f"{over}, with {random} random, no ranking of |scores| survives: the highest is that of {labels[best.method]} "
        f"(ρ {mean_words(best.interval, '.2f')}; random maps: up to {limit:.2f})."
    )


def survives(row: Survival, control: Control) -> bool:
    """Return True if rho is clearly above the rho of random maps."""
    value = row.mean if row.low is None else row.low
    return value is not None and control.random.high is not None and value > control.random.high


def _words(row: Survival, control: Control) -> str:
    return f"ρ {mean_words(row.interval, '.2f')}, the mere order of the text {control.order.mean:.2f}"


def _one_by_one(over: str, units: int, rows: Sequence[Survival], labels: dict[str, str]) -> str:
    """Order the methods by their mean rho over the units, each random alone."""
    means = {
        label: float(np.mean([row.mean for row in rows if row.method == name and row.mean is not None]))
        for name, label in labels.items()
        if any(row.method == name for row in rows)
    }
    told = joined([f"{label} {mean:.2f}" for label, mean in sorted(means.items(), key=lambda pair: -pair[1])])
    return f"{over}, with one of {counted(units, 'unit')} random at a time, the mean ρ of |scores| is: {told}."
