"""The metrics that explain again beside Captum's: on the same draws, of one text and of many, in its default batches.

Captum runs all draws of a text together, text after text and map after map, as its functions take them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from captum.attr import IntegratedGradients, Saliency
from captum.metrics import infidelity, sensitivity_max
from torch import Tensor

from benchmarks.rivals import probability_of, setting
from benchmarks.runner import Row, examples, fastest, model_name, text_of
from explainlab.analyses.attributions import attributions_of, text_seed
from explainlab.analyses.reexplain import Repeater
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.data import read_dataset
from explainlab.metrics.registry import parse_metric
from explainlab.metrics.stability import radius, subsets, table_deviation
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext

TEXTS, TOKENS = 32, 25
STEPS = 20
"""Steps of integrated gradients."""
GRADIENT, INPUT, PATH = "gradient", "input_x_gradient", "integrated_gradients"
METHODS: dict[str, dict[str, Any]] = {GRADIENT: {}, INPUT: {}, PATH: {"rule": "gauss_legendre", "steps": STEPS}}
_MOVED, _SUBSETS = 10, 100
_RADIUS = "0.1s"
_REPEATS = 2

Rival = Callable[[], list[float]]
"""A metric of a text by Captum: its value for every method."""
Explained = Callable[..., tuple[Tensor]]
"""A function from word embeddings [B, N, d] to the maps [B, n] of the content tokens."""


def rows(classifier: Classifier) -> Iterator[Row]:
    """Yield a row for each metric and work: a text or many, a method or several."""
    one = [text_of(classifier, TOKENS)]
    data = read_dataset(examples(classifier), classifier.labels)
    many = [row.text for row in data.rows[:TEXTS]]
    for texts in (one, many):
        for name in METHODS:
            yield _row(classifier, texts, [name], "max_sensitivity", _moved)
        for names in ([GRADIENT], list(METHODS)):
            yield _row(classifier, texts, names, "infidelity", _unfaithful, opposite=len(names) > 1)


def _row(
    classifier: Classifier,
    texts: Sequence[str],
    names: Sequence[str],
    metric: str,
    rival: Callable[[Subject, Sequence[str], np.ndarray], Rival],
    opposite: bool = False,
) -> Row:
    """Measure a metric; ``opposite``: maps with the opposite signs are judged too, as in an evaluation."""
    methods = [(name, METHODS[name]) for name in names]

    def subjects() -> list[Subject]:
        batcher = Batcher(classifier, RunContext())
        return [Subject(classifier, classifier.encode(text), batcher=batcher) for text in texts]

    signs = (1, -1) if opposite else (1,)
    places = [place for _ in signs for place in range(len(methods))]
    given = [
        np.stack([sign * own.scores for sign in signs for own in made]) for made in attributions_of(subjects(), methods)
    ]

    def ours() -> np.ndarray:
        fresh = subjects()
        again = Repeater(fresh, methods, "own", places)
        results = evaluate_attributions(fresh, given, [parse_metric(metric)], fresh[0].batcher, again)
        return np.array([[row[0].value for row in of_text] for of_text in results])

    rivals = [rival(subject, names, maps) for subject, maps in zip(subjects(), given, strict=True)]

    def theirs() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array([run() for run in rivals])

    difference = float(np.abs(ours() - theirs()).max())
    seconds = fastest({"ours": ours, "rival": theirs}, _REPEATS)
    which = names[0] if len(places) == 1 else f"{len(places)} maps"
    return Row(
        name=metric,
        work=f"{model_name(classifier)}, {len(texts)} texts, {which}",
        device=classifier.device.type,
        seconds=seconds["ours"],
        rival="captum",
        rival_seconds=seconds["rival"],
        ratio_to_rival=seconds["ours"] / seconds["rival"],
        difference=difference,
        facts={"times faster": seconds["rival"] / seconds["ours"]},
    )


def _moved(subject: Subject, names: Sequence[str], maps: np.ndarray) -> Rival:
    """Return Captum's largest sensitivity of every method as a rival; it makes the maps of the text itself too."""
    classifier, content = subject.classifier, torch.from_numpy(subject.encoding.content)
    ids, masked, _, target = setting(classifier, subject.encoding.text)
    text, start = classifier.embed(ids), classifier.embed(masked)
    size, seed = radius(_RADIUS, table_deviation(classifier)), text_seed(subject)
    shape = _MOVED, int(content.sum()), text.shape[2]

    def perturbed(points: Tensor) -> Tensor:
        shifts = torch.zeros_like(points)
        drawn = np.random.default_rng(seed).uniform(-size, size, shape).astype(np.float32)
        shifts[:, content] = torch.from_numpy(drawn).to(points.device)
        return points + shifts

    explained = [_explained(classifier, name, target, start, content) for name in names]
    return lambda: [float(sensitivity_max(own, text, perturbed)) for own in explained]


def _explained(classifier: Classifier, name: str, target: int, start: Tensor, content: Tensor) -> Explained:
    forward = probability_of(classifier)
    explainer = IntegratedGradients(forward) if name == PATH else Saliency(forward)

    def explain(given: Tensor | tuple[Tensor]) -> tuple[Tensor]:
        points = given[0] if isinstance(given, tuple) else given
        if name == PATH:
            made = explainer.attribute(points, start.expand_as(points), target=target, n_steps=STEPS).sum(dim=-1)
        else:
            slope = explainer.attribute(points, target=target, abs=False)
            made = slope.norm(dim=-1) if name == GRADIENT else (slope * points).sum(dim=-1)
        return (made.detach()[:, content],)

    return explain


def _unfaithful(subject: Subject, names: Sequence[str], maps: np.ndarray) -> Rival:
    """Return Captum's infidelity of every map as a rival; it reads token ids, which is less than word embeddings."""
    ids, masked, _, target = setting(subject.classifier, subject.encoding.text)
    content, seed = subject.units.content, text_seed(subject)
    forward = probability_of(subject.classifier)
    scores = [torch.from_numpy(own).float().to(ids.device)[None] for own in maps]
    options = {"target": target, "n_perturb_samples": _SUBSETS, "normalize": True}

    def perturbed(points: Tensor) -> tuple[Tensor, Tensor]:
        gone = torch.zeros(points.shape, dtype=torch.bool)
        gone[:, content] = torch.from_numpy(subsets(len(content), _SUBSETS, np.random.default_rng(seed)))
        gone = gone.to(points.device)
        return gone.float(), torch.where(gone, masked, points)

    return lambda: [float(infidelity(forward, perturbed, ids, own, **options)) for own in scores]
