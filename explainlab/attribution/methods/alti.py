"""ALTI: the nearness of every token's contribution to the output of a block, through all blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from explainlab import declared
from explainlab.attribution.decomposition import Step, normalised, rolled_out
from explainlab.attribution.method import BatchedMethod, Outcome, TextSize
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount


class ALTI(BatchedMethod):
    """Shares of every block's first norm, multiplied through the blocks; the scores of all tokens sum to 1.

    A row far from all tokens keeps its weight on itself.
    """

    class Parameters(declared.Parameters):
        distance: Literal["l1", "l2"] = Field("l1", description="The norm by which vectors are near each other.")

    id: ClassVar = "alti"
    label: ClassVar = "ALTI"
    plain: ClassVar = "Shares each layer's vectors out among the words that they came from, through all layers."
    good_for: ClassVar = "Seeing what an encoder mixes, as shares of one; not what speaks for a class."
    family: ClassVar = "Decomposition"
    source: ClassVar = "Ferrando et al. 2022 (ALTI)"
    definition: ClassVar = "φ = class row of C^L ⋯ C¹, Cᵢⱼ ∝ (‖yᵢ‖₁ - ‖yᵢ - Tᵢ(xⱼ)‖₁)⁺, rows sum to 1"
    signed: ClassVar = False
    needs: ClassVar = ("post-norm blocks",)

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount.recorded(1)

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        order = 1 if parameters.distance == "l1" else 2

        def shares(step: Step, rows: slice) -> Tensor:
            whole = step.middle[rows]
            vectors = normalised(step.block.attention_norm, step.mixed(rows), step.summed[rows])
            far = (whole[:, None] - vectors).norm(order, dim=-1)
            near = (whole.norm(order, dim=-1)[:, None] - far).clamp(min=0)
            sums = near.sum(dim=-1, keepdim=True)
            itself = torch.eye(step.length, device=near.device, dtype=near.dtype)[rows]
            return torch.where(sums > 0, near / sums, itself)

        scores = rolled_out(subjects, shares)
        return [Outcome(subject.units.sum_tokens(each)) for subject, each in zip(subjects, scores, strict=True)]
