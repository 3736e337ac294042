"""Means with intervals."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.metrics.comparison import RESAMPLES, bands, bootstrap


def test_the_interval_is_that_of_a_slow_loop() -> None:
    values = np.random.default_rng(1).normal(size=37)
    rng = np.random.default_rng(5)
    means = sorted(np.mean([values[i] for i in rng.integers(37, size=37)]) for _ in range(RESAMPLES))
    mean, low, high = bootstrap(values, 5)
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=0.03)
    assert bootstrap(values, 5) == (mean, low, high) != bootstrap(values, 6)


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    intervals = [bootstrap(rng.exponential(size=60), seed)[1:] for seed in range(300)]
    assert 0.88 <= np.mean([low <= 1 <= high for low, high in intervals]) <= 0.98


@pytest.mark.parametrize("values", [[2.0], [2.0, 2.0], [2.0] * 50])
def test_one_or_equal_values_have_no_interval(values: list[float]) -> None:
    assert bootstrap(values) == (2.0, None, None)


def test_no_values_have_no_mean() -> None:
    assert bootstrap([]) == (None, None, None)


def test_many_values_are_drawn_in_parts() -> None:
    values = np.random.default_rng(0).normal(3, 2, 9_000)
    mean, low, high = bootstrap(values)
    assert high - low == pytest.approx(2 * 1.96 * 2 / np.sqrt(len(values)), rel=0.1)
    assert low < mean < high


def test_bands_are_the_intervals_of_their_columns() -> None:
    values = np.random.default_rng(2).normal(size=(23, 4))
    values[:, 2] = 7
    mean, low, high = bands(values, 3)
    for column in (0, 1, 3):
        assert bootstrap(values[:, column], 3) == pytest.approx((mean[column], low[column], high[column]))
    assert (mean[2], low[2], high[2]) == pytest.approx((7, 7, 7))
    assert [row.tolist() for row in bands(values[:1])] == [values[0].tolist()] * 3


def test_values_that_are_not_known_are_left_out_of_every_resample() -> None:
    values = np.random.default_rng(6).normal(size=(31, 3))
    values[:9, 1] = values[:, 2] = np.nan
    mean, low, high = bands(values, 3)
    rng = np.random.default_rng(3)
    means = [np.nanmean(values[picks, 1]) for picks in rng.integers(31, size=(RESAMPLES, 31))]
    assert mean[1] == pytest.approx(values[9:, 1].mean())
    assert (low[1], high[1]) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])))
    assert (mean[0], low[0], high[0]) == pytest.approx(bootstrap(values[:, 0], 3))
    assert np.isnan([mean[2], low[2], high[2]]).all()


def test_an_interval_of_many_texts_is_about_the_papers() -> None:
    values = np.random.default_rng(4).beta(5, 2, size=500)
    mean, low, high = bootstrap(values)
    around = 1.96 * values.std(ddof=1) / np.sqrt(500)
    assert (mean - low, high - mean) == pytest.approx((around, around), rel=0.1)
