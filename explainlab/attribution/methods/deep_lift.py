"""DeepLift, as Captum computes it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from explainlab import declared
from explainlab.attribution import passes
from explainlab.attribution.batch import Batch, stream
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData, BatchedMethod, Outcome, TextSize
from explainlab.attribution.methods.gradients import total
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount

# Captum warns that it sets hooks, which it removes again; catching warnings during a pass is not safe among threads.
warnings.filterwarnings("ignore", message="Setting forward, backward hooks and attributes on non-linear")

UNCOVERED = "Its rule does not cover a transformer's attention and normalisation."


class DeepLift(BatchedMethod):
    """Differences from the baseline, propagated back by the rescale rule through activation modules.

    Captum has the rule for modules such as ReLU, tanh and sigmoid. GELU, the attention's softmax, its products and
    layer normalisation get their plain gradient, so on a transformer the scores need not be complete; the completeness
    error measures it.
    """

    class Parameters(declared.Parameters):
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "deep_lift"
    label: ClassVar = "DeepLift"
    plain: ClassVar = (
        "Compares the prediction with that for a blanked-out text and traces the difference back to the words."
    )
    good_for: ClassVar = "Checking older results; on transformers its sum is often off."
    adds_up: ClassVar = True
    family: ClassVar = "Paths"
    source: ClassVar = "Shrikumar et al. 2017 (rescale rule), computed by Captum"
    definition: ClassVar = "φᵢ = Σ_d (xᵢ - x′ᵢ) · mᵢ, with m the product of Δoutput/Δinput through every activation"
    needs: ClassVar = ("gradients",)
    uses_internals: ClassVar = True

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(2) + PassCount.gradients(2)

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        from captum.attr import DeepLift as CaptumDeepLift  # two seconds to import

        baselines = [subject.baseline(parameters.baseline)[None] for subject in subjects]
        starts = passes.values(subjects, baselines)
        products: dict[int, np.ndarray] = {}

        def run(batch: Batch) -> None:
            explainer = CaptumDeepLift(_Scalar(batch))
            reference = batch.stacked([baselines[part.number] for part in batch.parts])
            with _without_traces(explainer.model.network):
                attributed = explainer.attribute(batch.texts().requires_grad_(), baselines=reference)
            batch.count(forward=2, backward=2)
            rows = total(attributed.detach()).cpu().numpy()
            products.update((part.number, part.own(rows)[0]) for part in batch.parts)

        for _ in stream(subjects, [1] * len(subjects), run, gradients=True, phase="gradient", rows=2):
            pass
        return [
            Outcome(
                subject.units.sum_tokens(products[i][:, 0]),
                expected=float(subject.scalar(subject.original) - starts[i][0]),
                rounding_scale=float(products[i][:, 1].max()),
                remedy=UNCOVERED,
            )
            for i, subject in enumerate(subjects)
        ]


@contextmanager
def _without_traces(network: nn.Module) -> Iterator[None]:
    """Remove attributes that Captum leaves on modules after a failed pass."""
    before = [(module, set(vars(module))) for module in network.modules()]
    try:
        yield
    finally:
        for module, names in before:
            for name in vars(module).keys() - names:
                delattr(module, name)


class _Scalar(nn.Module):
    """Word embeddings [2B, N, d] of texts and baselines -> the explained scalar [2B]; Captum hooks the model inside."""

    def __init__(self, batch: Batch) -> None:
        super().__init__()
        self.network = batch.classifier.model.network
        self._batch = batch
        self._inputs = batch.classifier.inputs([part.subject.encoding for part in batch.parts] * 2)

    def forward(self, embeddings: Tensor) -> Tensor:
        logits = self._batch.classifier.logits(self._inputs, embeddings)
        return torch.cat([self._batch.explained(rows) for rows in logits.split(self._batch.size)])
