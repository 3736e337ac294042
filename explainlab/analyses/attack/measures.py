"""How far an attacked map is from the original one."""

from __future__ import annotations

import numpy as np

from explainlab.text.units import Units


def normalised(scores: np.ndarray, units: Units) -> np.ndarray:
    """float64 [n_features]: |score| of the content features as shares of their sum; special tokens get 0.

    NaN for a map that is 0 everywhere.
    """
    sizes = np.abs(scores[units.content])
    total = sizes.sum()
    return units.spread(sizes / total if total else np.full(len(sizes), np.nan))


def top(shares: np.ndarray, units: Units, k: int) -> np.ndarray:
    """int64 [k]: the content features with the largest ``shares`` [n_features], the largest first.

    Of equal ones the first of the text comes first.
    """
    chosen: np.ndarray = units.content[np.argsort(-shares[units.content], kind="stable")[:k]]
    return chosen


def rank_change(before: np.ndarray, after: np.ndarray) -> float:
    """The share of the places of two top lists of one length, both in their order, that differ."""
    return float(np.mean(before != after))


def top_k_sum_change(before: np.ndarray, after: np.ndarray, listed: np.ndarray) -> float:
    """Σ before - after over the features ``listed`` [k]; both [n_features] are normalised maps."""
    return float((before[listed] - after[listed]).sum())
