"""The gradient at the text itself, plain or times the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from explainlab import declared
from explainlab.attribution.method import BatchedMethod, Outcome
from explainlab.attribution.passes import text_gradients
from explainlab.attribution.subject import Subject
from explainlab.models.model import Model

CANCELLED = (
    "The signed sums are rounding errors: through its layer normalisation the model does not see a constant added to "
    "an embedding, so the numbers of every token's gradient add up to zero. Choose norm l2."
)
NORMALISED = (
    "The sums say next to nothing: the model normalises every word embedding before anything is added to it, so it "
    "does not see its length, and the products of every token add up to nearly zero. Choose reduction l2."
)
Reduce = Callable[[Tensor], Tensor]
"""A reduction of numbers [..., d] to float64 [..., 2]: a token's score, and the sum of its absolute terms."""
_ROWS = 2**14
LEAST_LEFT = 1e-3
"""The smallest share of its absolute terms at which a sum needs no warning."""


class Gradient(BatchedMethod):
    """The rate of change of the explained scalar with each word embedding."""

    class Parameters(declared.Parameters):
        norm: Literal["l2", "signed_sum", "one_hot"] = Field(
            "l2",
            description="How the d numbers of a token become one: their Euclidean norm, their plain sum, or the norm "
            "of the gradient with respect to the token's one-hot row, which has a number for each word that could "
            "stand there.",
        )

    id: ClassVar = "gradient"
    label: ClassVar = "Gradient"
    plain: ClassVar = "How strongly the prediction reacts to a small change of each word."
    good_for: ClassVar = "A quick look at what the model is sensitive to; it does not say for or against."
    family: ClassVar = "Gradients"
    source: ClassVar = "Simonyan et al. 2014"
    definition: ClassVar = "φᵢ = ‖∂F/∂xᵢ‖₂ (or Σ_d ∂F/∂xᵢ; or ‖E ∂F/∂xᵢ‖₂, E: the word table)"
    signed: ClassVar = False
    needs: ClassVar = ("gradients",)

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        return parameters.norm == "signed_sum"

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        over_words = partial(_over_words, subjects[0].classifier.model)
        norms: dict[str, Reduce] = {"l2": length, "signed_sum": total, "one_hot": over_words}
        reduce = norms[parameters.norm]
        reduced = text_gradients(subjects, lambda _, gradient: reduce(gradient))
        return [_outcome(*pair, CANCELLED) for pair in zip(subjects, reduced, strict=True)]


class InputXGradient(BatchedMethod):
    """The gradient times the word embedding: a first-order estimate of the effect of removing the token."""

    class Parameters(declared.Parameters):
        reduction: Literal["sum", "l2", "abs"] = Field(
            "sum",
            description="How the d products of a token become one: their sum (signed), their Euclidean norm, or the "
            "absolute value of their sum.",
        )

    id: ClassVar = "input_x_gradient"
    label: ClassVar = "Input × gradient"
    plain: ClassVar = "A quick estimate of how much each word adds to the prediction."
    good_for: ClassVar = "A first look, and large data sets."
    family: ClassVar = "Gradients"
    source: ClassVar = "Shrikumar et al. 2016; Denil et al. 2014"
    definition: ClassVar = "φᵢ = Σ_d xᵢ · ∂F/∂xᵢ"
    needs: ClassVar = ("gradients",)

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        return parameters.reduction == "sum"

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        reduce = {"sum": total, "l2": length, "abs": _size}[parameters.reduction]
        reduced = text_gradients(subjects, lambda text, gradient: reduce(text * gradient))
        return [_outcome(*pair, NORMALISED) for pair in zip(subjects, reduced, strict=True)]


def total(numbers: Tensor) -> Tensor:
    """Return float64 [..., 2]: the sum over d of ``numbers`` [..., d], and that of their absolute values."""
    terms = _wide(numbers)
    return torch.stack([terms.sum(dim=-1), terms.abs().sum(dim=-1)], dim=-1)


def length(numbers: Tensor) -> Tensor:
    """Return float64 [..., 2]: the Euclidean norm over d of ``numbers`` [..., d], which has no terms that cancel."""
    norm = _wide(numbers).norm(dim=-1)
    return torch.stack([norm, torch.zeros_like(norm)], dim=-1)


def _size(numbers: Tensor) -> Tensor:
    """Return :func:`total` with the absolute value of the sum."""
    return total(numbers).abs()


def _over_words(model: Model, gradient: Tensor) -> Tensor:
    """Return :func:`length` of the gradient [..., V] with respect to a token's one-hot row, ‖E g‖ = ‖R g‖."""
    wide = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
    return length(wide @ _root(model).to(wide.dtype).to(wide.device))


_known: WeakKeyDictionary[Model, Tensor] = WeakKeyDictionary()
"""Cached Rᵀ of models."""


def _root(model: Model) -> Tensor:
    """Return Rᵀ, float64 [d, d], with RᵀR = EᵀE, once a model and in parts: the word table E [V, d] may be large."""
    if model not in _known:
        products = torch.zeros((), dtype=torch.float64)
        for rows in map(_wide, model.word_embeddings.weight.detach().split(_ROWS)):
            products = products.to(rows.device) + rows.T @ rows
        values, vectors = torch.linalg.eigh(products)
        _known[model] = (vectors * values.clamp(min=0).sqrt()).cpu()
    return _known[model]


def _wide(numbers: Tensor) -> Tensor:
    """Convert to float64, on the CPU if the device does not support it."""
    return numbers.cpu().double() if numbers.device.type == "mps" else numbers.double()


def _outcome(subject: Subject, reduced: np.ndarray, cancelled: str) -> Outcome:
    """Return the outcome of tokens and their terms, ``reduced`` [N, 2]; warn ``cancelled`` if nearly all cancel."""
    tokens, terms = reduced[:, 0], float(reduced[:, 1].max())
    warnings = (cancelled,) if np.abs(tokens).max() < LEAST_LEFT * terms else ()
    return Outcome(subject.units.sum_tokens(tokens), warnings=warnings, rounding_scale=terms)
