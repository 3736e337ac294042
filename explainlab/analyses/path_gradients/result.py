"""The composition of the gradients along the path, for a text and for a data set, and the answer in words."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.base import Record
from explainlab.analyses.integration.result import IntegralBody
from explainlab.analyses.records import Interval
from explainlab.analyses.significance import groups_of_intervals
from explainlab.analyses.wording import counted, whole_percent
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


def mean_verdict(summary: ShareSummary) -> str:
    """Answer for a data set, by the finest of its step counts."""
    shares = list(summary.share.values())[-1]
    groups = groups_of_intervals({str(i): (share, summary.n) for i, share in enumerate(shares)})
    if summary.n > 1 and not groups.winner:
        most = whole_percent(max(share.mean or 0.0 for share in shares))
        return f"No part of the path clearly holds more of the gradient than the others: the largest has {most}."
    return verdict([share.mean or 0.0 for share in shares], f"of {counted(summary.n, 'text')}")


def verdict(shares: Sequence[float], whose: str = "of this text") -> str:
    """Return the largest of ``shares`` of the gradient, one for each of the equal parts of the path."""
    bins, largest = len(shares), max(range(len(shares)), key=shares.__getitem__)
    part = f"from α = {largest / bins:g} to {(largest + 1) / bins:g}"
    return f"The largest part of the gradient {whose} lies {part}: {whole_percent(shares[largest])} of it."
