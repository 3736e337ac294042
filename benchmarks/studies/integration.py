"""Integration: the adaptive rule compared with doubling, in cost and error; an analysis compared with its bare passes.

Doubling is the paper's proposal: the right Riemann sum with 1, 2, 4 ... steps, computed anew each time, until the
approximation error is at most 1%. It is not run on texts whose score changes by less than 0.05: there, a relative error
of 1% takes many steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from captum.attr import IntegratedGradients as CaptumIntegratedGradients

from benchmarks.methods import best_floor
from benchmarks.rivals import probability_of, setting
from benchmarks.runner import Row, fastest, held_out, model_name, sentiment_classifiers, timed
from explainlab.attribution.explain import explain
from explainlab.attribution.path import Path, evaluate, nodes
from explainlab.attribution.records import Attribution
from explainlab.attribution.subject import Subject
from explainlab.data import read_dataset
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext

TEXTS = 16
TOLERANCE = 0.01
MOST_STEPS = 4096
SMALL = 0.05
TRUTH_STEPS = 300
STUDIED, STUDY_STEPS = 8, (10, 20, 50)
_BATCH = 64


def rows() -> Iterator[Row]:
    """Yield a row for the adaptive rule and one for an analysis, on the sentiment model on each device."""
    for classifier in sentiment_classifiers():
        texts = _texts(classifier)
        yield _adaptive(classifier, texts)
        yield _study(classifier, texts[:STUDIED])


def _texts(classifier: Classifier) -> list[str]:
    data = read_dataset(held_out(classifier), classifier.labels)
    chosen = np.random.default_rng(0).permutation(len(data.rows))[:TEXTS]
    return [data.rows[i].text for i in sorted(chosen)]


def _adaptive(classifier: Classifier, texts: Sequence[str]) -> Row:
    explain(classifier, texts[0])
    results, each = zip(*(timed(partial(explain, classifier, text)) for text in texts), strict=True)
    runs = [best_floor(classifier, text, result) for text, result in zip(texts, results, strict=True)]
    _, floor = timed(lambda: [run() for run in runs])
    error = [_distance(result, _truth(classifier, text)) for text, result in zip(texts, results, strict=True)]
    compared = [i for i, result in enumerate(results) if abs(result.completeness.expected) >= SMALL]
    doubled, rival = timed(lambda: [_captum_doubled(classifier, texts[i]) for i in compared])
    costs = [results[i].cost for i in compared]
    spent = np.array([cost.backward + (cost.forward - cost.backward) / 3 for cost in costs])
    return Row(
        name="adaptive",
        work=f"{model_name(classifier)}, {len(texts)} texts",
        device=classifier.device.type,
        seconds=sum(each),
        floor_seconds=floor,
        ratio_to_floor=sum(each) / floor,
        rival=f"captum doubled ({len(compared)} texts)",
        rival_seconds=rival,
        ratio_to_rival=sum(each[i] for i in compared) / rival,
        facts={
            "gradients of doubling, total": float(spent.sum() / np.sum(doubled)),
            "median": float(np.median(spent / np.array(doubled))),
            "gradients a text": float(np.mean([result.cost.backward for result in results])),
            "worst AE": max(results[i].completeness.approximation_error for i in compared),
            "worst token error": max(error),
            "median token error": float(np.median(error)),
        },
    )


def _truth(classifier: Classifier, text: str) -> Attribution:
    return explain(classifier, text, rule="gauss_legendre", steps=TRUTH_STEPS)


def _distance(result: Attribution, truth: Attribution) -> float:
    """Return the L1 distance of the scores, relative to the L1 norm of ``truth``."""
    return float(np.abs(result.scores - truth.scores).sum() / np.abs(truth.scores).sum())


def _captum_doubled(classifier: Classifier, text: str) -> int:
    """Return the number of gradients of the doubling."""
    ids, masked, _, target = setting(classifier, text)
    forward = probability_of(classifier)
    explainer = CaptumIntegratedGradients(forward)
    points, baseline = classifier.embed(ids), classifier.embed(masked)
    change = float((forward(points) - forward(baseline))[0, target])
    steps, spent = 2, 1  # Captum refuses a single step
    while True:
        options = {"n_steps": steps, "method": "riemann_right", "internal_batch_size": _BATCH}
        scores = explainer.attribute(points, baseline, target=target, **options)
        spent += steps
        if abs(float(scores.sum()) - change) <= TOLERANCE * abs(change) or steps >= MOST_STEPS:
            return spent
        steps *= 2


def _study(classifier: Classifier, texts: Sequence[str]) -> Row:
    """Measure several rules and step counts, batched across texts, beside the bare passes of each text."""
    settings = [(rule, steps) for rule in ("right", "midpoint", "gauss_legendre") for steps in STUDY_STEPS]
    grid = np.unique(np.concatenate([nodes(rule, steps)[0] for rule, steps in settings]))

    def ours() -> None:
        batcher = Batcher(classifier, RunContext())
        subjects = [Subject(classifier, classifier.encode(text), batcher=batcher) for text in texts]
        paths = [Path(subject, subject.baseline("mask")) for subject in subjects]
        evaluate(paths, [grid] * len(paths))
        for path in paths:
            for rule, steps in settings:
                alphas, weights = nodes(rule, steps)
                path.subject.units.sum_tokens(weights @ path.slopes(alphas))

    costs = [explain(classifier, text, rule="midpoint", steps=len(grid)) for text in texts]
    bare = [best_floor(classifier, text, result) for text, result in zip(texts, costs, strict=True)]
    seconds = fastest({"ours": ours, "floor": lambda: [run() for run in bare]}, 1)
    return Row(
        name="integration_error",
        work=f"{model_name(classifier)}, {len(texts)} x {len(grid)}",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
    )
