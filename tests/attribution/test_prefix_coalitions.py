"""Readings of progressive inference, against enumeration of every pass, closed forms, and Shapley's axioms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from explainlab.attribution.methods import progressive
from explainlab.attribution.methods.kernel_shap import constrained
from explainlab.attribution.methods.progressive import (
    MIXED,
    RESOLUTION,
    draws,
    normal_equations,
    occurrences,
    optimized_masses,
    reading_weights,
    shapley_masses,
)
from tests.attribution.methods.test_kernel_shap import Game

small = pytest.mark.parametrize("n", range(2, 8))
every_masses = pytest.mark.parametrize("masses_of", [shapley_masses, optimized_masses])


def drawn(n: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Every (i, j) and every coalition of size i with last feature j, features counted from 1."""
    for j in range(1, n + 1):
        for i in range(1, min(j, n - 1) + 1):
            for others in combinations(range(1, j), i - 1):
                yield i, j, (*others, j)


def read(coalition: tuple[int, ...], n: int) -> list[tuple[int, ...]]:
    """The coalitions that the pass of a drawn one reads, the full one left out."""
    kept = (*coalition, *range(coalition[-1] + 1, n + 1))
    return [kept[:size] for size in range(1, len(kept) + 1) if size < n]


def mask(coalition: tuple[int, ...], n: int) -> np.ndarray:
    return np.isin(np.arange(1, n + 1), coalition)


def kernel(n: int, size: int) -> float:
    """The Shapley kernel of one coalition."""
    return 1 / (size * (n - size)) / sum(1 / (s * (n - s)) for s in range(1, n)) / comb(n, size)


def random_masses(n: int) -> np.ndarray:
    i, j = np.ogrid[1:n, 1 : n + 1]
    masses = np.random.default_rng(n).random((n - 1, n)) * (i <= j)
    return masses / masses.sum()


def every_pass(n: int, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All passes bool [B, n] and their probabilities [B]."""
    found = [(read_mask(c, n), masses[i - 1, j - 1] / comb(j - 1, i - 1)) for i, j, c in drawn(n)]
    return np.array([keep for keep, _ in found]), np.array([p for _, p in found])


def read_mask(coalition: tuple[int, ...], n: int) -> np.ndarray:
    return mask((*coalition, *range(coalition[-1] + 1, n + 1)), n)


def per_coalition(n: int, masses: np.ndarray) -> dict[tuple[int, ...], float]:
    """Return the expected number of readings of each coalition in one pass."""
    counts: dict[tuple[int, ...], float] = {}
    for i, j, coalition in drawn(n):
        for found in read(coalition, n):
            counts[found] = counts.get(found, 0) + masses[i - 1, j - 1] / comb(j - 1, i - 1)
    return counts


# Masses ---------------------------------------------------------------------------------------------------------------


@small
def test_the_shapley_kernel_by_size_and_last_feature(n: int) -> None:
    expected = np.zeros((n - 1, n))
    for size in range(1, n):
        for coalition in combinations(range(1, n + 1), size):
            expected[size - 1, coalition[-1] - 1] += kernel(n, size)
    np.testing.assert_allclose(shapley_masses(n), expected, rtol=1e-12)
    assert shapley_masses(n).sum() == pytest.approx(1, abs=1e-12)


@small
def test_occurrences_are_those_of_all_passes(n: int) -> None:
    masses = random_masses(n)
    expected = np.zeros((n - 1, n))
    for coalition, count in per_coalition(n, masses).items():
        expected[len(coalition) - 1, coalition[-1] - 1] += count
    np.testing.assert_allclose(occurrences(masses), expected, rtol=0, atol=1e-14)


@small
def test_the_rows_of_the_corrected_equations(n: int) -> None:
    """Eq. 17: all i + n − j readings of (i, j); the full text's does not count; Eq. 14: those up to j."""
    for i, j in {(i, j) for i, j, _ in drawn(n)}:
        unit = np.zeros((n - 1, n))
        unit[i - 1, j - 1] = 1 / (i + n - j)
        found = occurrences(unit)
        np.testing.assert_allclose(found, _corrected(n, i, j), rtol=0, atol=1e-14)
        assert found.sum() == pytest.approx(1 - (i == j) / n, abs=1e-12)
        assert found[:, : j - 1].sum() * (i + n - j) + 1 == pytest.approx(i, abs=1e-12)


def _corrected(n: int, i: int, j: int) -> np.ndarray:
    row = np.zeros((n - 1, n))
    for k in range(1, n):
        for last in range(1, n + 1):
            if k < i and last < j:
                row[k - 1, last - 1] = comb(last - 1, k - 1) * comb(j - last - 1, i - k - 1) / comb(j - 1, i - 1)
            elif last >= j and k == i + last - j:
                row[k - 1, last - 1] = 1
    return row / (i + n - j)


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_the_optimum_is_that_of_another_solver(n: int) -> None:
    states = sorted({(i, j) for i, j, _ in drawn(n)})
    index = tuple(np.array(states).T - 1)
    design = np.array([_corrected(n, i, j)[index] for i, j in states]).T
    wanted = shapley_masses(n)[index]
    free = lsq_linear(design, wanted, bounds=(0, np.inf), tol=1e-14)
    raw = (optimized_masses(n)[index] - MIXED / len(states)) / (1 - MIXED)
    assert raw.min() > -1e-12
    scale = design @ raw @ wanted / np.square(design @ raw).sum()
    assert np.square(design @ raw * scale - wanted).sum() == pytest.approx(2 * free.cost, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 12, RESOLUTION + 15])
