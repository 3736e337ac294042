"""The value of choosing among many attributions, for a text and as means with intervals over many texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from explainlab.analyses.candidates.result import (
    Agreement,
    BestOfDraws,
    CandidatesData,
    CandidatesText,
    HeldOut,
    LayerSet,
    MeanAgreement,
    MeanLayerSet,
    MeanSelection,
    Selection,
    Summary,
    TextWinners,
    Winner,
)
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval
from explainlab.analyses.too_short import long_enough
from explainlab.data import Row
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


MOST_BUDGETS = 32
"""Numbers of draws for which a data set has intervals."""


def means(rows: Sequence[Row], texts: Sequence[CandidatesText]) -> CandidatesData:
    """Return the result of a data set from the results ``texts`` of its ``rows``."""
    first, features = texts[0], [text.counted for text in texts]
    budgets = _budgets(len(first.candidates))
    return CandidatesData(
        texts=[_winners(row, text) for row, text in zip(rows, texts, strict=True)],
        metrics=first.metrics,
        summary=Summary(
            n=len(texts),
            counted={key: sum(text.counted[key] > 0 for text in texts) for key in first.counted},
            selection=mean_selection([text.selection for text in texts], features),
            agreement=[_agreement(pairs) for pairs in zip(*(text.agreement for text in texts), strict=True)],
        ),
        draws=budgets,
        by_draws={
            key: _by_draws([text.by_draws[key] for text in long_enough(texts, features, key)], budgets, own.by_kind)
            for key, own in first.by_draws.items()
        },
        by_layer={
            kind: [_layer_set(sets, features) for sets in zip(*(text.by_layer[kind] for text in texts), strict=True)]
            for kind in first.by_layer
        },
    )


def _winners(row: Row, text: CandidatesText) -> TextWinners:
    winners = {key: text.candidates[index] for key, index in text.winners.items()}
    return TextWinners(
        row=row.number,
        text=row.text,
        text_pair=row.text_pair,
        label=row.label,
        counted=text.counted,
        winners={
            key: Winner(layer=best.layer, draw=best.draw, timestep=best.timestep, value=best.metrics[key])
            for key, best in winners.items()
        },
        selection=text.selection,
    )


def _agreement(pairs: Sequence[Agreement]) -> MeanAgreement:
    correlations = [pair.rank_correlation for pair in pairs if pair.rank_correlation is not None]
    return MeanAgreement(first=pairs[0].first, second=pairs[0].second, rank_correlation=interval(correlations))


def _budgets(count: int) -> list[int]:
    """Return numbers of draws up to ``count``: all, or at most 32, evenly spread on a logarithmic scale."""
    if count <= MOST_BUDGETS:
        return list(range(1, count + 1))
    budgets: list[int] = np.unique(np.geomspace(1, count, MOST_BUDGETS).round().astype(int)).tolist()
    return budgets


def _by_draws(
    texts: Sequence[BestOfDraws[float]], budgets: Sequence[int], kinds: Iterable[str]
) -> BestOfDraws[Interval]:
    means = {kind: [interval([text.by_kind[kind][r - 1] for text in texts]) for r in budgets] for kind in kinds}
    return BestOfDraws[Interval](**means)


def _layer_set(sets: Sequence[LayerSet], features: Sequence[Mapping[str, int]]) -> MeanLayerSet:
    return MeanLayerSet(
        layers=sets[0].layers,
        maps=float(np.mean([layer_set.maps for layer_set in sets])),
        best={
            key: interval([v for own in long_enough(sets, features, key) if (v := own.best[key]) is not None])
            for key in sets[0].best
        },
    )
