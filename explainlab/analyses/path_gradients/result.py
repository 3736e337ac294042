"""The composition of the gradients along the path, for a text and for a data set."""

from __future__ import annotations

from explainlab.analyses.base import Record
from explainlab.analyses.integration.result import IntegralBody
from explainlab.analyses.records import Interval
from explainlab.attribution.path import Rule


class SampledPath(Record):
    """The derivative of F along the path at the points ``alphas`` [points] of a rule, from baseline 0 to text 1.

    ``total`` [points] is that of the whole text, ``per_feature`` [n_features][points] adds up to it.
    """

    steps: int
    rule: Rule
    alphas: list[float]
    total: list[float]
    per_feature: list[list[float]]


class PathGradientsText(IntegralBody):
    """The gradients of a text, a path a step count."""

    paths: list[SampledPath]


class TextShares(Record):
    """One text of a data set: ``row`` is its number.

    ``shares`` are by step count: how much of the total |dF/dα| lies in each of the equal parts of the path [bins].
    """

    row: int
    text: str
    text_pair: str | None = None
    label: str | None
    expected: float
    shares: dict[str, list[float]]


class ShareSummary(Record):
    """The mean share of each of ``bins`` parts of the path over ``n`` texts, by step count."""

    n: int
    bins: int
    share: dict[str, list[Interval]]


class PathGradientsData(Record):
    """The places on the path where the gradients of a data set's texts lie, by text and over all of them."""

    texts: list[TextShares]
    summary: ShareSummary
