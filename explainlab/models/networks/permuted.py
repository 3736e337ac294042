"""The same function by other weights: heads and hidden units in another order."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs
from explainlab.models.model import Model
from explainlab.models.replay import record


def permuted(classifier: Classifier, inputs: Inputs, seed: int) -> Model:
    """A copy of the classifier's model that computes the same: the heads of every layer and the hidden units permuted.

    Only for a model with the capability ``post-norm blocks``. The pass over ``inputs`` tells how many heads there are.
    The copy takes the memory of the model once more.
    """
    layers, _ = record(classifier, inputs)
    heads = layers[0].probabilities.shape[1]
    with classifier.lock:
        model = copy.deepcopy(classifier.model)
    generator = torch.Generator().manual_seed(seed)
    for block in model.blocks:
        order = _other(heads, generator)
        rows = torch.arange(block.value.out_features).unflatten(0, (heads, -1))[order].flatten()
        for into in (block.query, block.key, block.value):
            _rows(into, rows)
        _columns(block.attention_output, rows)
        units = _other(block.intermediate.out_features, generator)
        _rows(block.intermediate, units)
        _columns(block.output, units)
    return model


def _other(n: int, generator: torch.Generator) -> Tensor:
    """An order int64 [n] that is not the one there is, if there is another."""
    order = torch.randperm(n, generator=generator)
    return order.roll(1) if n > 1 and torch.equal(order, torch.arange(n)) else order


def _rows(linear: nn.Linear, order: Tensor) -> None:
    linear.weight.data = linear.weight.data[order.to(linear.weight.device)]
    if linear.bias is not None:
        linear.bias.data = linear.bias.data[order.to(linear.bias.device)]


def _columns(linear: nn.Linear, order: Tensor) -> None:
    linear.weight.data = linear.weight.data[:, order.to(linear.weight.device)]
