"""The value of choosing among many attributions: by the reported metric, by another metric, or without a choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from explainlab.analyses.candidates.result import HeldOut, MeanSelection, Selection
from explainlab.analyses.summary import interval
from explainlab.analyses.too_short import long_enough
from explainlab.metrics.evaluate import TIE


def selection(
    values: Mapping[str, np.ndarray], choices: Mapping[str, int | None], key: str, choosers: Sequence[str]
) -> Selection:
    """Return the metric ``key`` of the first attribution, of all on average, of its own winner and of other winners.

    By metric, ``values`` float64 [C] are of C attributions, and ``choices`` is the index of the best; None for a metric
    that cannot tell them apart, which leaves the mean of all. ``choosers`` are the metrics whose winners are held out.
    """
    own = values[key]
    mean = float(own.mean())

    def chosen(by: str) -> float:
        choice = choices[by]
        return mean if choice is None else float(own[choice])

    return Selection(
        first=float(own[0]), mean=mean, best=chosen(key), held_out={other: chosen(other) for other in choosers}
    )


def mean_selection(
    selections: Sequence[Mapping[str, Selection]], features: Sequence[Mapping[str, int]]
) -> dict[str, MeanSelection]:
    """Return the selections of many texts, each by metric, as means with intervals.

    ``features``: the number that a metric selects of each text. Texts without any are left out.
    """
    return {
        key: _mean([own[key] for own in long_enough(selections, features, key)], first.held_out)
        for key, first in selections[0].items()
    }


def _mean(texts: Sequence[Selection], others: Iterable[str]) -> MeanSelection:
    best = [text.best for text in texts]
    columns = {other: [text.held_out[other] for text in texts] for other in others}
    return MeanSelection(
        first=interval([text.first for text in texts]),
        mean=interval([text.mean for text in texts]),
        best=interval(best),
        held_out={other: _held_out(values, best) for other, values in columns.items()},
    )


def _held_out(values: Sequence[float], best: Sequence[float]) -> HeldOut:
    mean = interval(values)
    near = np.abs(np.subtract(values, best)) <= TIE
    return HeldOut(mean=mean.mean, low=mean.low, high=mean.high, also_best=float(near.mean()) if values else None)
