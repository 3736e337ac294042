"""MaSF against slow loops and scipy, and on drawn numbers with a known answer."""

from __future__ import annotations

import math

import numpy as np
import scipy.stats
import torch

from explainlab.analyses.masked_distribution.analysis import Masf, fisher, simes


def test_simes_and_fisher_are_those_of_scipy() -> None:
    p = np.random.default_rng(0).uniform(1e-6, 1, (20, 7))
    for own, mine in zip(p, simes(p), strict=True):
        assert math.isclose(mine, scipy.stats.false_discovery_control(own).min(), rel_tol=1e-12)
        assert math.isclose(mine, min(len(own) * value / rank for rank, value in enumerate(sorted(own), 1)))
    for own, mine in zip(p, fisher(p), strict=True):
        assert math.isclose(mine, scipy.stats.combine_pvalues(own, "fisher").statistic, rel_tol=1e-12)


def slow(reference: np.ndarray, text: np.ndarray) -> float:
    """Return the p-value of ``text`` [layers, units] among ``reference`` [m, layers, units], by loops over it."""
    m, layers, units = reference.shape

    def layer_value(own: np.ndarray, layer: int, itself: int) -> float:
        p = []
        for unit in range(units):
            known = reference[:, layer, unit]
            small, large = sum(known <= own[layer, unit]), sum(known >= own[layer, unit])
            p.append(min(1.0, 2 * (min(small, large) + itself) / (m + 1)))
        return float(scipy.stats.false_discovery_control(p).min())

    def statistic(own: np.ndarray, itself: int) -> float:
        total = 0.0
        for layer in range(layers):
            value = layer_value(own, layer, itself)
            known = [layer_value(other, layer, 0) for other in reference]
            small = sum(other <= value * (1 + 1e-12) for other in known)
            total -= 2 * math.log((small + itself) / (m + 1))
        return total

    value = statistic(text, 1)
    return (1 + sum(statistic(other, 0) >= value - 1e-9 for other in reference)) / (m + 1)


def test_p_values_are_those_of_loops() -> None:
    rng = np.random.default_rng(1)
    reference = rng.normal(size=(25, 2, 4)).round(1).astype(np.float32)  # with ties
    texts = (
        rng.normal(size=(12, 2, 4)).round(1).astype(np.float32)
        * np.linspace(0.5, 4, 12, dtype=np.float32)[:, None, None]
    )
    found = Masf(torch.from_numpy(reference)).p_values(torch.from_numpy(texts))
    assert np.allclose(found, [slow(reference, text) for text in texts])


def test_texts_like_the_reference_are_told_apart_in_one_of_twenty_cases() -> None:
    """Draw independent and dependent units; the reference is drawn too, which adds as much chance again."""
    generator = torch.Generator().manual_seed(2)
    for shared in (0.0, 1.0):
        counts = []
        for _ in range(8):
            drawn = torch.randn(600, 3, 24, generator=generator)
            drawn = drawn + shared * torch.randn(600, 1, 1, generator=generator)
            counts.append((Masf(drawn[:300]).p_values(drawn[300:]) <= 0.05).mean())
        assert abs(np.mean(counts) - 0.05) < 3 * math.sqrt(2 * 0.05 * 0.95 / (8 * 300))


def test_what_is_unlike_it_is_told_apart_on_either_side() -> None:
    generator = torch.Generator().manual_seed(3)
    masf = Masf(torch.randn(200, 3, 24, generator=generator))
    drawn = torch.randn(100, 3, 24, generator=generator)
    for moved in (drawn + 4, drawn - 4, 4 * drawn):
        assert (masf.p_values(moved) <= 0.05).mean() > 0.95
    assert masf.p_values(drawn + 100).min() == 1 / 201, "no p-value is 0"
