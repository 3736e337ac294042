"""How far an attacked map is from the original one."""

from __future__ import annotations

import numpy as np


def normalised(scores: np.ndarray, among: np.ndarray) -> np.ndarray:
    """float64 [n_features]: |score| of the features ``among`` (int64, by place) as shares of their sum; others get 0.

    NaN for a map that is 0 everywhere.
    """
    sizes = np.abs(scores[among])
    total = sizes.sum()
    shares = np.zeros(len(scores))
    shares[among] = sizes / total if total else np.nan
    return shares


def top(shares: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
    """int64 [k]: the features ``among`` with the largest ``shares`` [n_features], the largest first.

    Of equal ones the first of the text comes first.
    """
    chosen: np.ndarray = among[np.argsort(-shares[among], kind="stable")[:k]]
    return chosen


def rank_change(before: np.ndarray, after: np.ndarray) -> float:
    """The share of the places of two top lists of one length, both in their order, that differ."""
    return float(np.mean(before != after))


def top_k_sum_change(before: np.ndarray, after: np.ndarray, listed: np.ndarray) -> float:
    """Σ before - after over the features ``listed`` [k]; both [n_features] are normalised maps."""
    return float((before[listed] - after[listed]).sum())
