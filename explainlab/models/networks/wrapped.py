"""Models around other models: a subclass changes the wrapper, and the model inside stays unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from explainlab.models.anatomy import Block, Head, Unit
from explainlab.models.attention import Tap
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs, Prefix
from explainlab.models.model import Model


class Wrapped(Model):
    """A model that does the same as ``inner``, but is not generative."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.network, self.device = inner.network, inner.device
        self.architecture = replace(inner.architecture, is_generative=False)

    @property
    def body(self) -> nn.Module:
        return self.inner.body

    @property
    def word_embeddings(self) -> nn.Embedding:
        return self.inner.word_embeddings

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        return self.inner.logits(inputs, embeddings, prefix)

    def bytes_per_token(self, length: int, gradients: bool) -> int:
        return self.inner.bytes_per_token(length, gradients)

    def work_per_token(self, length: int) -> int:
        return self.inner.work_per_token(length)

    @property
    def end_id(self) -> int | None:
        return self.inner.end_id

    @property
    def activations(self) -> Sequence[nn.Module]:
        return self.inner.activations

    @property
    def layers(self) -> Sequence[nn.Module]:
        return self.inner.layers

    @property
    def depth(self) -> int:
        return self.inner.depth

    @property
    def units(self) -> Sequence[Unit]:
        return self.inner.units

    @property
    def blocks(self) -> Sequence[Block]:
        return self.inner.blocks

    @property
    def head(self) -> Head:
        return self.inner.head

    def tapped(self, tap: Tap) -> AbstractContextManager[None]:
        return self.inner.tapped(tap)

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        return self.inner.attention_maps(inputs, embeddings)

    def position_logits(self, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
        return self.inner.position_logits(inputs, embeddings)

    def prefix(self, ids: Tensor) -> Prefix:
        return self.inner.prefix(ids)


class FurtherWords(Wrapped):
    """A model with further words: ids from :attr:`first` on stand for ``vectors`` [M, d], in their order.

    Everything else of such a word is that of the word ``ids`` int64 [M] of the model inside.
    """

    def __init__(self, inner: Model, vectors: Tensor, ids: Tensor) -> None:
        super().__init__(inner)
        self.first = inner.word_embeddings.num_embeddings
        self._ids = ids.to(inner.device)
        self._table = _FurtherRows(inner.word_embeddings, vectors)

    @property
    def word_embeddings(self) -> nn.Embedding:
        return cast(nn.Embedding, self._table)

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        return self.inner.logits(*self._read(inputs, embeddings), prefix)

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        return self.inner.attention_maps(*self._read(inputs, embeddings))

    def position_logits(self, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
        return self.inner.position_logits(*self._read(inputs, embeddings))

    def _read(self, inputs: Inputs, embeddings: Tensor | None) -> tuple[Inputs, Tensor]:
        """Return the inputs with the ids of the model inside, and the embeddings [B, N, d] of these words."""
        further = inputs.ids >= self.first
        ids = torch.where(further, self._ids[(inputs.ids - self.first).clamp(min=0)], inputs.ids)
        return replace(inputs, ids=ids), self._table(inputs.ids) if embeddings is None else embeddings


class _FurtherRows(nn.Module):
    """The table of a model with rows [M, d] after its own."""

    def __init__(self, table: nn.Embedding, rows: Tensor) -> None:
        super().__init__()
        self._own = table
        self._rows = rows.to(table.weight)
        self.num_embeddings, self.embedding_dim = table.num_embeddings + len(rows), table.embedding_dim

    @property
    def weight(self) -> Tensor:
        """The rows of the model's own table; number format and spread of a table refer to these."""
        return self._own.weight

    def forward(self, ids: Tensor) -> Tensor:
        own = self.num_embeddings - len(self._rows)
        looked_up = self._own.forward(ids.clamp(max=own - 1))  # without hooks: another thread's pass may have set some
        rows = self._rows[(ids - own).clamp(min=0).to(self._rows.device)].to(looked_up.device)
        return torch.where((ids >= own).to(looked_up.device)[..., None], rows, looked_up)


def around(classifier: Classifier, model: Wrapped, digest: str) -> Classifier:
    """Return the ``classifier`` with ``model`` around its own model; both share a lock. ``digest`` identifies it."""
    return replace(classifier, model=model, digest=digest)
