"""Methods that follow the gradient from an uninformative baseline to the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    BatchedMethod,
    Evaluations,
    Method,
    Outcome,
    TextSize,
)
from explainlab.attribution.path import Path, Refinement, Rule, evaluate, nodes, read_ends, refine
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount

CANCELLING = (
    "From the baseline to the text the output changes by only {change:.2g}, while the sizes of the "
    "scores add up to {size:.2g}: they cancel out, so an error relative to their sum means little."
)
TOO_FEW_STEPS = "This text needs more steps, or the adaptive rule."
TOO_FEW_SAMPLES = "They do so only on average: take more samples."
UNREACHED = (
    "The tolerance was not reached: after {spent} gradients, the estimated error of the scores is "
    "{error:.2g}% of their total size. Raise max_steps or the tolerance."
)


class IntegratedGradients(BatchedMethod):
    """The gradient integrated along the straight line from the baseline to the text, times their difference.

    Only word embeddings are interpolated; the model adds positions and normalises once, at every point of the path.
    ``adaptive`` (:class:`explainlab.attribution.path.Refinement`) chooses the points itself and estimates the error
    of every score; the other rules take ``steps`` points wherever the path moves.
    """

    class Parameters(declared.Parameters):
        rule: Literal["adaptive", Rule] = Field(
            "adaptive", description="Where on the path the gradient is evaluated; adaptive: where it moves."
        )
        steps: Evaluations = Field(50, le=10_000, description="Gradients of a fixed rule (trapezoid: one more).")
        tolerance: float = Field(0.01, ge=1e-6, le=1, description="Relative error at which adaptive stops.")
        max_steps: Annotated[Evaluations, Field(ge=9)] = Field(
            1024, le=100_000, description="Gradients at which adaptive gives up."
        )
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "integrated_gradients"
    label: ClassVar = "Integrated gradients"
    plain: ClassVar = (
        "Fades the text in, from blanked out to complete, and adds up what each word contributes on the way."
    )
    good_for: ClassVar = "A careful map whose scores add up to the change of the prediction."
    recommended: ClassVar = True
    adds_up: ClassVar = True
    family: ClassVar = "Paths"
    source: ClassVar = "Sundararajan et al. 2017, Eq. 1"
    definition: ClassVar = "φᵢ = Σ_d (xᵢ - x′ᵢ) · ∫₀¹ ∂F(x′ + α(x - x′))/∂xᵢ dα"
    needs: ClassVar = ("gradients",)
    version: ClassVar = 2

    @classmethod
    def ineffective_parameters(cls, parameters: Parameters) -> frozenset[str]:
        return frozenset({"steps"} if parameters.rule == "adaptive" else {"tolerance", "max_steps"})

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        if cls.adaptive(parameters):
            return PassCount.gradients(parameters.max_steps)
        return PassCount(2) + PassCount.gradients(parameters.steps + (parameters.rule == "trapezoid"))

    @classmethod
    def adaptive(cls, parameters: Parameters) -> bool:
        return parameters.rule == "adaptive"

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        if parameters.rule == "adaptive":
            refinements = [Refinement(path, parameters.tolerance, parameters.max_steps) for path in paths]
            refine(refinements)
            return [self._adaptive(refinement, parameters) for refinement in refinements]
        alphas, weights = nodes(parameters.rule, parameters.steps)
        read_ends(paths)
        evaluate(paths, [alphas] * len(paths))
        return [
            Outcome(
                path.subject.units.sum_tokens(weights @ path.slopes(alphas)), expected=path.change, remedy=TOO_FEW_STEPS
            )
            for path in paths
        ]

    @staticmethod
    def _adaptive(refinement: Refinement, parameters: Parameters) -> Outcome:
        path = refinement.path
        units, warnings = path.subject.units, []
        if parameters.steps != IntegratedGradients.Parameters.model_fields["steps"].default:
            warnings.append(f"steps = {parameters.steps} was not used: the adaptive rule chooses its own.")
        if refinement.cancels:
            warnings.append(CANCELLING.format(change=path.change, size=np.abs(refinement.scores).sum()))
        if not refinement.reached:
            warnings.append(UNREACHED.format(spent=path.evaluations, error=100 * refinement.trace[-1].estimated_error))
        return Outcome(
            units.sum_tokens(refinement.scores),
            expected=path.change,
            errors=units.sum_tokens(refinement.errors),
            warnings=tuple(warnings),
            within=parameters.tolerance,
        )


class GradientShap(Method):
    """Expected gradients: random points between random baselines and the (noisy) text.

    Every draw takes its baseline from {baseline, text}. A draw whose baseline is the text itself, without noise, is
    zero and costs nothing. The first draws of a larger run are those of the smaller one.
    """

    class Parameters(declared.Parameters):
        samples: Evaluations = Field(5, le=10_000, description="Random points on random paths.")
        noise: float = Field(0.0, ge=0, le=100, description="Standard deviation of the noise on the word embeddings.")
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "gradient_shap"
    label: ClassVar = "Gradient SHAP"
    plain: ClassVar = "Integrated gradients at a few random points instead of many chosen ones."
    good_for: ClassVar = "A quick and rough stand-in for integrated gradients."
    adds_up: ClassVar = True
    family: ClassVar = "Paths"
    source: ClassVar = "Lundberg & Lee 2017; Erion et al. 2021, Eq. 2; baselines as in Enguehard 2023"
    definition: ClassVar = "φᵢ = mean over draws of Σ_d (x̃ᵢ - bᵢ) · ∂F(b + α(x̃ - b))/∂xᵢ, α ~ U[0, 1], b ∈ {x′, x}"
    needs: ClassVar = ("gradients",)
    random: ClassVar = True
    deduplicates: ClassVar = True

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(2) + PassCount.gradients(parameters.samples)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        text, baseline = subject.embeddings, subject.baseline(parameters.baseline)
        start = subject.values(baseline[None])[0]
        end = subject.scalar(subject.original)
        from_text, alphas, noise = self._draws(subject, parameters)
        kept = np.flatnonzero(~from_text | (parameters.noise > 0))
        origin = torch.as_tensor(from_text[kept], device=text.device)
        position = torch.as_tensor(alphas[kept], device=text.device, dtype=text.dtype)

        def ends(part: slice) -> tuple[torch.Tensor, torch.Tensor]:
            first = torch.where(origin[part, None, None], text, baseline)
            last = text + noise[kept[part]].to(text) if len(noise) else text
            return first, last - first

        def points(part: slice) -> torch.Tensor:
            first, difference = ends(part)
            return first + position[part, None, None] * difference

        tokens = np.zeros(len(text))
        for part, _, gradient in subject.gradients(points, len(kept)):
            product = (ends(part)[1].float() * gradient.float()).sum(dim=(0, 2))
            tokens += product.cpu().double().numpy() / parameters.samples
        expected = end - np.where(from_text, end, start).mean()
        return Outcome(subject.units.sum_tokens(tokens), expected=float(expected), remedy=TOO_FEW_SAMPLES)

    @staticmethod
    def _draws(subject: Subject, parameters: Parameters) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
        """Return the draws that start from the text, their α, and their noise [samples, N, d] (empty without noise)."""
        rng = np.random.default_rng(subject.seed)
        content = subject.encoding.content
        shape = (int(content.sum()), subject.embeddings.shape[1])
        uniform, noise = [], []
        for _ in range(parameters.samples):
            uniform.append(rng.random(2))
            if parameters.noise:
                drawn = torch.zeros(subject.embeddings.shape, dtype=torch.float64)
                drawn[content] = torch.from_numpy(rng.standard_normal(shape) * parameters.noise)
                noise.append(drawn)
        pairs = np.array(uniform)
        return pairs[:, 0] < 0.5, pairs[:, 1], torch.stack(noise) if noise else torch.empty(0)
