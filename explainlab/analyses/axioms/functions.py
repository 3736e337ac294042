"""Functions around a model with one known property each, which a correct map must show."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from explainlab.models.inputs import Inputs, Prefix
from explainlab.models.model import Model
from explainlab.models.networks.wrapped import Wrapped


class Function(Wrapped):
    """A function of the word embeddings of one text, made of the model inside: outputs and gradients, no layers."""

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        rows = self.word_embeddings.forward(inputs.ids) if embeddings is None else embeddings
        return self.of(inputs, rows, prefix)

    @abstractmethod
    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        """Return [B, classes] for ``rows`` [B, N, d]."""


class Disregards(Function):
    """The model, reading ``filler`` [P, d] at the ``positions`` whatever stands there."""

    def __init__(self, inner: Model, positions: Sequence[int], filler: Tensor) -> None:
        super().__init__(inner)
        self._positions, self._filler = list(positions), filler

    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        rows = rows.clone()
        rows[:, self._positions] = self._filler.to(rows)
        return self.inner.logits(inputs, rows, prefix)


class Symmetric(Function):
    """The mean of the model and of the model that reads two positions exchanged."""

    def __init__(self, inner: Model, first: int, second: int) -> None:
        super().__init__(inner)
        self._there, self._back = [first, second], [second, first]

    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        exchanged = rows.clone()
        exchanged[:, self._there] = rows[:, self._back]
        return (self.inner.logits(inputs, rows, prefix) + self.inner.logits(inputs, exchanged, prefix)) / 2


class Combined(Function):
    """The model with another logit for the class ``first``: twice its own less the logit of ``second``."""

    def __init__(self, inner: Model, first: int, second: int) -> None:
        super().__init__(inner)
        self._first, self._second = first, second

    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        logits = self.inner.logits(inputs, rows, prefix)
        combined = 2 * logits[:, self._first] - logits[:, self._second]
        return torch.cat([logits[:, : self._first], combined[:, None], logits[:, self._first + 1 :]], dim=1)
