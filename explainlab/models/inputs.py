"""Batches of tokenised texts as models read them, and beginnings that texts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import transformers
from torch import Tensor


class Tokens(Protocol):
    """A text of N tokens as a model reads it, for example an :class:`explainlab.text.encoding.Encoding`."""

    @property
    def ids(self) -> Sequence[int] | np.ndarray:
        """Token ids, whole numbers [N]."""

    @property
    def types(self) -> Sequence[int] | np.ndarray:
        """The segment of every token, whole numbers [N]."""

    @property
    def attention(self) -> np.ndarray:
        """bool [N]: False on padding."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Unpadded:
    """A text without padding: the ``ids`` and ``types`` of its N tokens."""

    ids: Sequence[int] | np.ndarray
    types: Sequence[int] | np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attention(self) -> np.ndarray:
        """bool [N]: nothing is padding."""
        return np.ones(len(self), dtype=bool)


@dataclass(frozen=True)
class Inputs:
    """A batch of B texts, right-padded to N tokens: ``ids`` and ``types`` int64 [B, N], ``attention`` bool [B, N]."""

    ids: Tensor
    types: Tensor
    attention: Tensor
    padded: bool

    @classmethod
    def of(cls, encodings: Sequence[Tokens], pad_id: int, device: torch.device) -> Inputs:
        """Collate ``encodings``; shorter ones are padded on the right."""
        shape = len(encodings), max(len(e) for e in encodings)
        ids, types, attention = np.full(shape, pad_id), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        for row, e in enumerate(encodings):
            real = slice(len(e))
            ids[row, real], types[row, real], attention[row, real] = e.ids, e.types, e.attention
        return cls(
            ids=torch.as_tensor(ids, device=device),
            types=torch.as_tensor(types, device=device),
            attention=torch.as_tensor(attention, device=device),
            padded=not attention.all(),
        )

    @property
    def last(self) -> Tensor:
        """int64 [B]: the position of each text's last real token."""
        return self.attention.sum(dim=1) - 1

    def repeat(self, *counts: int) -> Inputs:
        """Repeat each of the B texts ``counts`` [B] times; a single text without copying."""
        if len(counts) == 1:
            return self._with(lambda tensor: tensor.expand(counts[0], -1))
        each = torch.tensor(counts, device=self.ids.device)
        return self._with(lambda tensor: tensor.repeat_interleave(each, dim=0, output_size=sum(counts)))

    def _with(self, change: Callable[[Tensor], Tensor]) -> Inputs:
        return Inputs(change(self.ids), change(self.types), change(self.attention), self.padded)


def embeds_segments(config: Any) -> bool:
    """Return whether a network of ``config`` tells the two texts of a pair apart by segments.

    A model type without segments keeps any value under this name, also if it is no number.
    """
    segments = getattr(config, "type_vocab_size", 0)
    return isinstance(segments, int) and segments > 1


Cache = transformers.DynamicCache
"""A decoder's keys and values of the tokens that it has read."""

LEAST_PREFIX = 16
"""Fewest common tokens for which reading them separately pays."""
FEWEST_TEXTS = 4
"""Fewest texts for which reading their common tokens separately pays."""


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first ``length`` tokens of a text: keys and values [1, heads, length, d_h] of every layer, bottom first."""

    length: int
    layers: tuple[tuple[Tensor, Tensor], ...]

    def cache(self, size: int) -> transformers.DynamicCache:
        """Return the cache from which ``size`` texts with this beginning start; nothing is copied."""
        cache = transformers.DynamicCache()  # without the configuration: the mask handles a sliding window
        for keys, values in self.layers:
            layer = transformers.cache_utils.DynamicLayer()
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys.expand(size, -1, -1, -1), values.expand(size, -1, -1, -1)
            cache.layers.append(layer)
        return cache
