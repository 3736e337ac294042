"""The best of many attributions by a metric, and the search for it: random or adaptive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from explainlab.attribution.diffusion import Candidate, Draw, Maps
from explainlab.attribution.passes import read_originals
from explainlab.attribution.subject import Subject
from explainlab.metrics.evaluate import TIE, Case, MetricResult, evaluate
from explainlab.metrics.metric import Reexplainer
from explainlab.metrics.registry import MetricSpec, parse_metric
from explainlab.models.batching import Batcher
from explainlab.text.units import marked_features

MetricId = Literal[
    "comprehensiveness",
    "sufficiency",
    "log_odds",
    "aopc_comprehensiveness",
    "aopc_sufficiency",
    "activation_auc",
    "inverse_activation_auc",
]
Search = Literal["random", "adaptive"]

ROUND = 6
"""Draws per round of the adaptive search."""
BINS = 8
"""Ranges of timesteps among which the adaptive search chooses."""
ELITE, UNIFORM = 0.25, 0.2
"""Shares of the adaptive search: the draws that it learns from, and the draws that stay uniform."""


@dataclass(frozen=True, eq=False)
class Selection:
    """C candidates, and their ``values`` float64 [C] by the metric ``metric_id``."""

    candidates: list[Candidate]
    metric_id: str
    values: np.ndarray

    @property
    def winner(self) -> Candidate:
        """The best candidate: see :func:`winner_of`."""
        return self.candidates[winner_of(self.candidates, _merits(self.values, self.metric_id))]

    @property
    def decided(self) -> bool:
        """True if the metric distinguishes the candidates."""
        return tells_apart(_merits(self.values, self.metric_id))

    @property
    def note(self) -> str:
        """The winner's draw and the number of candidates; if there was a choice, their values."""
        winner, mean, first = self.winner, self.values.mean(), self.values[0]
        place = f" in layer {winner.layer}" if winner.layer else ""
        among = f"of {len(self.candidates)} candidates" if len(self.candidates) > 1 else "the only candidate"
        drawn = f"Draw {winner.draw + 1}{place}, timestep {winner.timestep}, {among}"
        if len(self.values) == 1 or not self.decided:
            return f"{drawn}."
        value = self.values[self.candidates.index(winner)]
        return f"{drawn}: {self.metric} {value:.3f}; all on average {mean:.3f}, the first {first:.3f}."

    @property
    def metric(self) -> str:
        """The metric's label, with its preset."""
        return parse_metric(self.metric_id).label


def case_of(subject: Subject, scores: np.ndarray) -> Case:
    """Return a case of C attributions ``scores`` float64 [C, n_features] of the subject's text, with its target."""
    rationale = marked_features(subject.encoding, subject.units, subject.rationale)
    target, said = subject.target.index, subject.paraphrases
    return Case(subject.encoding, subject.units, subject.original, target, scores, rationale, said)


def evaluate_attributions(
    subjects: Sequence[Subject],
    maps: Sequence[np.ndarray],
    metrics: Sequence[MetricSpec],
    batcher: Batcher,
    again: Reexplainer | None = None,
) -> list[list[list[MetricResult]]]:
    """Evaluate attributions ``maps`` float64 [C, n_features] of every subject by ``metrics``: subject, attribution,
    metric.

    All passes, cached ones too, are divided among the subjects' ``forward``. See
    :func:`explainlab.metrics.evaluate.evaluate` for ``again``, which counts its passes itself.
    """
    read_originals(subjects)
    before = batcher.passes + batcher.recalled
    results = evaluate([case_of(*pair) for pair in zip(subjects, maps, strict=True)], metrics, batcher, again)
    needed = batcher.passes + batcher.recalled - before
    for i, subject in enumerate(subjects):
        subject.forward += (needed + i) // len(subjects)
    return results


def winner_of(candidates: Sequence[Candidate], merits: np.ndarray) -> int:
    """Return the index of the best of C ``candidates`` by ``merits`` float64 [C], higher is better.

    Among equal ones, the lowest layer wins, and there the first draw. Differences by rounding alone do not count.
    Source: Barkan et al. 2024, Eq. 5; the ties are ours.
    """
    tied: list[int] = np.flatnonzero(merits >= merits.max() - TIE).tolist()
    return min(tied, key=lambda i: (candidates[i].layer, candidates[i].draw))


