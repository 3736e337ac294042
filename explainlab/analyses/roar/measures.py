"""Measures of importance in a grid: the scores of a text's words, and those of the paper's own code."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as quote
from typing import NamedTuple

import numpy as np

from explainlab.analyses.attributions import text_seed
from explainlab.analyses.roar.texts import Masks, Split
from explainlab.attribution.explain import NotFinite, outcomes_of
from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.attribution.path import Path, evaluate, nodes, read_ends
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import ModelError
from explainlab.models.batching import Batcher

TOLD = (
    "As the paper's code computes, for comparison only: integrated gradients weight every gradient by its place α on "
    "the path, so that what is nearer to the text counts more, and do not add up to the change of the output. Of a "
    "linear model they are (n + 1) / 2n of what they should be."
)

CUT = "Faithfulness is cut to [-1, 1] seed by seed, as the paper's code does."


class AlphaWeighted(IntegratedGradients):
    """φᵢ = Σ_d (xᵢ - x′ᵢ) · 1/n Σₖ αₖ ∂F(x′ + αₖ(x - x′))/∂xᵢ: differentiated by x itself, through αₖ x."""

    def attribute_many(self, subjects: Sequence[Subject], parameters: IntegratedGradients.Parameters) -> list[Outcome]:
        """See :meth:`Method.attribute_many`."""
        assert parameters.rule != "adaptive"  # which the study's parameters refuse
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        alphas, weights = nodes(parameters.rule, parameters.steps)
        read_ends(paths)
        evaluate(paths, [alphas] * len(paths))
        return [Outcome(path.subject.units.sum_tokens((weights * alphas) @ path.slopes(alphas))) for path in paths]


FIRST_TOKENS = 10
_NUMBERS, _PERCENTS = np.arange(1, FIRST_TOKENS + 1), np.arange(10, 101, 10)


class Measure(NamedTuple):
    """A measure; ``absolute``: scores count by their size; ``alpha_weighted``: computed as in the paper's code."""

    request: MethodSpec
    absolute: bool
    alpha_weighted: bool = False

    @property
    def method(self) -> Method:
        """The attribution method that computes the measure."""
        return AlphaWeighted() if self.alpha_weighted else get_method(self.request.method)


def scores_of(
    batcher: Batcher, split: Split, rows: Sequence[int], gold: Sequence[int], masks: Masks, measure: Measure, seed: int
) -> list[np.ndarray]:
    """Return the scores of the maskable tokens of the texts ``rows`` of ``split``, as they are masked, float64 [n].

    They explain the logit of each text's ``gold`` class, an index [T]. A random method draws from ``seed`` and the
    text. Raises as :func:`explainlab.attribution.explain.outcomes_of`; scores that are no numbers with their text.
    """
    classifier, method, parameters = batcher.classifier, measure.method, measure.request.parameters
    data = parameters.model_dump().get("baseline_data", "")
    subjects = []
    for row, encoding in zip(rows, split.masked(rows, masks), strict=True):
        subject = Subject(
            classifier,
            encoding,
            target=classifier.labels[gold[row]],
            output="logit",
            seed=seed,
            baseline_data=data,
            batcher=batcher,
            units=split.read(row).units,
        )
        if method.random:
            subject.seed = text_seed(subject)
        subjects.append(subject)
    try:
        outcomes = outcomes_of(subjects, method, parameters)
    except NotFinite as error:
        text = quote(split.examples.texts[rows[error.place]])
        problem = f"{method.label} gave scores that are not finite numbers for a text of the {split.name} data: {text}."
        raise ModelError(problem, "Leave the row out, or choose another measure.") from None
    scores = []
    for row, outcome in zip(rows, outcomes, strict=True):
        read = split.read(row)
        own: np.ndarray = outcome.scores[read.units.membership[read.candidates]]
        scores.append(np.abs(own) if measure.absolute else own)
    return scores


def concentration(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return the share of the sum of a text's |scores| that the largest 1 to 10 hold, then the largest 10% to 100%.

    The result is float64 [k, 20]: of ``scores``, float64 [n] of each text, only the k texts with a sum above 0 count. A
    per cent of the tokens is rounded up.
    """
    own = [np.abs(text) for text in scores if text.any()]
    lengths = np.array([len(text) for text in own], dtype=np.int64)[:, None]
    sizes = np.zeros((len(own), int(lengths.max(initial=1))))
    sizes[np.arange(sizes.shape[1]) < lengths] = np.concatenate([np.zeros(0), *own])
    held = np.cumsum(-np.sort(-sizes, axis=1), axis=1)
    numbers = np.concatenate([np.tile(_NUMBERS, (len(own), 1)), -(-lengths * _PERCENTS // 100)], axis=1)
    shares: np.ndarray = np.take_along_axis(held, np.minimum(numbers, lengths) - 1, axis=1) / held[:, -1:]
    return shares
