"""Agreement between attributions, against scipy and slow loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from explainlab.metrics import comparison
from explainlab.metrics.comparison import rank_correlations, sign_conflicts, spearman


@pytest.mark.parametrize("decimals", [0, 9])
@pytest.mark.parametrize("n", [2, 3, 30])
def test_tau_is_scipys(n: int, decimals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(n).normal(size=(4, n)).round(decimals)
    tau = rank_correlations(scores)
    expected = [[kendalltau(first, second).statistic for second in scores] for first in scores]
    np.testing.assert_allclose(tau, expected, atol=1e-12)
    monkeypatch.setattr(comparison, "_AT_ONCE", 20)
    np.testing.assert_array_equal(rank_correlations(scores), tau)


def test_tau_of_equal_scores_or_of_one_feature_is_not_defined() -> None:
    tau = rank_correlations(np.array([[1.0, 2, 3], [2, 2, 2], [3, 2, 1]]))
    assert (tau[0, 0], tau[0, 2]) == (1, -1)
    assert np.isnan(tau[1]).all()
    assert np.isnan(rank_correlations(np.ones((2, 1)))).all()


def test_conflicts_are_those_of_a_slow_loop() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 40))
    shares = sign_conflicts(scores)
    for i, first in enumerate(scores):
        for j, second in enumerate(scores):
            heavy = [
                (a, b)
                for a, b in zip(first, second, strict=True)
                if abs(a) / np.abs(first).sum() >= 1 / 40 and abs(b) / np.abs(second).sum() >= 1 / 40
            ]
            assert shares[i, j] == pytest.approx(np.mean([a * b < 0 for a, b in heavy]))


def test_a_share_of_exactly_one_nth_counts_and_no_common_feature_is_no_share() -> None:
    equal = np.array([[0.1, 0.1, 0.1], [-0.1, 0.1, 0.1]])
    assert sign_conflicts(equal)[0, 1] == pytest.approx(1 / 3)
    apart = sign_conflicts(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 0]]))
    assert np.isnan([apart[0, 1], apart[0, 2], apart[2, 2]]).all()


@pytest.mark.parametrize("seed", range(4))
def test_spearman_is_scipys(seed: int) -> None:
    first, second = np.random.default_rng(seed).integers(0, 4, (2, 9)).astype(float)
    rhos = spearman(first, np.stack([second, -first, np.ones(9)]))
    assert rhos[:2] == pytest.approx([spearmanr(first, second).statistic, -1])
    assert np.isnan(rhos[2])
