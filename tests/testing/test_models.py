"""The contract of models catches what is broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from explainlab.models.classifier import Classifier, Inputs
from explainlab.testing import check_model


class ReadsPadding(Classifier):
    """Its logits grow with the length of the batch."""

    def logits(self, inputs: Inputs, *rest: Any) -> Tensor:
        return super().logits(inputs, *rest) * (1 + 1e-6 * inputs.ids.shape[1])


class Deaf(Classifier):
    """It reads the ids, whatever embeddings it is given."""

    def logits(self, inputs: Inputs, *_: Any) -> Tensor:
        return super().logits(inputs)


class Forgetful(Classifier):
    """It turns on the gradients of a parameter."""

    def logits(self, inputs: Inputs, *rest: Any) -> Tensor:
        next(self.model.parameters()).requires_grad_()
        return super().logits(inputs, *rest)


class WrongHead(Classifier):
    """It says that padding reaches the head."""

    def head_rows(self, encoding: Any) -> Any:
        return super().head_rows(encoding)[::-1]


class Noisy(Classifier):
    """Every pass is another."""

    def logits(self, inputs: Inputs, *rest: Any) -> Tensor:
        found = super().logits(inputs, *rest)
        return found + torch.rand_like(found)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (ReadsPadding, "batches: the logits of texts in a batch: differs by"),
        (Deaf, "embeddings: other embeddings give the same logits"),
        (WrongHead, "attention: padding reaches the head"),
        (Noisy, "repeatable: a second pass gives other logits"),
        (Forgetful, "predictions: predictions leaves something behind on the model"),
    ],
)
def test_a_broken_model_fails(encoder: Classifier, kind: type[Classifier], message: str) -> None:
    fields = {name: getattr(encoder, name) for name in Classifier.__dataclass_fields__}
    try:
        with pytest.raises(AssertionError, match=message):
            check_model(kind(**fields))
    finally:
        encoder.model.requires_grad_(False)


def test_labels_that_are_equal_fail(encoder: Classifier) -> None:
    with pytest.raises(AssertionError, match="facts: the labels are"):
        check_model(replace(encoder, labels=("same", "same", "other")))
