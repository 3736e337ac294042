"""The candidates of one text by metric: winners, their agreement, and the best of fewer draws or layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import scipy

from explainlab.analyses.candidates.result import TOP, Agreement, BestOfDraws, CandidateAttribution, LayerSet, LayerSets
from explainlab.attribution.diffusion import Candidate
from explainlab.attribution.selection import tells_apart, winner_of
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import MetricSpec


@dataclass(frozen=True, eq=False)
class Table:
    """C ``candidates`` of one text by the ``metrics``, whose keys they go by.

    ``reported`` are the keys of the metrics that were requested: the others only choose. ``results`` has a row a
    candidate and a column a metric.
    """

    candidates: Sequence[Candidate]
    metrics: Mapping[str, MetricSpec]
    reported: Sequence[str]
    results: Sequence[Sequence[MetricResult]]

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """The values by metric, float64 [C]."""
        return {key: np.array([row[i].value for row in self.results]) for i, key in enumerate(self.metrics)}

    @cached_property
    def counted(self) -> dict[str, int]:
        """The largest number of features that a metric selects."""
        return {key: max(row[i].counted for row in self.results) for i, key in enumerate(self.metrics)}

    @cached_property
    def winners(self) -> dict[str, int]:
        """The index of the best candidate by metric: see :func:`explainlab.attribution.selection.winner_of`."""
        return {key: winner_of(self.candidates, self.merits(key)) for key in self.metrics}

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The winners; None for a metric that cannot tell the candidates apart."""
        return {key: winner if tells_apart(self.merits(key)) else None for key, winner in self.winners.items()}

    def sign(self, key: str) -> int:
        """Return 1 if higher values are better, -1 if lower ones are."""
        return 1 if self.metrics[key].higher_is_better else -1

    def merits(self, key: str) -> np.ndarray:
        """Return float64 [C]: the values of a metric, with a sign so that higher is better."""
        return self.sign(key) * self.values[key]

    def records(self) -> list[CandidateAttribution]:
        """Return every candidate with its values of the reported metrics."""
        return [
            CandidateAttribution(
                layer=candidate.layer,
                draw=candidate.draw,
                timestep=candidate.timestep,
                scores=candidate.scores.tolist(),
                metrics={key: float(self.values[key][i]) for key in self.reported},
            )
            for i, candidate in enumerate(self.candidates)
        ]

    def agreement(self, content: np.ndarray) -> list[Agreement]:
        """Return the agreement of every two winners; ``content`` int64 are the indices of the content features."""
        return [self._agreement(first, second, content) for first, second in combinations(self.reported, 2)]

    def _agreement(self, first: str, second: str, content: np.ndarray) -> Agreement:
        if self.choices[first] is None or self.choices[second] is None:
            return Agreement(first=first, second=second, rank_correlation=None, only_first=[], only_second=[])
        x, y = (self.candidates[self.winners[key]].scores[content] for key in (first, second))
        constant = np.ptp(x) == 0 or np.ptp(y) == 0
        top_x, top_y = (content[np.argsort(-scores, kind="stable")[:TOP]].tolist() for scores in (x, y))
        return Agreement(
            first=first,
            second=second,
            rank_correlation=None if constant else float(scipy.stats.spearmanr(x, y).statistic),
            only_first=[feature for feature in top_x if feature not in top_y],
            only_second=[feature for feature in top_y if feature not in top_x],
        )

    def by_draws(self, key: str, exchangeable: bool) -> BestOfDraws[float]:
        """Return the best of r candidates by a metric; ``exchangeable``: later draws do not depend on the first."""
        sign, merits = self.sign(key), self.merits(key)
        return BestOfDraws[float](
            nested=(sign * np.maximum.accumulate(merits)).tolist(),
            expected=(sign * expected_best(merits)).tolist() if exchangeable else None,
        )

    def by_layer(self, layers: Sequence[int]) -> dict[LayerSets, list[LayerSet]]:
        """Return the best of every layer alone and of growing sets of the ``layers``; empty for one layer."""
        if len(layers) < 2:
            return {}
        sizes = range(1, len(layers) + 1)
        return {
            "alone": [self._of_layers([layer]) for layer in layers],
            "top_down": [self._of_layers(layers[-size:]) for size in sizes],
            "bottom_up": [self._of_layers(layers[:size]) for size in sizes],
        }

    def _of_layers(self, layers: Sequence[int]) -> LayerSet:
        """Return the best of the layers' candidates; an adaptive search may have drawn none of them."""
        inside = np.array([candidate.layer in layers for candidate in self.candidates])
        best = {
            key: self.sign(key) * float(self.merits(key)[inside].max()) if inside.any() else None
            for key in self.reported
        }
        return LayerSet(layers=list(layers), maps=int(inside.sum()), best=best)


def expected_best(merits: np.ndarray) -> np.ndarray:
    """Return float64 [C]: the expected largest of r of ``merits`` [C] drawn without replacement, for r = 1..C.

    With the order statistics m₍₁₎ ≤ ... ≤ m₍C₎ that is Σᵢ m₍ᵢ₎ · binom(i - 1, r - 1) / binom(C, r).
    """
    falling, count = np.sort(merits)[::-1], len(merits)
    places = np.arange(count, 1, -1)
    chances = (np.cumprod(np.append(r / count, (places - r) / (places - 1))) for r in range(1, count + 1))
    return np.array([chance @ falling for chance in chances])
