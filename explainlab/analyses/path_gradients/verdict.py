"""The answer in words: the part of the path with the most gradient, or none where no test tells one apart."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.path_gradients.result import ShareSummary
from explainlab.analyses.significance import groups_of_intervals
from explainlab.analyses.wording import counted, whole_percent


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
