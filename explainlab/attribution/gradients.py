"""The gradient at the text itself, plain or times the input."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor

from explainlab.attribution import method
from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.subject import Subject

CANCELLED = (
    "The signed sums are rounding errors: through its layer normalisation the model does not see a constant added to "
    "an embedding, so the numbers of every token's gradient add up to zero. Choose norm l2."
)
NORMALISED = (
    "The sums say next to nothing: the model normalises every word embedding before anything is added to it, so it "
    "does not see its length, and the products of every token add up to nearly zero. Choose reduction l2."
)
CANCELS = 1e-3
"""Sums below this share of their absolute terms are told to be cancelled."""


class Gradient(Method):
    """How fast the explained scalar changes with each word embedding."""

    class Parameters(method.Parameters):
        norm: Literal["l2", "signed_sum"] = Field(
            "l2", description="How the d numbers of a token become one: their Euclidean norm, or their plain sum."
        )

    id: ClassVar = "gradient"
    label: ClassVar = "Gradient"
    family: ClassVar = "Gradients"
    source: ClassVar = "Simonyan et al. 2014"
    definition: ClassVar = "φᵢ = ‖∂F/∂xᵢ‖₂ (or Σ_d ∂F/∂xᵢ)"
    signed: ClassVar = False
    needs: ClassVar = ("gradients",)

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        return parameters.norm == "signed_sum"

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        gradient = subject.input_gradient().cpu().double()
        if parameters.norm == "l2":
            return Outcome(subject.units.sum_tokens(gradient.norm(dim=-1).numpy()))
        return _summed(gradient, subject, CANCELLED)


class InputXGradient(Method):
    """The gradient times the word embedding: a first-order guess at what removing the token would change."""

    class Parameters(method.Parameters):
        reduction: Literal["sum", "l2"] = Field(
            "sum", description="How the d products of a token become one: their sum (signed), or their Euclidean norm."
        )

    id: ClassVar = "input_x_gradient"
    label: ClassVar = "Input × gradient"
    family: ClassVar = "Gradients"
    source: ClassVar = "Shrikumar et al. 2016; Denil et al. 2014"
    definition: ClassVar = "φᵢ = Σ_d xᵢ · ∂F/∂xᵢ"
    needs: ClassVar = ("gradients",)

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        return parameters.reduction == "sum"

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        product = (subject.embeddings * subject.input_gradient()).cpu().double()
        if parameters.reduction == "l2":
            return Outcome(subject.units.sum_tokens(product.norm(dim=-1).numpy()))
        return _summed(product, subject, NORMALISED)


def _summed(numbers: Tensor, subject: Subject, cancelled: str) -> Outcome:
    """The sums over d of ``numbers`` float64 [N, d], with the warning ``cancelled`` where next to nothing is left."""
    tokens, terms = numbers.sum(dim=-1), float(numbers.abs().sum(dim=-1).max())
    warnings = (cancelled,) if float(tokens.abs().max()) < CANCELS * terms else ()
    return Outcome(subject.units.sum_tokens(tokens.numpy()), warnings=warnings, terms=terms)
