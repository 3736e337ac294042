"""Differences between methods: tests against scipy, examples worked by hand and slow loops."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from explainlab.metrics import comparison
from explainlab.metrics.comparison import (
    CriticalDifference,
    bootstrap,
    compare,
    critical_differences,
    holm,
    means_of,
    signed_rank_p,
)
from tests.failures import check_each


def critical_difference(values: np.ndarray, higher: bool) -> CriticalDifference:
    """Return the comparison by a single metric."""
    (tested,) = critical_differences([values], [higher])
    return tested


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Tests ---------------------------------------------------------------------------------------------------------------


def test_the_signed_rank_test_worked_by_hand() -> None:
    """Among the ranks 1 to 5 only that of -5 is negative; 10 of the 32 sets of ranks have a sum of at most 5."""
    assert signed_rank_p(np.array([[1.0, 2, 3, 4, -5]])) == pytest.approx(2 * 10 / 32)
    assert signed_rank_p(np.array([[1.0, 2, 3, 4, 5]])) == pytest.approx(2 / 32)
    assert signed_rank_p(np.array([[0.0, 0, 0, 2, 1]])) == pytest.approx(2 / 4), "zeros have no sign to turn"


def test_the_signed_rank_test_is_scipys() -> None:
    def check(case: tuple[int, int]) -> None:
        n, decimals = case
        rows = rng(n).normal(0.3, 1, size=(4, n)).round(decimals)
        expected = [np.nan if not row.any() else wilcoxon(row, zero_method="zsplit").pvalue for row in rows]
        np.testing.assert_allclose(signed_rank_p(rows), expected, rtol=1e-9)

    check_each(check, product((1, 2, 5, 9, 14, 30, 50, 51, 200), (0, 1, 9)))


@pytest.mark.parametrize("n", [8, 40, 120])
def test_texts_without_a_value_are_left_out_of_the_test(n: int) -> None:
    rows = rng(1).normal(0.2, 1, size=(3, n))
    rows[1, : n // 2] = np.nan
    rows[2] = np.nan
    expected = [wilcoxon(row[~np.isnan(row)], zero_method="zsplit").pvalue for row in rows[:2]]
    np.testing.assert_allclose(signed_rank_p(rows), [*expected, np.nan], rtol=1e-9)


def test_no_row_changes_the_p_of_another() -> None:
    rows = rng(2).normal(size=(3, 20))
    tied = rng(3).integers(-2, 3, size=(1, 20)).astype(float)
    np.testing.assert_array_equal(signed_rank_p(np.concatenate([rows, tied]))[:3], signed_rank_p(rows))


def test_holm_worked_by_hand() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm(np.array([0.5, np.nan, 0.01, 0.4])), [0.8, np.nan, 0.03, 0.8])
    assert not holm(np.array([])).size


PAIRS = list(combinations(range(4), 2))


# Against the best ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("higher", [True, False])
def test_differences_to_the_best_are_those_of_a_slow_loop(higher: bool) -> None:
    sign = 1 if higher else -1
    values = sign * (rng(4).normal(size=(5, 60)) + np.array([0, 0.1, 1, 0.9, 5])[:, None])
    (compared,) = compare([values], [higher], 4)
    assert compared.best == 2, "the last row is a control"
    for i, row in enumerate(values):
        means, to_best = compared.means, compared.to_best
        assert (means.mean[i], means.low[i], means.high[i]) == pytest.approx(bootstrap(row))
        if i == 2:
            continue
        difference = [sign * (a - b) for a, b in zip(values[2], row, strict=True)]
        assert (to_best.mean[i], to_best.low[i], to_best.high[i]) == pytest.approx(bootstrap(difference))
    pairs = {pair: wilcoxon(values[pair[0]] - values[pair[1]], zero_method="zsplit").pvalue for pair in PAIRS}
    tested, largest = {}, 0.0
    for place, pair in enumerate(sorted(pairs, key=pairs.__getitem__)):
        largest = max(largest, min(1.0, pairs[pair] * (len(pairs) - place)))
        tested[pair] = max(largest, friedmanchisquare(*values[:4]).pvalue)
    corrected = {i: tested[min(i, 2), max(i, 2)] for i in (0, 1, 3)}
    corrected[4] = wilcoxon(values[2] - values[4], zero_method="zsplit").pvalue
    assert {i: compared.p[i] for i in corrected} == pytest.approx(corrected)
    assert [compared.told_apart(i) for i in range(5)] == [
        None if i == 2 else bool(corrected[i] < 0.05) for i in range(5)
    ]
    assert (compared.told_apart(0), compared.told_apart(3)) == (True, False)
    assert compared.to_best.mean[4] < 0, "the control is better than the best method"


def test_undefined_texts_are_counted_and_left_out() -> None:
    values = rng(5).normal(size=(3, 30))
    values[0] += 2
    values[1, :7] = np.nan
    values[2] = np.nan
    (compared,) = compare([values], [True], 3)
    assert compared.undefined.tolist() == [0, 7, 30]
    assert compared.paired.tolist() == [30, 23, 0]
    assert compared.means.mean[1] == pytest.approx(values[1, 7:].mean())
    assert compared.to_best.mean[1] == pytest.approx((values[0, 7:] - values[1, 7:]).mean())
    assert compared.means.low[1] < compared.means.mean[1] < compared.means.high[1]
    assert np.isnan([compared.means.mean[2], compared.to_best.mean[2], compared.p[2]]).all()
    assert [compared.told_apart(i) for i in range(3)] == [None, True, None]


@pytest.mark.parametrize("texts", [1, 2, 8, 70])
def test_equal_values_everywhere_have_no_p(texts: int) -> None:
    (compared,) = compare([np.full((3, texts), 0.25)], [True], 3)
    assert compared.best == 0
    assert np.isnan(compared.p).all()
    assert [compared.told_apart(i) for i in range(3)] == [None, False, False]
    assert np.isnan(compared.means.low).all()
    assert not compared.to_best.mean.any()


def test_no_value_at_all() -> None:
    (compared,) = compare([np.full((2, 4), np.nan)], [False], 2)
    assert compared.best is None
    assert [compared.told_apart(i) for i in range(2)] == [None, None]


def test_metrics_share_the_correction_and_nothing_else() -> None:
    first, second = rng(6).normal(size=(2, 3, 25)) + np.array([0, 0.4, 0.8])[None, :, None]
    second[0, 0] = np.nan
    together = compare([first, second], [True, False], 3)
    alone = [*compare([first], [True], 3), *compare([second], [False], 3)]
    for compared, single in zip(together, alone, strict=True):
        np.testing.assert_allclose(compared.to_best.low, single.to_best.low)
        np.testing.assert_allclose(compared.critical.ranks, single.critical.ranks)
    pairs = list(combinations(range(3), 2))
    raw = [signed_rank_p(np.array([values[i] - values[j] for i, j in pairs])) for values in (first, second)]
    own = [[compared.critical.p[pair] for pair in pairs] for compared in together]
    floor = [[compared.critical.friedman] * 3 for compared in together]
    np.testing.assert_allclose(np.concatenate(own), np.maximum(holm(np.concatenate(raw)), np.concatenate(floor)))
    assert own[0][1] > alone[0].critical.p[0, 2], "six tests are corrected for, not three"


# Critical difference -------------------------------------------------------------------------------------------------


def test_a_critical_difference_worked_by_hand() -> None:
    """Three methods in the same order on five texts: Q = 12 / (5·3·4) · (5² + 10² + 15²) - 3·5·4 = 10, p = e^-5."""
    values = np.array([[3.0, 2, 1]] * 5).T + 0.01 * np.arange(5)
    tested = critical_difference(values, True)
    assert tested.ranks.tolist() == [1, 2, 3]
    assert tested.friedman == pytest.approx(np.exp(-5))
    assert tested.p is not None
    assert tested.p[0, 1] == tested.p[0, 2] == tested.p[1, 2] == pytest.approx(3 * 2 / 32)
    assert tested.groups == ((0, 1, 2),), "five texts cannot tell any pair apart"
    assert critical_difference(-values, False).ranks.tolist() == [1, 2, 3]


def test_groups_are_of_methods_none_of_whose_pairs_differs() -> None:
    values = rng(7).normal(size=(5, 80)) + np.array([0, 0.25, 0.5, 3, 3.05])[:, None]
    tested = critical_difference(values, True)
    ranks = np.mean([rankdata(-column) for column in values.T], axis=0)
    np.testing.assert_allclose(tested.ranks, ranks)
    assert tested.friedman == pytest.approx(friedmanchisquare(*values).pvalue)
    pairs = list(combinations(range(5), 2))
    expected = holm(np.array([wilcoxon(values[i] - values[j], zero_method="zsplit").pvalue for i, j in pairs]))
    assert tested.p is not None
    np.testing.assert_allclose([tested.p[pair] for pair in pairs], expected)
    for group in tested.groups:
        assert all(tested.p[pair] >= 0.05 for pair in combinations(group, 2))
        assert list(group) == sorted(group, key=lambda i: ranks[i])
    same = {pair for pair, p in zip(pairs, expected, strict=True) if p >= 0.05}
    assert {tuple(sorted(pair)) for group in tested.groups for pair in combinations(group, 2)} == same
    assert not any(set(a) < set(b) for a in tested.groups for b in tested.groups)


def test_only_texts_with_all_values_are_ranked_and_ties_share_a_rank() -> None:
    values = np.array([[1.0, 1, 1, 1, 1, 9], [1, 1, 1, 1, 1, np.nan], [0, 0, 0, 0, 0, 0]])
    tested = critical_difference(values, True)
    assert (tested.texts, tested.ranks.tolist()) == (5, [1.5, 1.5, 3])


def test_equal_values_are_one_group() -> None:
    tested = critical_difference(np.full((4, 12), 2.0), True)
    assert (tested.friedman, tested.groups, tested.none) == (None, ((0, 1, 2, 3),), "")


def test_noise_is_one_group() -> None:
    tested = critical_difference(rng(8).normal(size=(4, 40)), True)
    assert tested.friedman is not None
    assert tested.friedman > 0.05
    assert tested.groups == (tuple(np.argsort(tested.ranks).tolist()),)


@pytest.mark.parametrize(("shape", "why"), [((2, 30), "3 methods"), ((3, 4), "5 texts"), ((3, 0), "5 texts")])
def test_too_little_for_a_diagram_is_told(shape: tuple[int, int], why: str) -> None:
    tested = critical_difference(rng(9).normal(size=shape), True)
    assert why in tested.none
    assert tested.groups == ()
    assert len(tested.ranks) == shape[0]
    values, pairs = rng(9).normal(size=shape), list(combinations(range(shape[0]), 2))
    expected = holm(signed_rank_p(np.array([values[i] - values[j] for i, j in pairs])))
    np.testing.assert_allclose([tested.p[pair] for pair in pairs], expected)


def test_pairs_are_tested_over_the_texts_that_both_have() -> None:
    """The third method has a value of four texts: the first two still differ significantly."""
    values = rng(12).normal(size=(3, 30)) + np.array([1.5, 0, 0])[:, None]
    values[2, 4:] = np.nan
    tested = critical_difference(values, True)
    assert (tested.texts, tested.friedman) == (4, None)
    raw = [wilcoxon(values[0] - values[1]).pvalue, *(wilcoxon(values[i, :4] - values[2, :4]).pvalue for i in (0, 1))]
    np.testing.assert_allclose([tested.p[pair] for pair in combinations(range(3), 2)], holm(np.array(raw)))
    assert tested.p[0, 1] < 0.05 < tested.p[0, 2]


def test_noise_tells_no_pair_apart_in_19_of_20_tables() -> None:
    """Tables of any numbers: 20 of each kind, with several metrics, methods, and few or more texts."""

    def check(case: tuple[str, tuple[int, int, int]]) -> None:
        kind, shape = case
        random = rng(13)
        draws: dict[str, Callable[..., np.ndarray]] = {
            "normal": random.normal,
            "skewed": random.exponential,
            "heavy tails": random.standard_cauchy,
            "right or wrong": lambda size: random.integers(0, 2, size).astype(float),
            "mostly zero": lambda size: np.where(random.random(size) < 0.15, random.normal(size=size), 0.0),
        }
        tables = (critical_differences([*draws[kind](size=shape)], [True] * shape[0]) for _ in range(20))
        assert sum(any((tested.p < 0.05).any() for tested in table) for table in tables) <= 3

    check_each(
        check,
        [
            ("normal", (3, 5, 20)),
            ("normal", (1, 2, 8)),
            ("skewed", (2, 4, 10)),
            ("heavy tails", (2, 4, 25)),
            ("right or wrong", (2, 4, 30)),
            ("mostly zero", (2, 4, 40)),
        ],
    )


# Some at a time ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["all known", "some unknown"])
def many(request: pytest.FixtureRequest) -> np.ndarray:
    values = rng(10).integers(-4, 5, size=(9, 300)) / 3
    values[2, ::7] = np.nan if request.param else 0.1
    return values


def test_numbers_are_the_same_however_few_are_in_memory(many: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers() -> list[np.ndarray]:
        told = compare([many, many[::-1]], [True, False], 6)
        tested = critical_difference(many, True)
        (first, _), means = told, means_of(lambda: many, *many.shape)
        assert tested.p is not None
        tests = [first.p, tested.ranks, tested.p, np.array([tested.friedman])]
        return [first.means.low, first.to_best.high, means.mean, means.low, means.high, means.n, *tests]

    whole = numbers()
    monkeypatch.setattr(comparison, "_RESAMPLES_AT_ONCE", 3_000)
    monkeypatch.setattr(comparison, "_LITTLE", 700)
    monkeypatch.setattr(comparison, "_RANKED", 7)
    for some, all_ in zip(numbers(), whole, strict=True):
        np.testing.assert_allclose(some, all_, rtol=1e-12)


def test_friedmans_test_of_tied_values_is_scipys(many: np.ndarray) -> None:
    common = many[:, ~np.isnan(many).any(axis=0)]
    assert critical_difference(many, False).friedman == pytest.approx(friedmanchisquare(*common).pvalue, rel=1e-9)
