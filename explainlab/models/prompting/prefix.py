"""The common beginning of many texts, read once: a causal decoder's keys and values of it."""

from __future__ import annotations

from dataclasses import dataclass

import transformers
from torch import Tensor

Cache = transformers.DynamicCache
"""A decoder's keys and values of what it has read."""

LEAST = 16
"""Fewest common tokens for which reading them separately pays."""
FEW = 4
"""Fewest texts for which it pays."""


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first ``length`` tokens of a text: keys and values [1, heads, length, d_h] of every layer, bottom first."""

    length: int
    layers: tuple[tuple[Tensor, Tensor], ...]

    def cache(self, size: int) -> transformers.DynamicCache:
        """What ``size`` texts that begin so start from; nothing is copied."""
        cache = transformers.DynamicCache()  # without the configuration: a sliding window is the mask's matter alone
        for keys, values in self.layers:
            layer = transformers.cache_utils.DynamicLayer()
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys.expand(size, -1, -1, -1), values.expand(size, -1, -1, -1)
            cache.layers.append(layer)
        return cache
