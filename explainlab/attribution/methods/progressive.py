"""Progressive inference: the intermediate predictions of a causal decoder, read after every feature."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    Budget,
    Method,
    Outcome,
    TextSize,
    budgeted,
    counted,
)
from explainlab.attribution.methods.kernel_shap import constrained
from explainlab.attribution.prefix_coalitions import (
    RESOLUTION,
    Distribution,
    Weights,
    draws,
    normal_equations,
    optimized_masses,
    reading_weights,
    shapley_masses,
)
from explainlab.attribution.subject import Subject
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount


class SinglePass(Method):
    """Each feature's change of the prediction when it is read: the difference of consecutive intermediate predictions.

    One pass, and for ``start=masked`` a second in the same batch. Tokens that the tokenizer adds at the end belong to
    the last feature, so that the last prediction is the model's own.
    """

    class Parameters(declared.Parameters):
        start: Literal["masked", "prefix", "zero"] = Field(
            "masked",
            description="What the first feature is compared with: the fully masked text, "
            "what the model says before it, or zero.",
        )
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "sp_pi"
    label: ClassVar = "Progressive inference, single pass"
    plain: ClassVar = (
        "Reads the text from left to right and credits each word with how it moves the prediction when it is read."
    )
    good_for: ClassVar = "Seeing where in the text a language model makes up its mind."
    adds_up: ClassVar = True
    family: ClassVar = "Perturbation"
    source: ClassVar = "Kariyappa et al. 2024 (SP-PI), Eq. 6; what p₀ is: ours"
    definition: ClassVar = "φᵢ = pᵢ − pᵢ₋₁, pᵢ read at the last token of feature i, p₀ = F(all masked)"
    needs: ClassVar = ("causal decoder",)
    output: ClassVar = "logit"

    @classmethod
    def ineffective_parameters(cls, parameters: Parameters) -> frozenset[str]:
        return frozenset() if parameters.start == "masked" else frozenset({"baseline", "baseline_data"})

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(2 if parameters.start == "masked" else 1)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        positions, texts = subject.units.content_ends, [subject.embeddings]
        if parameters.start == "prefix":
            positions = np.concatenate([[_before(subject)], positions])
        if parameters.start == "masked":
            texts.append(subject.baseline(parameters.baseline))
        points = torch.stack(texts)
        read = subject.readings(lambda part: points[part], len(points), positions)
        first = {"masked": read[-1, -1], "prefix": read[0, 0], "zero": 0.0}[parameters.start]
        predictions = read[0, -len(subject.units.content) :]
        scores = np.diff(predictions, prepend=first)
        return Outcome(
            subject.units.spread(scores),
            expected=float(predictions[-1] - first),
            warnings=prompt_warning(subject.classifier),
            rounding_scale=2 * subject.rounding_scale,
        )


class MultiPass(Method):
    """Shapley values regressed on the intermediate predictions of many masked passes, under the exact sum.

    Each pass keeps a drawn coalition and everything after its last feature, and is read after every feature it keeps;
    see :mod:`explainlab.attribution.prefix_coalitions`. A coalition that several passes read counts each time. The
    fully masked and the untouched text are run beside the passes; equal passes are run once.
    """

    class Parameters(declared.Parameters):
        passes: Budget = Field(
            "2n",
            description="Masked texts to run besides the empty and the full one: 2n, 16n (n features) or a number.",
        )
        distribution: Distribution = Field(
            "shapley",
            description="How they are drawn: by the Shapley kernel, or so that what is read comes near to it.",
        )
        weights: Weights = Field(
            "none",
            description="Correct how often coalitions are read: not at all, each by itself (exact, needs many "
            "passes), or by size and last feature as in the paper.",
        )
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "mp_pi"
    label: ClassVar = "Progressive inference, multiple passes"
    plain: ClassVar = (
        "Reads many partly hidden versions of the text from left to right and shares the prediction out fairly."
    )
    good_for: ClassVar = "Language models, where one reading from left to right is too coarse."
    adds_up: ClassVar = True
    family: ClassVar = "Perturbation"
    source: ClassVar = "Kariyappa et al. 2024 (MP-PI), Algorithm 1, Eq. 11, 13, 16; Eq. 14 and 17 corrected"
    definition: ClassVar = "φ = argmin Σ_S w(S) (p_S − F(∅) − Σ_{i∈S} φᵢ)², Σφ = F(x) − F(∅), S read in all passes"
    random: ClassVar = True
    deduplicates: ClassVar = True
    needs: ClassVar = ("causal decoder",)
    output: ClassVar = "logit"

    @classmethod
    def is_random(cls, subject: Subject, parameters: Parameters) -> bool:
        """Return False with a single feature, for which no pass is drawn; else True."""
        return len(subject.units.content) > 1

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        n = text.features
        return PassCount(min(budgeted(parameters.passes, n) + 2, 1 << n))

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        units = subject.units
        n = len(units.content)
        passes = counted(parameters.passes, n, "mp_pi: passes", subject.classifier.limits)
        masses = (optimized_masses if parameters.distribution == "optimized" else shapley_masses)(n)
        drawn = draws(masses, passes, subject.seed)
        ends = np.array([[True], [False]]).repeat(n, axis=1)
        distinct, back = np.unique(~np.concatenate([ends, drawn]), axis=0, return_inverse=True)  # the text comes first
        points = subject.versions(~distinct, parameters.baseline)
        read = subject.readings(points, len(distinct), units.content_ends)[back]
        empty, full = read[1, -1], read[0, -1]
        weights = reading_weights(drawn, masses, parameters.weights)
        scores = constrained(*normal_equations(drawn, read[2:] - empty, weights), full - empty)
        warnings = (*prompt_warning(subject.classifier), *_warnings(n, parameters))
        return Outcome(
            units.spread(scores),
            expected=float(full - empty),
            warnings=warnings,
            rounding_scale=2 * subject.rounding_scale,
        )


def prompt_warning(classifier: Classifier) -> tuple[str, ...]:
    """Warn if a prompt continues after the text."""
    if not classifier.architecture.is_generative or not classifier.prompt or not classifier.prompt.goes_on:
        return ()
    return (
        "The prompt asks for the label words only at its end, after the text: what is read before that answers a "
        "question that has not been asked yet.",
    )


def _before(subject: Subject) -> int:
    """Return the position before the first feature; raises :class:`UnsupportedError` if there is none."""
    first = int(np.flatnonzero(subject.encoding.content)[0])
    if first == 0:
        raise UnsupportedError(
            f"Nothing stands before the first feature: the tokenizer of {subject.classifier.id} puts no token there.",
            "Choose start masked or zero.",
        )
    return first - 1


def _warnings(n: int, parameters: MultiPass.Parameters) -> tuple[str, ...]:
    if parameters.distribution == "optimized" and n > RESOLUTION:
        return (
            f"The optimised distribution is coarse: the {n} features are too many to tell apart, so neighbouring ones "
            f"share one of {RESOLUTION} cells.",
        )
    return ()
