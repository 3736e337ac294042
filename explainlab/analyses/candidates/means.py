"""The candidates of many texts: a short record of each, and means with intervals over all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from explainlab.analyses.candidates.choice import mean_selection
from explainlab.analyses.candidates.result import (
    Agreement,
    BestOfDraws,
    CandidatesData,
    CandidatesText,
    LayerSet,
    MeanAgreement,
    MeanLayerSet,
    Summary,
    TextWinners,
    Winner,
)
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval
from explainlab.analyses.too_short import long_enough
from explainlab.data import Row

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
