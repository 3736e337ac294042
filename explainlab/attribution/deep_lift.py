"""DeepLift, as Captum computes it."""

from __future__ import annotations

import warnings
from typing import ClassVar

from captum.attr import DeepLift as CaptumDeepLift
from pydantic import Field
from torch import Tensor, nn

from explainlab.attribution import method
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData, Method, Outcome
from explainlab.attribution.subject import Subject


class DeepLift(Method):
    """Differences from the baseline, carried back by the rescale rule through the activations that are modules.

    Captum knows the rule for ReLU, tanh, sigmoid and the like as modules. GELU, the attention's softmax, its products
    and layer normalisation are passed with their plain gradient, so on a transformer the scores need not be complete;
    the completeness error says by how much.
    """

    class Parameters(method.Parameters):
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "deep_lift"
    label: ClassVar = "DeepLift"
    family: ClassVar = "Paths"
    source: ClassVar = "Shrikumar et al. 2017 (rescale rule), computed by Captum"
    definition: ClassVar = "φᵢ = Σ_d (xᵢ - x′ᵢ) · mᵢ, with m the product of Δoutput/Δinput through every activation"
    needs: ClassVar = ("gradients",)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        text, baseline = subject.embeddings[None], subject.baseline(parameters.baseline)[None]
        start = subject.values(baseline)[0]
        explainer = CaptumDeepLift(_Scalar(subject))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Captum tells that it sets hooks; it removes them again
            found = subject.once(lambda: explainer.attribute(text, baselines=baseline))
        subject.backward += 2
        products = found[0].detach().cpu().double()
        expected = subject.scalar(subject.original) - start
        return Outcome(
            subject.units.sum_tokens(products.sum(dim=-1).numpy()),
            expected=float(expected),
            terms=float(products.abs().sum(dim=-1).max()),
        )


class _Scalar(nn.Module):
    """Word embeddings [B, N, d] -> the explained scalar [B], with the network inside for Captum to hook."""

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.network = subject.classifier.model.network
        self._subject = subject

    def forward(self, embeddings: Tensor) -> Tensor:
        return self._subject.differentiable(embeddings)
