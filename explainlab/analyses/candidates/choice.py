"""What choosing one of many maps is worth: by the metric that is then reported, by another one, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from explainlab.analyses.summary import interval


def selection(
    values: Mapping[str, np.ndarray], winners: Mapping[str, int], key: str, choosers: Sequence[str]
) -> dict[str, Any]:
    """What the metric ``key`` says of the first map, of all on average, of its own winner, and of those of others.

    ``values`` float64 [C] are those of C maps and ``winners`` the index of the best, by metric; ``choosers`` are the
    metrics whose winners are held out.
    """
    own = values[key]
    return {
        "first": float(own[0]),
        "mean": float(own.mean()),
        "best": float(own[winners[key]]),
        "held_out": {other: float(own[winners[other]]) for other in choosers},
    }


def mean_selection(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The selections of many texts, each by metric: means with intervals.

    ``also_best``: the share of texts whose map chosen by another metric is as good as the metric's own choice.
    """
    mean: dict[str, Any] = {}
    for key, one in found[0].items():
        columns = {other: [each[key]["held_out"][other] for each in found] for other in one["held_out"]}
        best = [each[key]["best"] for each in found]
        mean[key] = {part: interval([each[key][part] for each in found]) for part in ("first", "mean", "best")}
        mean[key]["held_out"] = {
            other: {**interval(values), "also_best": float(np.mean(np.equal(values, best)))}
            for other, values in columns.items()
        }
    return mean
