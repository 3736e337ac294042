"""The contract of metrics, checked on any classifier."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from explainlab.analyses.reexplain import Repeater
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.errors import UnsupportedError
from explainlab.metrics.evaluate import Case, MetricResult, evaluate
from explainlab.metrics.metric import AnyMetric, PlausibilityMetric, StabilityMetric
from explainlab.metrics.registry import MetricSpec, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.testing.exact import assert_equal, exact
from explainlab.testing.observation import unchanged, watched
from explainlab.text.units import Absence, group, marked_features

TEXTS = ("I did not like this film at all. It isn't funny!", "a good film", "film")
METHODS = ("occlusion", "random", "occlusion")
"""The methods of three attributions, for metrics that explain again; they run on any model."""
ALONE = (0, 2, 0)
"""The attribution of each text that is also explained alone; these have the method of the first."""
_NO_VALUE = -2.0
"""Stands for a value that is not defined, where values are compared."""


def check_metric(metric: AnyMetric, classifier: Classifier, **parameters: Any) -> None:
    """Check that ``metric`` with these ``parameters`` fulfils the contract on ``classifier``.

    A metric that does not support the classifier must refuse it. Raises :class:`AssertionError` with what is wrong.
    """
    try:
        _check(MetricSpec(metric.id, parse(metric, parameters)), metric, classifier)
    except AssertionError as error:
        raise AssertionError(f"{metric.id} on {classifier.id}: {error}") from error


def _check(request: MetricSpec, metric: AnyMetric, classifier: Classifier) -> None:
    assert parse_metric(request.name) == request, f"the name {request.name} reads back as another request"
    json.dumps(request.facts, allow_nan=False)
    assert metric.definition(request.parameters).strip(), "it has no definition"
    if metric.unsupported(classifier, request.parameters):
        _refuses(request, classifier)
        return
    with unchanged(classifier, "an evaluation"):
        cases = [_case(classifier, text) for text in TEXTS]
        with watched(classifier) as passes:
            results = _results(classifier, request, cases)
    _has_its_shape(request, metric, classifier, results, passes.forward)
    _is_independent_of_batches(request, classifier)
    if isinstance(metric, PlausibilityMetric):
        _compares(request, metric, classifier, cases)


def _case(classifier: Classifier, text: str, padding: int = 0) -> Case:
    """Return a text with three random attributions, the first with many ties, and its first word as the rationale."""
    encoding = classifier.encode(text)
    logits = classifier.finite(classifier.logits(classifier.inputs([encoding])))[0]
    encoding = encoding.padded(len(encoding) + padding, classifier.pad_id)
    units = group(encoding, "token")
    scores = np.random.default_rng(len(classifier.encode(text))).normal(size=(3, len(units.features)))
    scores[0] = np.round(scores[0])
    rationale = marked_features(encoding, units, (((0, len(text.split()[0])),), None))
    return Case(encoding, units, logits, int(logits.argmax()), scores, rationale)


def _results(classifier: Classifier, request: MetricSpec, cases: list[Case]) -> list[list[MetricResult]]:
    """Return the results by text and attribution."""
    batcher = Batcher(classifier, RunContext())
    subjects = [Subject(classifier, case.encoding, batcher=batcher) for case in cases]
    places = range(len(cases[0].scores) if cases else 0)
    again = Repeater(subjects, [(METHODS[i], {}) for i in places], "own", places) if cases else None
    by_text = evaluate(cases, [request], batcher, again)
    return [[columns[0] for columns in rows] for rows in by_text]


def _values(results: list[list[MetricResult]]) -> np.ndarray:
    return np.nan_to_num([[result.value for result in rows] for rows in results], nan=_NO_VALUE)


def _refuses(request: MetricSpec, classifier: Classifier) -> None:
    with watched(classifier) as passes:
        try:
            _results(classifier, request, [])
        except UnsupportedError:
            assert passes.calls == 0, "it makes passes before it refuses"
        else:
            raise AssertionError("it runs although it says that it cannot")


def _has_its_shape(
    request: MetricSpec, metric: AnyMetric, classifier: Classifier, results: list[list[MetricResult]], passes: int
) -> None:
    values = np.array([[result.value for result in rows] for rows in results])
    assert values.shape == (len(TEXTS), 3), "there is not a value for each attribution"
    repeats = isinstance(metric, StabilityMetric)  # then a text of one word may have no value
    assert np.isfinite(values[:1] if repeats else values).all(), "a value is not finite"
    lengths = [len(classifier.encode(text)) for text in TEXTS]
    most = sum(3 * metric.inputs(request.parameters, length) for length in lengths)
    if isinstance(metric, StabilityMetric):  # a version takes as many passes as tokens, and two, by occlusion
        most += sum(3 * metric.explanations(request.parameters) * (length + 2) for length in lengths)
    assert passes <= most, f"{passes} texts are run, more than the {most} that it declares"
    for rows in results:
        for result in rows:
            assert result.undefined is None, "a value is undefined"
            chances = result.probabilities
            assert ((chances >= 0) & (chances <= 1 + 1e-6)).all(), "a probability is out of range"
            assert all(0 <= step.level <= 100 for step in result.steps), "a level is no percentage"


def _is_independent_of_batches(request: MetricSpec, classifier: Classifier) -> None:
    """Check that values are the same for a text and an attribution alone, and for padded texts (in float64)."""
    with exact(classifier) as twin:
        cases = [_case(twin, text) for text in TEXTS]
        together = _values(_results(twin, request, cases))
        ones = [replace(case, scores=case.scores[i : i + 1]) for case, i in zip(cases, ALONE, strict=True)]
        alone = np.concatenate([_values(_results(twin, request, [one]))[0] for one in ones])
        assert_equal(alone, together[range(len(ones)), ALONE], "one text and attribution alone", terms=1e2)
        with watched(twin, limit=1):
            single = _values(_results(twin, request, [_case(twin, text, padding=3) for text in TEXTS[:2]]))
        assert_equal(single, together[:2], "the values from padded texts run one by one", terms=1e2)


def _compares(request: MetricSpec, metric: AnyMetric, classifier: Classifier, cases: list[Case]) -> None:
    """Check that ranking the rationale first beats ranking it last; a text without one has no value, with a reason."""
    ideal = [case.rationale.astype(float) for case in cases[:2] if not isinstance(case.rationale, str)]
    ranked = [replace(case, scores=np.stack([own, 1 - own])) for case, own in zip(cases[:2], ideal, strict=True)]
    values = _values(_results(classifier, request, ranked))
    first, last = (values if metric.higher_is_better else -values).T
    assert (first >= last).all(), "the rationale ranked first is not better than ranked last"
    assert (first > last).any(), "where the rationale is ranked makes no difference"
    absent = [replace(cases[0], rationale=reason) for reason in get_args(Absence)]
    for case, rows in zip(absent, _results(classifier, request, absent), strict=True):
        assert all(result.undefined == case.rationale for result in rows), "the reason for no value is not told"
        assert all(np.isnan(result.value) for result in rows), "there is a value without a rationale"
