"""GlobEnc: the size of every token's contribution to every other, through all blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field
from torch import Tensor

from explainlab import declared
from explainlab.attribution.decomposition import Step, normalised, rolled_out
from explainlab.attribution.method import BatchedMethod, Outcome, TextSize
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount


class GlobEnc(BatchedMethod):
    """Attention with its values, the residual connection and both norms, multiplied through the blocks.

    The feed-forward maps are left out; the norm behind them reads the output of the first norm.
    """

    class Parameters(declared.Parameters):
        include_ffn_norm: bool = Field(True, description="Whether the norm behind the feed-forward maps is applied.")

    id: ClassVar = "globenc"
    label: ClassVar = "GlobEnc"
    plain: ClassVar = "Follows through all layers how much of each word's vector reaches the prediction."
    good_for: ClassVar = "Seeing what an encoder mixes, with more than its attention; not what speaks for a class."
    family: ClassVar = "Decomposition"
    source: ClassVar = "Modarressi et al. 2022 (GlobEnc)"
    definition: ClassVar = "φ = class row of N^L ⋯ N¹, Nᵢⱼ = ‖LN₂(LN₁(Σ_h Aʰᵢⱼ Vʰⱼ W_O + [i = j] xᵢ))‖₂"
    signed: ClassVar = False
    needs: ClassVar = ("post-norm blocks",)

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount.recorded(1)

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        def sizes(step: Step, rows: slice) -> Tensor:
            vectors = normalised(step.block.attention_norm, step.mixed(rows), step.summed[rows])
            if parameters.include_ffn_norm:
                vectors = normalised(step.block.output_norm, vectors, step.last_summed[rows])
            return vectors.square().sum(dim=-1).sqrt()

        scores = rolled_out(subjects, sizes)
        return [Outcome(subject.units.sum_tokens(each)) for subject, each in zip(subjects, scores, strict=True)]
