"""Classifiers whose scores are a formula of the word embeddings, so that attributions are known in closed form."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs, Prefix
from explainlab.models.model import Architecture, Model
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
    """Return linear layers with ReLU between them; without biases the network is homogeneous of degree one."""
    layers: list[nn.Module] = [Linear(widths[0], bias)]
    for before, after in zip(widths, (*widths[1:], len(LABELS)), strict=True):
        layers += [nn.ReLU(), nn.Linear(before, after, bias)]
    return nn.Sequential(*layers)


class _Network(nn.Module):
    """A ``head`` from word embeddings [B, N, d] to scores."""

    def __init__(self, head: nn.Module, tokens: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(tokens, WIDTH)
        self.head = head

    def forward(self, embeddings: Tensor) -> Tensor:
        return self.head(embeddings)


class _Model(Model):
    """Such a network; padding counts like any token."""

    architecture = Architecture("Toy", attention="none")
    device = torch.device("cpu")

    def __init__(self, network: _Network) -> None:
        self.network = network

    @property
    def body(self) -> nn.Module:
        return self.network

    @property
    def word_embeddings(self) -> nn.Embedding:
        return self.network.embeddings

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        return self.network(self.word_embeddings(inputs.ids) if embeddings is None else embeddings)

    def bytes_per_token(self, length: int, gradients: bool) -> int:
        return 64 * WIDTH


class _LSTM(nn.Module):
    """Word embeddings [B, N, d] of texts whose last tokens are at ``last`` [B] to scores, through an LSTM."""

    def __init__(self, tokens: int, outputs: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(tokens, WIDTH)
        self.lstm = nn.LSTM(WIDTH, 2 * WIDTH, batch_first=True)
        self.head = nn.Linear(2 * WIDTH, outputs)

    def forward(self, embeddings: Tensor, last: Tensor) -> Tensor:
        states, _ = self.lstm(embeddings)
        return self.head(states[torch.arange(len(last)), last])


class _Recurrent(_Model):
    """A recurrent network: no attention, no rules for relevance."""

    architecture = Architecture("recurrent", pooling="last", attention="none", relevance=False)

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        return self.network(self.word_embeddings(inputs.ids) if embeddings is None else embeddings, inputs.last)


def _classifier(model: Model, tokenizer: PreTrainedTokenizerFast, name: str) -> Classifier:
    model.network.eval().requires_grad_(False)
    return Classifier(
        id=name,
        source="directory",
        digest="0" * 64,
        model=model,
        tokenizer=tokenizer,
        labels=LABELS,
        max_tokens=MAX_TOKENS,
        pad_id=0,
    )


def toy(head: nn.Module, tokenizer: PreTrainedTokenizerFast) -> Classifier:
    """Return a classifier with ``head`` straight on the word embeddings."""
    return _classifier(_Model(_Network(head, len(tokenizer))), tokenizer, "toy")


def recurrent(tokenizer: PreTrainedTokenizerFast) -> Classifier:
    """Return a small recurrent network with random weights, wide enough that tokens matter."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = _LSTM(len(tokenizer), len(LABELS))
        for parameter in network.lstm.parameters():
            parameter.data *= 4
    return _classifier(_Recurrent(network), tokenizer, "recurrent")


def with_network(classifier: Classifier, network: nn.Module) -> Classifier:
    """Return the classifier with another network of its kind."""
    return replace(classifier, model=replace(classifier.model, network=network))
