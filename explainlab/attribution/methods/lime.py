"""LIME: a weighted linear model of the prediction on random maskings of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    BatchedMethod,
    Evaluations,
    Outcome,
    TextSize,
)
from explainlab.attribution.passes import masked
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount


class Lime(BatchedMethod):
    """Slopes of a ridge regression of the explained scalar on the kept features, weighted by nearness.

    The full text is the first sample; every other sample keeps each feature with probability 1/2.
    """

    class Parameters(declared.Parameters):
        samples: Evaluations = Field(200, description="Maskings of the text, including the full text.")
        kernel_width: float = Field(
            0.25, ge=0.01, le=100, description="How quickly a masking counts for less, the more it hides."
        )
        alpha: float = Field(0.01, ge=0, le=1e6, description="Ridge penalty on the slopes.")
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "lime"
    label: ClassVar = "LIME"
    plain: ClassVar = "Hides random words many times and fits a simple formula to how the prediction changes."
    good_for: ClassVar = "Any model; try a second seed before you rely on it."
    family: ClassVar = "Perturbation"
    source: ClassVar = "Ribeiro et al. 2016, Eq. 2 (with a ridge in place of the lasso)"
    definition: ClassVar = "φ = argmin Σ_z exp(−d(z)²/2w²) (F(z) − φ₀ − φ·z)² + α‖φ‖²"
    random: ClassVar = True
    deduplicates: ClassVar = True

    @classmethod
    def is_random(cls, subject: Subject, parameters: Parameters) -> bool:
        """Return False with a single sample, which is the full text; else True."""
        return parameters.samples > 1

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(min(parameters.samples, 1 << text.features))

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        keep = [maskings(len(subject.units.content), parameters.samples, subject.seed) for subject in subjects]
        values = masked(subjects, keep, parameters.baseline)
        return [_outcome(*each, parameters) for each in zip(subjects, keep, values, strict=True)]


def _outcome(subject: Subject, keep: np.ndarray, values: np.ndarray, parameters: Lime.Parameters) -> Outcome:
    weights = nearness(keep, parameters.kernel_width)
    scores = slopes(keep, values, weights, parameters.alpha)
    return Outcome(
        subject.units.spread(scores), warnings=_warnings(keep, weights), rounding_scale=2 * subject.rounding_scale
    )


def maskings(n: int, count: int, seed: int) -> np.ndarray:
    """Return bool [count, n]: the full text, then fair coins; larger counts begin with the rows of smaller ones."""
    keep = np.random.default_rng(seed).random((count, n)) < 0.5
    keep[0] = True
    return keep


def nearness(keep: np.ndarray, width: float) -> np.ndarray:
    """Return float64 [K]: exp(−d²/2w²), d the cosine distance of the masks ``keep`` bool [K, n] to the mask of all
    ones.

    A mask that keeps a share q of the features is at d = 1 − √q; the empty mask, without a direction, at 1.
    """
    distance = 1 - np.sqrt(keep.mean(axis=1))
    weights: np.ndarray = np.exp(-(distance**2) / (2 * width**2))
    return weights


def slopes(keep: np.ndarray, values: np.ndarray, weights: np.ndarray, alpha: float) -> np.ndarray:
    """Return float64 [n]: the ridge regression of ``values`` [K] on ``keep`` bool [K, n], with an unpenalised
    intercept.
    """
    from sklearn.linear_model import Ridge  # half a second to import

    coefficients: np.ndarray = Ridge(alpha=alpha, solver="svd").fit(keep, values, sample_weight=weights).coef_
    return coefficients


def _warnings(keep: np.ndarray, weights: np.ndarray) -> tuple[str, ...]:
    masked = ~keep.all(axis=1)
    if masked.any() and weights[masked].sum() < 0.01:
        return ("With this kernel width no masked text counts, so the scores say nothing. Choose a larger one.",)
    return ()
