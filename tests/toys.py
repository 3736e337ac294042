"""Classifiers whose scores are a formula of the word embeddings, so that attributions are known in closed form."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast
from transformers.modeling_outputs import SequenceClassifierOutput

from explainlab.models.architectures import Architecture
from explainlab.models.classifier import Classifier
from tests.zoo import MAX_TOKENS

WIDTH = 6
LABELS = ("first", "second")


class Linear(nn.Module):
    """Every number of every position has a weight of its own; position ``UNUSED`` has none."""

    UNUSED = 2

    def __init__(self, outputs: int = len(LABELS), bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(MAX_TOKENS, WIDTH, outputs) / 4)
        self.weight.data[self.UNUSED] = 0
        self.bias = nn.Parameter(torch.randn(outputs) * bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("bnd,ndc->bc", x, self.weight[: x.shape[1]]) + self.bias


class Squares(nn.Module):
    """The sum of the squares of all numbers, and its negative."""

    def forward(self, x: Tensor) -> Tensor:
        total = x.square().sum(dim=(1, 2))
        return torch.stack([total, -total], dim=-1)


class Broken(nn.Module):
    """Finite scores whose gradients are not."""

    def forward(self, x: Tensor) -> Tensor:
        root = (x * 0).sum(dim=(1, 2)).sqrt()
        return torch.stack([root, -root], dim=-1)


def perceptron(*widths: int, bias: bool) -> nn.Sequential:
    """Linear layers with ReLU between them; without biases it is homogeneous of degree one."""
    layers: list[nn.Module] = [Linear(widths[0], bias)]
    for before, after in zip(widths, (*widths[1:], len(LABELS)), strict=True):
        layers += [nn.ReLU(), nn.Linear(before, after, bias)]
    return nn.Sequential(*layers)


class _Model(nn.Module):
    """What a classifier needs of a transformers model, around a ``head`` from embeddings [B, N, d] to scores."""

    def __init__(self, head: nn.Module, tokens: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(tokens, WIDTH)
        self.head = head
        self.config = SimpleNamespace(hidden_size=WIDTH, num_attention_heads=1, num_hidden_layers=1)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SequenceClassifierOutput:
        return SequenceClassifierOutput(logits=self.head(self.embeddings(input_ids)))


def toy(head: nn.Module, tokenizer: PreTrainedTokenizerFast) -> Classifier:
    """A classifier with ``head`` straight on the word embeddings."""
    model = _Model(head, len(tokenizer)).eval().requires_grad_(False)
    return Classifier(
        id="toy",
        source="directory",
        digest="0" * 64,
        model=model,
        tokenizer=tokenizer,
        labels=LABELS,
        architecture=Architecture("Toy"),
        max_tokens=MAX_TOKENS,
        pad_id=0,
    )