@every_masses
def test_masses_are_a_distribution_that_reaches_everything(n: int, masses_of) -> None:
    masses = masses_of(n)
    reachable = np.triu(np.ones((n - 1, n), dtype=bool))
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    assert (masses[reachable] > 0).all()
    assert not masses[~reachable].any()
    assert (occurrences(masses)[reachable] > 0).all()


def distance(masses: np.ndarray) -> float:
    """The norm of Eq. 16."""
    n = masses.shape[1]
    i, j = np.ogrid[1:n, 1 : n + 1]
    return float(np.linalg.norm(occurrences(masses / (i + n - j)) - shapley_masses(n)))


@pytest.mark.parametrize("n", [5, 12, RESOLUTION + 15])
def test_optimised_passes_are_read_nearer_to_the_kernel(n: int) -> None:
    assert distance(optimized_masses(n)) < 0.99 * distance(shapley_masses(n))


def test_a_coarse_optimum_lies_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progressive, "RESOLUTION", 6)
    coarse = distance(optimized_masses.__wrapped__(12))
    assert distance(optimized_masses(12)) < coarse < distance(shapley_masses(12))


# Draws ----------------------------------------------------------------------------------------------------------------


def test_passes_come_as_often_as_their_masses_say() -> None:
    n, masses = 5, random_masses(5)
    keep = draws(masses, 200_000, seed=0)
    every, probability = every_pass(n, masses)
    bits = 1 << np.arange(n)
    expected = np.bincount(every @ bits, probability, minlength=2**n)
    found = np.bincount(keep @ bits, minlength=2**n) / len(keep)
    assert np.abs(found - expected).max() < 5 * np.sqrt(0.25 / len(keep))
    assert not found[expected == 0].any()


@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_draws_are_nested(n: int) -> None:
    masses = shapley_masses(n)
    large = draws(masses, 50, seed=4)
    assert large.shape == ((50, n) if n > 1 else (0, 1))
    assert np.array_equal(large[:20], draws(masses, 20, seed=4))
    assert n < 3 or not np.array_equal(large, draws(masses, 50, seed=5))


# Weights --------------------------------------------------------------------------------------------------------------


@small
@every_masses
def test_weights_of_coalitions_equal_enumeration(n: int, masses_of) -> None:
    masses = masses_of(n)
    keep, _ = every_pass(n, masses)
    found = reading_weights(keep, masses, "coalition")
    counts = per_coalition(n, masses)
    ratios = []
    for row, weights in zip(keep, found, strict=True):
        for coalition in _readings(row):
            exact = kernel(n, len(coalition)) / counts[coalition]
            ratios.append(weights[coalition[-1] - 1] / exact)
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-10)
    assert (found > 0).sum() == len(ratios)
    assert found.max() == 1


def _readings(row: np.ndarray) -> list[tuple[int, ...]]:
    kept = tuple((np.flatnonzero(row) + 1).tolist())
    return [kept[:size] for size in range(1, len(kept) + 1) if size < len(row)]


