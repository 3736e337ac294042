"""MaSF: a measure of how unusual a text is among reference texts, by the outputs of a model's layers.

Source: Haroush et al. 2022 (Simes within a layer, Fisher over layers, both calibrated), as Madsen et al. 2023 (arXiv
2310.07819) use it on masked texts. Ours differs in two things: a feature is what the head's row holds in a unit, where
theirs is the largest value over the tokens, which hardly sees masks; and a layer is unusual where Simes' value is
small, where their code takes a large one for unusual too.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def simes(p: np.ndarray) -> np.ndarray:
    """Return Simes' combination of p-values float64 [..., n] over the last axis: min_i n p_(i) / i, float64 [...]."""
    n = p.shape[-1]
    smallest: np.ndarray = (np.sort(p, axis=-1) * (n / np.arange(1, n + 1))).min(axis=-1)
    return smallest


def fisher(p: np.ndarray) -> np.ndarray:
    """Return Fisher's statistic of p-values float64 [..., n] above 0 over the last axis: -2 Σ ln p, float64 [...]."""
    statistic: np.ndarray = -2 * np.log(p).sum(axis=-1)
    return statistic


class Masf:
    """The p-values of texts among m reference texts, from their features float32 [n, layers, units].

    Of a unit: twice the share of the reference texts with so large a value, or with so small a one, whichever is less.
    Of a layer: Simes over its units, and the share of the reference texts for which that is as small. Of a text: Fisher
    over the layers, and the share of the reference texts for which that is as large. Every text counts itself among the
    reference texts, so that no p-value is 0.
    """

    def __init__(self, reference: Tensor) -> None:
        """Sort the ``reference``, the features [m, layers, units]."""
        self._m = len(reference)
        self._units = [layer.T.contiguous().sort(dim=-1).values for layer in reference.unbind(1)]
        own = self._simes(reference, itself=0)
        self._simes_values = np.sort(own, axis=0)
        self._statistics = np.sort(fisher(self._layers(own, itself=0)))

    def p_values(self, features: Tensor) -> np.ndarray:
        """Return the p-value of every text, float64 [n] in (0, 1]."""
        statistics = fisher(self._layers(self._simes(features, itself=1), itself=1))
        as_large = self._m - np.searchsorted(self._statistics, statistics, side="left")
        p: np.ndarray = (as_large + 1) / (self._m + 1)
        return p

    def _simes(self, features: Tensor, itself: int) -> np.ndarray:
        """Return Simes' values, float64 [n, layers]; ``itself``: 1 for texts outside the reference texts, else 0."""
        values = [simes(self._two_sided(*own, itself)) for own in zip(features.unbind(1), self._units, strict=True)]
        return np.stack(values, axis=1)

    def _two_sided(self, values: Tensor, known: Tensor, itself: int) -> np.ndarray:
        """Return p-values float64 [n, units] of a layer's ``values`` [n, units] among the ``known``, sorted [units, m].

        The denominator is m + 1 for reference texts too: equal ranks have to be ties.
        """
        own = values.T.contiguous()
        as_small = torch.searchsorted(known, own, right=True)
        as_large = self._m - torch.searchsorted(known, own)
        p = 2 * (torch.minimum(as_small, as_large) + itself).T.double() / (self._m + 1)
        return p.clamp(max=1).numpy()

    def _layers(self, simes_values: np.ndarray, itself: int) -> np.ndarray:
        """Return for each of the ``simes_values`` [n, layers] the share that is as small, float64 [n, layers]."""
        columns = zip(self._simes_values.T, simes_values.T, strict=True)
        as_small = [np.searchsorted(known, own, side="right") for known, own in columns]
        return (np.stack(as_small, axis=1) + itself) / (self._m + 1)