def tells_apart(merits: np.ndarray) -> bool:
    """Tell whether the best of ``merits`` float64 [C] is better than their mean, by more than rounding.

    If not, the metric cannot choose: a text may be so short that a metric selects none of its features. A single
    attribution always passes.
    """
    return len(merits) == 1 or bool(merits.max() - merits.mean() > TIE)


def values_of(subject: Subject, scores: np.ndarray, metric_id: str) -> np.ndarray:
    """Return float64 [C]: the metric of C attributions ``scores`` float64 [C, n_features]; counts its passes."""
    (evaluated,) = evaluate_attributions([subject], [scores], [parse_metric(metric_id)], subject.batcher)
    return np.array([metric_result.value for (metric_result,) in evaluated])


def at_random(maps: Maps, samples: int) -> list[Candidate]:
    """Return ``samples`` draws in every layer of ``maps``, with the preset's timesteps."""
    return maps.candidates([maps.draw(layer, number) for layer in maps.layers for number in range(samples)])


def adaptively(maps: Maps, samples: int, metric_id: str) -> Selection:
    """Search with the same number of draws by the cross-entropy method over layers and ranges of timesteps.

    After every round, the best quarter of all draws sets the probabilities of layers and ranges; a fifth of the draws
    stays uniform. The first draws of a larger search are those of a smaller one.
    """
    cells, values = _Cells(maps), np.empty(0)
    candidates: list[Candidate] = []
    budget = samples * len(maps.layers)
    while len(candidates) < budget:
        count = min(ROUND, budget - len(candidates))
        with maps.subject.batcher.span(len(candidates), len(candidates) + count, budget):
            drawn = maps.candidates(cells.draws(count))
            candidates += drawn
            values = np.append(values, values_of(maps.subject, _scores(drawn), metric_id))
        cells.learn(_merits(values, metric_id))
    return Selection(candidates, metric_id, values)


def select(maps: Maps, samples: int, search: Search, metric_id: str) -> Selection:
    """Return the candidates that ``search`` draws, ``samples`` for each layer, and the best of them."""
    if search == "adaptive":
        return adaptively(maps, samples, metric_id)
    candidates = at_random(maps, samples)
    return Selection(candidates, metric_id, values_of(maps.subject, _scores(candidates), metric_id))


def _scores(candidates: Sequence[Candidate]) -> np.ndarray:
    return np.stack([candidate.scores for candidate in candidates])


def _merits(values: np.ndarray, metric_id: str) -> np.ndarray:
    """Return the ``values`` of a metric, negated if lower is better."""
    return values if parse_metric(metric_id).higher_is_better else -values


class _Cells:
    """The adaptive search's distribution over layers and ranges of timesteps."""

    def __init__(self, maps: Maps) -> None:
        self._maps = maps
        self._bins = min(BINS, maps.timesteps) if maps.preset.timesteps == "uniform" else 1
        self._count = len(maps.layers) * self._bins
        self._weights = np.full(self._count, 1 / self._count)
        self._drawn: list[int] = []
        self._generator = np.random.default_rng([maps.subject.seed, 0, 0, 1])  # differs from the seeds of all draws

    def draws(self, count: int) -> list[Draw]:
        return [self._draw() for _ in range(count)]

    def learn(self, merits: np.ndarray) -> None:
        """Fit the weights to the draws with the highest of ``merits`` [all drawn], if these differ."""
        if not tells_apart(merits):
            return
        elite = np.argsort(-merits, kind="stable")[: ceil(ELITE * len(merits))]
        counts = np.bincount(np.array(self._drawn)[elite], minlength=self._count)
        self._weights = (1 - UNIFORM) * counts / counts.sum() + UNIFORM / self._count

    def _draw(self) -> Draw:
        cell = int(self._generator.choice(self._count, p=self._weights))
        layer, part = divmod(cell, self._bins)
        number = sum(other // self._bins == layer for other in self._drawn)
        self._drawn.append(cell)
        return self._maps.draw(self._maps.layers[layer], number, part / self._bins, (part + 1) / self._bins)
