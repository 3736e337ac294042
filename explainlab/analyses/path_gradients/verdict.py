"""Which part of the path holds the most of the gradient, in words; none where the intervals of several overlap."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.path_gradients.result import ShareSummary
from explainlab.analyses.wording import leaders, whole_percent


def mean_verdict(summary: ShareSummary) -> str:
    """Over a data set, by the finest of its step counts."""
    shares = dict(enumerate(list(summary.share.values())[-1]))
    named = leaders({str(i): share for i, share in shares.items()})
    if summary.n > 1 and len(named) != 1:
        return "No part of the path clearly holds more of the gradient than the others: the intervals overlap."
    return verdict([share.mean or 0.0 for share in shares.values()], f"of {summary.n:,} texts")


def verdict(shares: Sequence[float], whose: str = "of this text") -> str:
    """The largest of ``shares`` of the gradient, one for each of the equal parts of the path."""
    bins, largest = len(shares), max(range(len(shares)), key=shares.__getitem__)
    part = f"from α = {largest / bins:g} to {(largest + 1) / bins:g}"
    return f"The largest part of the gradient {whose} lies {part}: {whole_percent(shares[largest])} of it."
