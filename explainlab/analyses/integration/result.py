"""The typed result of the integration error: of a text, and of a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explainlab.analyses.base import Record
from explainlab.analyses.records import Interval, TextBody
from explainlab.attribution.path import Rule
from explainlab.attribution.records import Attribution, Completeness
from explainlab.request import Request

SLACK = 1e-6
"""The rounding of float32 passes: the amount by which an error may exceed the tolerance."""


def within(error: float | None, tolerance: float) -> bool:
    """Tell if an approximation error is at most ``tolerance``; an undefined one (None) is not."""
    return error is not None and error <= tolerance + SLACK


class IntegralBody(TextBody):
    """A text whose scores are integrals of the gradient along the path from baseline to text.

    ``start`` is the output F at the baseline, ``end`` at the text, ``expected`` their difference: the sum that the
    scores must reach. ``cancels``: it is so small beside the scores that an error relative to it means nothing.
    """

    start: float
    end: float
    expected: float
    cancels: bool

    def integral(self, request: Request, scores: Sequence[float], errors: Sequence[float] | None = None) -> Attribution:
        """Return ``scores`` of the features [n_features] as an attribution with their completeness, to be drawn."""
        total = float(np.sum(scores))
        error = None if self.cancels else abs(total - self.expected) / abs(self.expected)
        completeness = Completeness(total, self.expected, error)
        return self.attribution(request, scores, errors, completeness=completeness)


class RuleRow(Record):
    """One ``rule`` at one step count: ``evaluations`` gradients, ``scores`` [n_features].

    ``approximation_error`` is a share of the change of the output, None where the scores cancel.
    """

    rule: Rule
    steps: int
    evaluations: int
    approximation_error: float | None
    scores: list[float]


class AdaptiveStage(Record):
    """The adaptive rule after a round: gradients spent, and two relative errors.

    ``approximation_error`` is that of the total (None where the scores cancel), ``estimated_error`` that of the scores
    in L1.
    """

    evaluations: int
    approximation_error: float | None
    estimated_error: float


class Adaptive(Record):
    """The adaptive rule: a stage a round, ``scores`` and ``errors`` [n_features], ``alphas`` [points] from 0 to 1."""

    trace: list[AdaptiveStage]
    scores: list[float]
    errors: list[float]
    alphas: list[float]


class DoublingStage(Record):
    """The right Riemann sum at one step count."""

    steps: int
    approximation_error: float


class Doubling(Record):
    """The right Riemann sum with its steps doubled: ``evaluations`` gradients of all stages together.

    ``steps`` are those that reached the tolerance, None if none did.
    """

    schedule: list[DoublingStage]
    evaluations: int
    steps: int | None


class IntegrationErrorText(IntegralBody):
    """The errors of a text: a row a rule and step count, and each rule's first step count within the tolerance.

    ``doubling`` is None where the scores cancel.
    """

    rows: list[RuleRow]
    ideal_steps: dict[Rule, int | None]
    adaptive: Adaptive
    doubling: Doubling | None


class TextErrors(Record):
    """One text of a data set: ``row`` is its number, ``errors`` by rule and step count."""

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    expected: float
    cancels: bool
    errors: dict[Rule, dict[str, float | None]]
    ideal_steps: dict[Rule, int | None]
    adaptive: AdaptiveStage


class ErrorMean(Interval):
    """The mean error at one step count with its interval, and the quartiles; None where there are no texts."""

    q1: float | None
    median: float | None
    q3: float | None


class AdaptiveMeans(Record):
    """The evaluations and the error of the adaptive rule, over texts."""

    evaluations: Interval
    approximation_error: Interval


class ErrorSummary(Record):
    """The means over the ``n`` texts whose scores do not cancel; ``cancelled`` counts the others.

    ``mean`` is by rule and step count; ``ideal_steps`` counts texts by rule and ideal step count (or ``none``);
    ``within_1000`` counts texts by rule whose ideal step is at most 1,000.
    """

    n: int
    cancelled: int
    mean: dict[Rule, dict[str, ErrorMean]]
    ideal_steps: dict[Rule, dict[str, int]]
    within_1000: dict[Rule, int]
    adaptive: AdaptiveMeans


class IntegrationErrorData(Record):
    """The errors of a data set's texts, and their summary."""

    texts: list[TextErrors]
    summary: ErrorSummary
