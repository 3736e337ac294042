"""Ranks and tau of three answers in closed form, and their intervals beside a slow loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from explainlab.analyses.three_answers import analysis
from explainlab.analyses.three_answers.analysis import Compared, compared

ONE, TWO = (1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 1.0, 3.0, 5.0, 4.0)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "RESAMPLES", 150)


def alone(plain: tuple[float, ...], masked: tuple[float, ...], faithful: tuple[float, ...], higher=True) -> Compared:
    """Compare the answers of a seed and a text."""
    return compared(np.array([plain, masked])[:, None, None, :], np.array([faithful]), higher)


def test_the_same_order_gives_1_and_the_opposite_one_minus_1() -> None:
    taus = alone(ONE, tuple(10 * value for value in ONE), ONE[::-1]).taus.value
    assert taus == pytest.approx(np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 1]]))


def test_tau_of_hand_made_values() -> None:
    """Reverse two of ten pairs: (8 - 2) / 10."""
    assert alone(ONE, TWO, ONE).taus.value[0, 1] == pytest.approx(0.6)


def test_ties_count_as_in_scipy() -> None:
    tied = (1.0, 1.0, 2.0, 3.0, 3.0)
    found = alone(ONE, tied, (0.0, 5.0, 5.0, 1.0, 5.0))
    assert found.taus.value[0, 1] == pytest.approx(kendalltau(ONE, tied).statistic)
    assert found.taus.value[1, 2] == pytest.approx(kendalltau(tied, (0, 5, 5, 1, 5)).statistic)
    assert found.ranks.value[1].tolist() == [4.5, 4.5, 3, 1.5, 1.5]


def test_what_differs_by_rounding_alone_is_tied() -> None:
    assert alone((0.3, 0.1 + 0.2, 0.5), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)).ranks.value[0].tolist() == [2.5, 2.5, 1]


def test_a_metric_of_which_less_is_better_turns_the_order_of_erasure_around() -> None:
    found = alone(ONE, TWO, ONE, higher=False)
    assert found.taus.value[0] == pytest.approx([1, 0.6, -1])
    assert found.ranks.value.tolist() == [[1, 2, 3, 4, 5], [2, 1, 3, 5, 4], [5, 4, 3, 2, 1]]
    assert found.means.value[0].tolist() == list(ONE)


def test_equal_values_have_no_tau() -> None:
    assert np.isnan(alone(ONE, (1.0,) * 5, ONE).taus.value[0, 1])


@pytest.fixture
def made_up() -> tuple[np.ndarray, np.ndarray]:
    """Draw four seeds, twelve texts and five measures that differ by less than the noise; one value is not known."""
    random = np.random.default_rng(5)
    better = np.arange(5) * 0.3
    faithful = random.normal(better, 1, (4, 5))
    faithful[2, 3] = np.nan
    return random.normal(better, 1, (2, 4, 12, 5)), faithful


def test_intervals_are_those_of_a_slow_loop(made_up: tuple[np.ndarray, np.ndarray]) -> None:
    erased, faithful = made_up
    found = compared(erased, faithful, True, seed=7)
    random, taus, ranks, means = np.random.default_rng(7), [], [], []
    for _ in range(150):
        seeds, texts = random.integers(4, size=4), random.integers(12, size=12)
        values = [erased[kind][seeds][:, texts].reshape(-1, 5).mean(axis=0) for kind in (0, 1)]
        values.append(np.nanmean(faithful[seeds], axis=0))
        means.append(values)
        taus.append([[kendalltau(a, b).statistic for a in values] for b in values])
        ranks.append([rankdata(-own) for own in values])
    for ends, slow in zip(found, (means, ranks, taus), strict=True):
        low, high = np.percentile(slow, [2.5, 97.5], axis=0)
        assert ends.low == pytest.approx(low)
        assert ends.high == pytest.approx(high)
    assert found.means.value[2] == pytest.approx(np.nanmean(faithful, axis=0))


def test_fewer_than_three_seeds_give_no_interval_of_what_only_they_vary(
    made_up: tuple[np.ndarray, np.ndarray],
) -> None:
    erased, faithful = made_up
    found = compared(erased[:, :2], faithful[:2], True)
    for ends in found:
        assert np.isnan(ends.low[2]).all()
        assert np.isfinite(ends.low[:2, :2]).all()
    assert np.isnan(found.taus.high[:, 2]).all()
    whole = erased[:, :2].mean(axis=(1, 2))
    assert (found.means.low[:2] < whole).all()
    assert (whole < found.means.high[:2]).all()


def test_a_measure_without_faithfulness_has_no_tau_by_it(made_up: tuple[np.ndarray, np.ndarray]) -> None:
    erased, faithful = made_up
    faithful[:, 1] = np.nan
    found = compared(erased, faithful, True)
    assert np.isnan(found.taus.value[0, 2])
    assert np.isnan(found.taus.low[0, 2])
    assert np.isfinite(found.taus.value[0, 1])
