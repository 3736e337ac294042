"""DecompX: the logit as a sum of every token's contribution, through the whole model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from explainlab import declared
from explainlab.attribution.decomposition import Step, steps_of, through, through_head, tokens
from explainlab.attribution.method import Method, Outcome, TextSize
from explainlab.attribution.subject import Subject
from explainlab.errors import MemoryShortage
from explainlab.models.context import FORWARD, PassCount
from explainlab.models.devices import free_memory
from explainlab.request import Output

HELD = 3
"""Most tensors [N, N, d] in memory."""


class DecompX(Method):
    """Every token's share of every state, propagated as a vector to the logits, which the shares add up to.

    Attention, the norms' deviations and the ratios of activations are those of the pass. A bias is shared out by its
    inner products with the shares. Texts are decomposed one by one: N times the work of a pass, which is made alone.
    A probability is explained through its slope at the logits: the scores then sum to Σ_c ∂F/∂z_c · z_c.
    """

    class Parameters(declared.Parameters):
        biases: bool = Field(True, description="Share the biases out among the tokens; without, the sum lacks them.")

    id: ClassVar = "decompx"
    label: ClassVar = "DecompX"
    plain: ClassVar = "Splits every vector in the model into what each word gave to it, up to the class score."
    good_for: ClassVar = "A map for and against that adds up exactly, without gradients or masks; encoders only."
    family: ClassVar = "Decomposition"
    source: ClassVar = "Modarressi et al. 2023 (DecompX)"
    definition: ClassVar = (
        "z_c = Σⱼ φⱼ, φⱼ the share of token j in the logit, propagated through all blocks and the head"
    )
    adds_up: ClassVar = True
    needs: ClassVar = ("post-norm blocks",)
    output: ClassVar[Output] = "logit"

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(1, spare=-FORWARD * text.tokens)  # following a token costs a pass

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        recorded: list[Step] = []

        def keep(_: Subject, steps: list[Step]) -> np.ndarray:
            recorded.extend(steps)
            return np.empty(0)

        whole = int(subject.encoding.attention.sum())
        with subject.batcher.span(0, 1, whole + 1):
            steps_of([subject], keep)
        with subject.batcher.span(1, whole + 1, whole + 1):
            shares = self._propagated(subject, recorded, parameters.biases)
        logits = torch.from_numpy(subject.original)
        slope = torch.func.grad(subject.explained)(logits)
        scores = (shares.cpu().double() @ slope).numpy()
        remedy = "" if parameters.biases else "Its biases are left out; biases=true shares them out."
        return Outcome(subject.units.sum_tokens(tokens(subject, scores)), expected=float(slope @ logits), remedy=remedy)

    def _propagated(self, subject: Subject, steps: list[Step], biases: bool) -> Tensor:
        """Return [N, classes]: every real token's contribution to the logits; block after block, so that others may
        take turns.
        """
        _require_room(steps[0], subject.classifier.device)
        row, last = 0, len(steps) - 1
        held: list[Tensor | None] = [None]

        def run(part: slice) -> None:
            vectors = held[0]
            for number in range(len(steps))[part]:
                rows = slice(row, row + 1) if number == last else slice(None)
                vectors = through(steps[number], vectors, biases, rows)
            held[0] = vectors

        lengths = np.full(len(steps), len(subject.encoding))
        share = 1 / len(steps)
        with torch.no_grad():
            for _ in subject.batcher.over(
                lengths, run, gradients=False, phase="decomposition", rows=steps[0].length, share=share
            ):
                pass
            assert held[0] is not None
            return through_head(subject.classifier.model.head, held[0][0], steps[-1].result[row], biases)


def _require_room(step: Step, device: torch.device) -> None:
    """Raise :class:`MemoryShortage` if the vectors of all pairs of tokens do not fit, with their size."""
    needed = HELD * step.length * step.state.numel() * step.state.element_size()
    free = free_memory(device)
    if needed > free:
        raise MemoryShortage(
            f"DecompX of {step.length:,} tokens needs {needed / 1e9:,.1f} GB; {device} has {free / 1e9:,.1f} GB free.",
            "Shorten the text, or choose a smaller model, GlobEnc or ALTI.",
        )