@small
@every_masses
def test_weights_of_classes_equal_enumeration(n: int, masses_of) -> None:
    """P^D with each of the readings of a pass counted as one part of it, as the paper does."""
    masses = masses_of(n)
    density = np.zeros((n - 1, n))
    for i, j, coalition in drawn(n):
        for found in read(coalition, n):
            density[len(found) - 1, found[-1] - 1] += masses[i - 1, j - 1] / comb(j - 1, i - 1) / (i + n - j)
    keep, _ = every_pass(n, masses)
    weights = reading_weights(keep, masses, "class")
    for row, found in zip(keep, weights, strict=True):
        expected = np.zeros(n)
        for coalition in _readings(row):
            k, last = len(coalition), coalition[-1]
            expected[last - 1] = shapley_masses(n)[k - 1, last - 1] / density[k - 1, last - 1]
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["none", "coalition", "class"])
@every_masses
def test_hundreds_of_features_overflow_nothing(kind: str, masses_of) -> None:
    n = 400 if masses_of is shapley_masses else RESOLUTION + 15
    masses = masses_of(n)
    keep = draws(masses, 60, seed=1)
    weights = reading_weights(keep, masses, kind)
    size = keep.cumsum(axis=1)
    assert np.isfinite(weights).all()
    assert not weights[~keep | (size == n)].any()
    assert weights.max() > 0


# The regression -------------------------------------------------------------------------------------------------------


def regress(keep: np.ndarray, game, weights: np.ndarray) -> np.ndarray:
    """The scores from passes bool [B, n], the game read after each feature."""
    n = keep.shape[1]
    upto = keep[:, None] & np.tri(n, dtype=bool)
    gains = game(upto.reshape(-1, n)).reshape(keep.shape) - game(np.zeros((1, n), dtype=bool))
    total = np.diff(game(np.array([[False] * n, [True] * n])))[0]
    return constrained(*normal_equations(keep, gains, weights), total)


def by_rows(keep: np.ndarray, game: Game, weights: np.ndarray) -> np.ndarray:
    """The same regression with a row a reading, the last score eliminated, by numpy's least squares."""
    n = keep.shape[1]
    start, total = game.table[0], game.table[-1] - game.table[0]
    rows, values = [], []
    for passed, weighted in zip(keep, weights, strict=True):
        for coalition in _readings(passed):
            held = mask(coalition, n).astype(float)
            root = np.sqrt(weighted[coalition[-1] - 1])
            rows.append(root * (held[:-1] - held[-1]))
            values.append(root * (game(mask(coalition, n)[None])[0] - start - held[-1] * total))
    found = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]
    return np.append(found, total - found.sum())


@pytest.mark.parametrize("kind", ["none", "coalition", "class"])
@every_masses
def test_equals_a_regression_with_a_row_a_reading(kind: str, masses_of) -> None:
    n, game = 7, Game(7, seed=3)
    masses = masses_of(n)
    keep = draws(masses, 40, seed=2)
    weights = reading_weights(keep, masses, kind)
    np.testing.assert_allclose(regress(keep, game, weights), by_rows(keep, game, weights), atol=1e-8)


@pytest.mark.parametrize("n", range(2, 8))
@every_masses
def test_exact_weights_lead_to_the_shapley_values(n: int, masses_of) -> None:
    """Every pass as often as it is drawn: the limit of many passes."""
    game, masses = Game(n, seed=n), masses_of(n)
    keep, probability = every_pass(n, masses)
    weights = reading_weights(keep, masses, "coalition") * probability[:, None]
    np.testing.assert_allclose(regress(keep, game, weights), game.shapley(), atol=1e-9)


def test_weights_by_class_keep_a_bias() -> None:
    """After j every feature is kept, so coalitions of one class are not equally often read."""
    game, masses = Game(6, seed=6), optimized_masses(6)
    keep, probability = every_pass(6, masses)
    weights = reading_weights(keep, masses, "class") * probability[:, None]
    assert np.abs(regress(keep, game, weights) - game.shapley()).max() > 0.05


@pytest.mark.parametrize("kind", ["none", "coalition", "class"])
@pytest.mark.parametrize("n", [3, 5, 9, 30])
@every_masses
def test_an_additive_game_is_exact_with_2n_passes(n: int, kind: str, masses_of) -> None:
    truth, masses = np.random.default_rng(0).normal(size=n), masses_of(n)
    keep = draws(masses, 2 * n, seed=1)
    weights = reading_weights(keep, masses, kind if n < 30 else "none")
    rows = np.array([mask(coalition, n) for row in keep for coalition in _readings(row)], dtype=float)
    assert np.linalg.matrix_rank(rows - rows.mean(axis=1, keepdims=True)) == n - 1
    np.testing.assert_allclose(regress(keep, lambda held: held @ truth + 3, weights), truth, atol=1e-9)


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_the_sum_is_exact_with_too_few_passes(passes: int) -> None:
    game, masses = Game(8, seed=2), shapley_masses(8)
    keep = draws(masses, passes, seed=0)
    found = regress(keep, game, reading_weights(keep, masses, "coalition"))
    assert found.sum() == pytest.approx(game.table[-1] - game.table[0], abs=1e-9)
