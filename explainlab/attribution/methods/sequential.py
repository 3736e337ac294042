"""Integrated gradients one token at a time: the rest of the text stays as it is."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import (
    BASELINE_HELP,
    Baseline,
    BaselineData,
    Evaluations,
    Method,
    Outcome,
    TextSize,
    require_affordable,
)
from explainlab.attribution.path import Rule, nodes
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount


class SequentialIntegratedGradients(Method):
    """The gradient integrated, for each token, along the line on which this token alone moves from its baseline.

    Enguehard's SIG_ij = (x_ij - x̄_ij) ∫ ∂F(x̄ⁱ + α(x - x̄ⁱ))/∂x_ij dα, with x̄ⁱ the text whose token i is at its
    baseline, summed over the dimensions j. A score approximates F(x) - F(x̄ⁱ), the loss without the token; the sum over
    tokens is not fixed. A token that equals its baseline scores 0.

    The author's code explains the largest logit of every point, adds positions and normalises twice, and divides by the
    norm of all scores; here the class is fixed, the model does both once, and scores keep their scale.
    """

    class Parameters(declared.Parameters):
        steps: Evaluations = Field(
            50, le=10_000, description="Gradient evaluations for each token (trapezoid: one more)."
        )
        rule: Rule = Field("gauss_legendre", description="Where on each path the gradient is evaluated.")
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "sequential_integrated_gradients"
    label: ClassVar = "Sequential integrated gradients"
    plain: ClassVar = "Fades in one word at a time while the rest of the text stays as it is."
    good_for: ClassVar = "Texts that make little sense when every word is blanked out at once."
    family: ClassVar = "Paths"
    source: ClassVar = "Enguehard 2023, definition of SIG"
    definition: ClassVar = "φᵢ = Σ_d (xᵢ - x′ᵢ) · ∫₀¹ ∂F(x̄ⁱ + α(x - x̄ⁱ))/∂xᵢ dα, x̄ⁱ = x with x′ᵢ in place of xᵢ"
    needs: ClassVar = ("gradients",)

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(1) + PassCount.gradients(text.tokens * (parameters.steps + (parameters.rule == "trapezoid")))

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        text, baseline = subject.embeddings, subject.baseline(parameters.baseline)
        moved = (text != baseline).any(dim=-1).nonzero()[:, 0]
        origin = baseline[moved].float()
        difference = text[moved].float() - origin
        alphas, weights = nodes(parameters.rule, parameters.steps)
        position = torch.as_tensor(alphas, device=text.device, dtype=torch.float32)
        count = len(moved) * len(alphas)
        require_affordable(
            f"{len(alphas):,} gradients for each of {len(moved):,} tokens", count, subject.classifier.limits
        )

        def pairs(part: slice) -> tuple[torch.Tensor, torch.Tensor]:
            pair = torch.arange(part.start, part.stop, device=text.device)
            return pair // len(alphas), pair % len(alphas)

        def points(part: slice) -> torch.Tensor:
            token, node = pairs(part)
            batch = text.repeat(len(token), 1, 1)
            row = torch.addcmul(origin[token], position[node, None], difference[token])
            batch[torch.arange(len(token), device=text.device), moved[token]] = row.to(text.dtype)
            return batch

        tokens = np.zeros(len(text))
        for part, _, gradient in subject.gradients(points, count):
            token, node = pairs(part)
            row = gradient[torch.arange(len(token), device=text.device), moved[token]].float()
            slope = (row * difference[token]).sum(dim=-1).cpu().double().numpy()
            np.add.at(tokens, moved[token].cpu().numpy(), weights[node.cpu().numpy()] * slope)
        return Outcome(subject.units.sum_tokens(tokens))
