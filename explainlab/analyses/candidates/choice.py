"""What choosing among many attributions is worth: by the reported metric, by another metric, or without a choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from explainlab.analyses.candidates.result import HeldOut, MeanSelection, Selection
from explainlab.analyses.summary import interval


def selection(
    values: Mapping[str, np.ndarray], winners: Mapping[str, int], key: str, choosers: Sequence[str]
) -> Selection:
    """The metric ``key`` of the first attribution, of all on average, of its own winner, and of other metrics' winners.

    By metric, ``values`` float64 [C] are of C attributions, and ``winners`` is the index of the best. ``choosers`` are
    the metrics whose winners are held out.
    """
    own = values[key]
    return Selection(
        first=float(own[0]),
        mean=float(own.mean()),
        best=float(own[winners[key]]),
        held_out={other: float(own[winners[other]]) for other in choosers},
    )


def mean_selection(selections: Sequence[Mapping[str, Selection]]) -> dict[str, MeanSelection]:
    """The selections of many texts, each by metric, as means with intervals."""
    return {key: _mean([by_metric[key] for by_metric in selections]) for key in selections[0]}


def _mean(texts: Sequence[Selection]) -> MeanSelection:
    best = [text.best for text in texts]
    columns = {other: [text.held_out[other] for text in texts] for other in texts[0].held_out}
    return MeanSelection(
        first=interval([text.first for text in texts]),
        mean=interval([text.mean for text in texts]),
        best=interval(best),
        held_out={other: _held_out(values, best) for other, values in columns.items()},
    )


def _held_out(values: Sequence[float], best: Sequence[float]) -> HeldOut:
    mean = interval(values)
    return HeldOut(mean=mean.mean, low=mean.low, high=mean.high, also_best=float(np.mean(np.equal(values, best))))
