"""The evaluation of attributions of many texts by many metrics together: no perturbed text runs twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from explainlab.errors import RequestError, UnsupportedError
from explainlab.metrics.distinct import DistinctInputs
from explainlab.metrics.metric import (
    FaithfulnessMetric,
    Perturbations,
    PlausibilityMetric,
    Reexplainer,
    StabilityMetric,
)
from explainlab.metrics.registry import MetricSpec, get_metric, parse_metric
from explainlab.models.batching import Batcher
from explainlab.text.encoding import Encoding
from explainlab.text.units import Absence, Units


@dataclass(frozen=True, eq=False)
class Case:
    """C attributions of a text: ``scores`` float64 [C, n_features] for the features of ``units``.

    ``logits`` float64 [classes] are those of the text itself. ``target`` is the evaluated class, also if the prediction
    for a perturbed text is another. ``rationale`` bool [n_features] marks the features of the rationale, or is the
    reason why there are none (see :func:`explainlab.text.units.marked_features`). ``paraphrases`` are the text in other
    words, None if unknown. Raises :class:`RequestError` for scores that are not finite or not one per feature.
    """

    encoding: Encoding
    units: Units
    logits: np.ndarray
    target: int
    scores: np.ndarray
    rationale: np.ndarray | Absence = "missing"
    paraphrases: Sequence[str] | None = None

    def __post_init__(self) -> None:
        n = len(self.units.features)
        if self.scores.ndim != 2 or self.scores.shape[1] != n:
            raise RequestError(
                f"Scores of shape {list(self.scores.shape)} do not fit a text of {n} features.",
                "Give one score for each feature, special tokens included, for every map.",
            )
        if not np.isfinite(self.scores).all():
            raise RequestError(
                "A map with scores that are not finite numbers cannot be evaluated.", "Repair its scores."
            )


@dataclass(frozen=True)
class Step:
    """A perturbed text behind a value: at ``level`` per cent, without the features ``removed`` (indices).

    ``text`` is decoded from the tokens that the model read; ``probability`` is its probability of the target.
    """

    level: int
    removed: tuple[int, ...]
    text: str
    probability: float


@dataclass(frozen=True, eq=False)
class MetricResult:
    """The value of a metric for an attribution.

    ``value`` may be NaN. A metric that compares with a rationale then gives the reason in ``undefined``, all others in
    their definitions. ``counted``: the features selected at the highest level; 0 if k% of this text is less than a
    feature, so that the metric's definition alone decides the value. For a comparison it is the number of features of
    the rationale, for a stability metric the number of versions that count.
    """

    value: float
    counted: int
    undefined: Absence | None = None
    _evaluated: _Evaluated | None = field(default=None, repr=False)
    _candidate: int = field(default=0, repr=False)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The perturbed texts behind the value, by level, computed on first use; only for a metric that perturbs."""
        return self._evaluated.steps(self._candidate) if self._evaluated else ()

    @property
    def probabilities(self) -> np.ndarray:
        """float64 [L, classes]: probabilities of every class for the perturbed text of every level; empty for other
        metrics.
        """
        if self._evaluated is None:
            return np.empty((0, 0))
        numbers = self._evaluated.numbers[self._candidate]
        chances: np.ndarray = np.exp(self._evaluated.log_probabilities[numbers])
        return chances


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """The perturbed inputs of a metric for a case, by ``numbers`` int64 [C, L].

    ``log_probabilities`` float64 [D, classes] are those of all inputs.
    """

    perturbed: Perturbations
    numbers: np.ndarray
    inputs: DistinctInputs
    log_probabilities: np.ndarray
    target: int

    def steps(self, candidate: int) -> tuple[Step, ...]:
        gone = ~self.perturbed.stays[candidate]
        return tuple(
            Step(
                level=level,
                removed=tuple(np.flatnonzero(gone[i]).tolist()),
                text=self.inputs.text(int(self.numbers[candidate, i])),
                probability=float(np.exp(self.log_probabilities[self.numbers[candidate, i], self.target])),
            )
            for i, level in enumerate(self.perturbed.levels)
            if self.perturbed.meant[candidate, i]
        )


def evaluate(
    cases: Sequence[Case], metrics: Sequence[MetricSpec], batcher: Batcher, again: Reexplainer | None = None
) -> list[list[list[MetricResult]]]:
    """Evaluate every attribution of every case by every metric: results by case, candidate and metric.

    The classifier is that of ``batcher``. Equal perturbed texts of all cases run once; original texts do not run.
    ``again`` explains versions of the cases' texts. Raises :class:`explainlab.errors.UnsupportedError`, before any
    pass, for a metric that cannot be computed with the classifier, or that needs ``again`` if it is None.
    """
    for request in metrics:
        get_metric(request.metric).require(batcher.classifier, request.parameters)
    repeated = {request: _repeated(cases, request, again) for request in metrics if _repeats(request)}
    inputs = DistinctInputs(batcher.classifier)
    originals = [inputs.add_original(case.encoding, case.logits) for case in cases]
    perturbed = [[_perturb(case, request, inputs) for request in metrics] for case in cases]
    log_p = inputs.log_probabilities(batcher)
    results = []
    for i, (case, original, row) in enumerate(zip(cases, originals, perturbed, strict=True)):
        columns = [
            repeated[request][i]
            if request in repeated
            else _compared(case, request)
            if part is None
            else _metric_results(request, log_p[original, case.target], _Evaluated(*part, inputs, log_p, case.target))
            for request, part in zip(metrics, row, strict=True)
        ]
        results.append([[column[candidate] for column in columns] for candidate in range(len(case.scores))])
    return results


