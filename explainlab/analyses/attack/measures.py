"""Measures of the distance between an attacked map and the original one."""

from __future__ import annotations

import numpy as np


def normalised(scores: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return float64 [n_features]: |score| of the features ``among`` (int64, by place) as a share of their sum, else 0.

    NaN for a map that is 0 everywhere.
    """
    sizes = np.abs(scores[among])
    total = sizes.sum()
    shares = np.zeros(len(scores))
    shares[among] = sizes / total if total else np.nan
    return shares


def top(shares: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
    """Return int64 [k]: the features ``among`` with the largest ``shares`` [n_features], the largest first.

    Among equal ones, the first in the text comes first.
    """
    chosen: np.ndarray = among[np.argsort(-shares[among], kind="stable")[:k]]
    return chosen


def rank_change(before: np.ndarray, after: np.ndarray) -> float:
    """Return the share of places at which two ordered top lists of equal length differ."""
    return float(np.mean(before != after))


def top_k_sum_change(before: np.ndarray, after: np.ndarray, listed: np.ndarray) -> float:
    """Return Σ before - after over the features ``listed`` [k] of two normalised maps [n_features]."""
    return float((before[listed] - after[listed]).sum())
