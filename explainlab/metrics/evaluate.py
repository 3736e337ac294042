"""Judging: many maps of many texts by many metrics together, so that no perturbed text is run twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from explainlab.errors import RequestError
from explainlab.metrics.distinct import DistinctInputs
from explainlab.metrics.metric import Perturbations
from explainlab.metrics.registry import MetricRequest, get_metric
from explainlab.models.batching import Batcher
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units


@dataclass(frozen=True, eq=False)
class Case:
    """C maps of one text: ``scores`` float64 [C, n_features] for the features of ``units``.

    ``logits`` float64 [classes] are those of the text itself; the maps are judged by the class ``target``, which stays
    the same whatever a perturbed text is predicted to be. Raises :class:`RequestError` for scores that are not finite
    or not one a feature.
    """

    encoding: Encoding
    units: Units
    logits: np.ndarray
    target: int
    scores: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.units.features)
        if self.scores.ndim != 2 or self.scores.shape[1] != n:
            raise RequestError(
                f"Scores of shape {list(self.scores.shape)} do not fit a text of {n} features.",
                "Give one score a feature, special tokens included, for every map.",
            )
        if not np.isfinite(self.scores).all():
            raise RequestError("A map with scores that are not finite numbers cannot be judged.", "Repair its scores.")


@dataclass(frozen=True)
class Step:
    """One perturbed text behind a number: at ``level`` per cent the features ``removed`` (indices) are gone.

    ``text`` is what the model read, decoded from its tokens; ``probability`` that of the target for it.
    """

    level: int
    removed: tuple[int, ...]
    text: str
    probability: float


@dataclass(frozen=True, eq=False)
class MetricResult:
    """One metric of one map.

    ``counted`` features are selected at the highest level; 0 says that k% of this text is no whole feature, so that
    the definition of the metric alone decides the value.
    """

    value: float
    counted: int
    _judged: _Evaluated = field(repr=False)
    _candidate: int = field(repr=False)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What the value is made of, level by level that counts; made when it is first asked for."""
        return self._judged.steps(self._candidate)

    @property
    def probabilities(self) -> np.ndarray:
        """float64 [L, classes]: of every class for the perturbed text of every level."""
        return np.exp(self._judged.found[self._judged.numbers[self._candidate]])


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """What one metric asked of one case: inputs by number, int64 [C, L].

    ``found`` float64 [D, classes] are the log-probabilities of all inputs.
    """

    perturbed: Perturbations
    inputs: DistinctInputs
    numbers: np.ndarray
    found: np.ndarray
    target: int

    def steps(self, candidate: int) -> tuple[Step, ...]:
        gone = ~self.perturbed.stays[candidate]
        return tuple(
            Step(
                level=level,
                removed=tuple(np.flatnonzero(gone[i]).tolist()),
                text=self.inputs.text(int(self.numbers[candidate, i])),
                probability=float(np.exp(self.found[self.numbers[candidate, i], self.target])),
            )
            for i, level in enumerate(self.perturbed.levels)
            if self.perturbed.meant[candidate, i]
        )


def evaluate(
    cases: Sequence[Case], metrics: Sequence[MetricRequest], batcher: Batcher
) -> list[list[list[MetricResult]]]:
    """Every map of every case (of the classifier of ``batcher``) by every metric: case by candidate by metric.

    The perturbed texts of all of them are collected, equal ones run once, and the texts themselves not at all. Raises
    :class:`UnsupportedError` for a metric that the classifier cannot be judged by, before anything is run.
    """
    for request in metrics:
        get_metric(request.metric).require(batcher.classifier, request.parameters)
    inputs = DistinctInputs(batcher.classifier)
    originals = [inputs.add_original(case.encoding, case.logits) for case in cases]
    asked = [[_ask(case, request, inputs) for request in metrics] for case in cases]
    found = inputs.log_probabilities(batcher)
    judged = []
    for case, original, row in zip(cases, originals, asked, strict=True):
        columns = [
            _metric_results(
                request, found[original, case.target], _Evaluated(perturbed, inputs, numbers, found, case.target)
            )
            for request, (perturbed, numbers) in zip(metrics, row, strict=True)
        ]
        judged.append([[column[candidate] for column in columns] for candidate in range(len(case.scores))])
    return judged


def _ask(case: Case, request: MetricRequest, inputs: DistinctInputs) -> tuple[Perturbations, np.ndarray]:
    """What the metric needs, and the numbers int64 [C, L] of those inputs."""
    perturbed = get_metric(request.metric).perturb(case.scores, case.units, request.parameters)
    candidates, levels, _ = perturbed.stays.shape
    whole = np.concatenate([perturbed.stays, np.ones((candidates, levels, 1), dtype=bool)], axis=-1)
    tokens = whole[:, :, case.units.membership].reshape(candidates * levels, len(case.encoding))
    numbers = inputs.add(case.encoding, tokens, perturbed.removal, perturbed.retokenised)
    return perturbed, numbers.reshape(candidates, levels)


def _metric_results(request: MetricRequest, original: float, judged: _Evaluated) -> list[MetricResult]:
    found = judged.found[judged.numbers, judged.target]
    values = get_metric(request.metric).value(judged.perturbed, original, found, request.parameters)
    counted = judged.perturbed.counts.max(axis=1)
    return [
        MetricResult(value, count, judged, candidate)
        for candidate, (value, count) in enumerate(zip(values.tolist(), counted.tolist(), strict=True))
    ]