def _perturb(case: Case, request: MetricSpec, inputs: DistinctInputs) -> tuple[Perturbations, np.ndarray] | None:
    """Return the perturbations that the metric needs, and the numbers int64 [C, L] of their inputs; None if there are
    none.
    """
    metric = get_metric(request.metric)
    if not isinstance(metric, FaithfulnessMetric):
        return None
    perturbed = metric.perturb(case.scores, case.units, request.parameters)
    candidates, levels, _ = perturbed.stays.shape
    whole = np.concatenate([perturbed.stays, np.ones((candidates, levels, 1), dtype=bool)], axis=-1)
    tokens = whole[:, :, case.units.membership].reshape(candidates * levels, len(case.encoding))
    numbers = inputs.add(case.encoding, tokens, perturbed.removal, perturbed.retokenised)
    return perturbed, numbers.reshape(candidates, levels)


def _metric_results(request: MetricSpec, original: float, evaluated: _Evaluated) -> list[MetricResult]:
    metric = get_metric(request.metric)
    assert isinstance(metric, FaithfulnessMetric)
    remaining = evaluated.log_probabilities[evaluated.numbers, evaluated.target]
    values = metric.value(evaluated.perturbed, original, remaining, request.parameters)
    counted = evaluated.perturbed.counts.max(axis=1)
    return [
        MetricResult(value, count, None, evaluated, candidate)
        for candidate, (value, count) in enumerate(zip(values.tolist(), counted.tolist(), strict=True))
    ]


def _compared(case: Case, request: MetricSpec) -> list[MetricResult]:
    """Return the results of a metric that compares every attribution with the rationale."""
    metric = get_metric(request.metric)
    assert isinstance(metric, PlausibilityMetric)
    if isinstance(case.rationale, str):
        return [MetricResult(float("nan"), 0, case.rationale)] * len(case.scores)
    values, counted = metric.value(case.scores, case.units, case.rationale, request.parameters), case.rationale.sum()
    return [MetricResult(value, int(counted)) for value in values.tolist()]


def _repeats(request: MetricSpec) -> bool:
    return isinstance(get_metric(request.metric), StabilityMetric)


def _repeated(cases: Sequence[Case], request: MetricSpec, again: Reexplainer | None) -> list[list[MetricResult]]:
    """Return the results of a metric that explains versions of the texts, by case and attribution."""
    metric = get_metric(request.metric)
    assert isinstance(metric, StabilityMetric)
    if again is None:
        raise UnsupportedError(
            f"{metric.label} has the text explained again, and nothing here can.",
            "Evaluate methods by it, in an evaluation.",
        )
    columns = metric.values(cases, again, request.parameters) if cases else []
    return [[MetricResult(value, counted) for value in values.tolist()] for values, counted in columns]


RANDOM_MAPS = 100
TIE = 1e-6
"""The largest difference of equal values after the rounding of float32 passes."""


@dataclass(frozen=True, eq=False)
class RandomComparison:
    """An attribution compared with random attributions of the same text by a metric.

    ``beaten``: the share of random attributions that are worse, ties counted half; 1/2 is expected for a random one.
    ``median``, ``low`` and ``high``: their median and their 5% and 95% quantiles.
    """

    metric: MetricSpec
    metric_result: MetricResult
    beaten: float
    median: float
    low: float
    high: float


def compare_with_random(case: Case, seed: int, batcher: Batcher) -> list[tuple[RandomComparison, RandomComparison]]:
    """Compare every attribution of ``case`` with 100 of uniform scores from ``seed``, by comprehensiveness and
    sufficiency.

    All attributions meet the same random ones in one evaluation.
    """
    random = np.random.default_rng(seed).random((RANDOM_MAPS, case.scores.shape[1]))
    first, second = parse_metric("comprehensiveness"), parse_metric("sufficiency")
    (results,) = evaluate([replace(case, scores=np.concatenate([case.scores, random]))], (first, second), batcher)
    rows, controls = results[: len(case.scores)], results[len(case.scores) :]
    values = [np.array([row[i].value for row in controls]) for i in range(2)]
    return [(_against(first, row[0], values[0]), _against(second, row[1], values[1])) for row in rows]


def _against(metric: MetricSpec, metric_result: MetricResult, random: np.ndarray) -> RandomComparison:
    ahead = (metric_result.value - random) * (1 if metric.higher_is_better else -1)
    beaten = np.where(np.abs(ahead) <= TIE, 0.5, ahead > 0).mean()
    low, median, high = np.percentile(random, [5, 50, 95]).tolist()
    return RandomComparison(metric, metric_result, float(beaten), median, low, high)
