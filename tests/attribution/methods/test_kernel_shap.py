"""KernelSHAP: the axioms on games given by a formula, and exact Shapley values and shap's on real models."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab import explain
from explainlab.attribution.methods import kernel_shap
from explainlab.attribution.methods.kernel_shap import NUGGET, RATE, coalitions, regression, shapley_values, surrogate
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier

ALL = 10**5


class Game:
    """A random game of ``n`` players, by a table of its 2^n values."""

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self.table = np.random.default_rng(seed).normal(size=2**n)

    def __call__(self, keep: np.ndarray) -> np.ndarray:
        return self.table[keep @ (1 << np.arange(self.n))]

    def shapley(self) -> np.ndarray:
        """The definition: every marginal of a player, averaged within each size of coalition, then over the sizes."""
        held = np.arange(2**self.n)
        sizes = np.bitwise_count(held)
        total = np.zeros(self.n)
        for player in range(self.n):
            without = held[~held >> player & 1 == 1]
            marginal = self.table[without | 1 << player] - self.table[without]
            total[player] = np.mean([marginal[sizes[without] == size].mean() for size in range(self.n)])
        return total


def estimate(game, n: int, samples: int, seed: int = 0, paired: bool = True) -> np.ndarray:
    """Shapley values of ``game`` (bool [K, n] -> [K]) from ``samples`` coalitions."""
    keep = _with_ends(coalitions(n, samples, seed, paired))
    return shapley_values(keep, game(keep))


def _with_ends(inner: np.ndarray) -> np.ndarray:
    n = inner.shape[1]
    return np.concatenate([np.zeros((1, n), dtype=bool), np.ones((1, n), dtype=bool), inner])


both = pytest.mark.parametrize("paired", [True, False])


# Closed forms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 7))
def test_all_coalitions_give_the_shapley_values(n: int) -> None:
    game = Game(n, seed=n)
    np.testing.assert_allclose(estimate(game, n, ALL), game.shapley(), atol=1e-8)


@both
@pytest.mark.parametrize(("n", "samples"), [(5, 10), (9, 18), (9, 61), (30, 60), (30, 200)])
def test_an_additive_game_is_exact(n: int, samples: int, paired: bool) -> None:
    truth = np.random.default_rng(0).normal(size=n)
    np.testing.assert_allclose(estimate(lambda keep: keep @ truth + 3, n, samples, 1, paired), truth, atol=1e-6)


@both
@pytest.mark.parametrize("samples", [1, 2, 3, 7, 16, 40, 100])
def test_the_sum_is_exact_even_without_full_rank(samples: int, paired: bool) -> None:
    game = Game(8, seed=2)
    assert estimate(game, 8, samples, 0, paired).sum() == pytest.approx(game.table[-1] - game.table[0], abs=1e-9)


def test_symmetry_and_dummy() -> None:
    def game(keep: np.ndarray) -> np.ndarray:
        return np.where(keep[:, 0] & keep[:, 1], 4.0, 0) + 2 * keep[:, 2] * keep[:, 3]

    np.testing.assert_allclose(estimate(game, 5, ALL), [2, 2, 1, 1, 0], atol=1e-9)
    np.testing.assert_allclose(estimate(game, 5, 10), [2, 2, 1, 1, 0], atol=1e-6)  # pairs cancel what pairs do


def test_more_coalitions_come_nearer() -> None:
    x = np.random.default_rng(0).normal(size=8)

    def game(keep: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(keep @ x) * 2 + keep[:, 0] * keep[:, 1] * keep[:, 2] * 3))

    exact = estimate(game, 8, ALL)
    errors = [np.mean([np.abs(estimate(game, 8, k, s) - exact).sum() for s in range(5)]) for k in (16, 64, 200)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1 * errors[0]


def test_more_coalitions_than_the_surrogate_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_shap, "POINTS", 32)
    game = Game(8, seed=0)
    few, many = (np.abs(estimate(game, 8, samples) - estimate(game, 8, ALL)).sum() for samples in (30, 200))
    assert many < few
    assert estimate(game, 8, 200).sum() == pytest.approx(game.table[-1] - game.table[0], abs=1e-9)
    np.testing.assert_allclose(estimate(game, 8, ALL), Game(8, seed=0).shapley(), atol=1e-8)


@pytest.mark.parametrize("samples", [2, 9, 29, 60])
def test_the_regression_is_that_of_a_pseudo_inverse_where_coalitions_are_few_too(samples: int) -> None:
    n, total = 30, 1.7
    keep = coalitions(n, samples, 3, True)
    gains, size = np.random.default_rng(0).normal(size=len(keep)), keep.sum(axis=1)
    weights = 1 / (size * (n - size) * np.bincount(size)[size])
    centred = np.sqrt(weights)[:, None] * (keep - size[:, None] / n)
    expected = total / n + np.linalg.pinv(centred) @ (np.sqrt(weights) * (gains - size * total / n))
    np.testing.assert_allclose(regression(keep, gains, total), expected, atol=1e-9)


@pytest.mark.parametrize("points", [8, 16])
def test_the_surrogate_is_kriging_where_coalitions_are_few_too(points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights and its line by one pseudo-inverse; without single features their rates are equal."""
    monkeypatch.setattr(kernel_shap, "POINTS", points)
    n, generator = 11, np.random.default_rng(0)
    keep = _with_ends(generator.permuted(np.tile(np.arange(n) < n // 2, (20, 1)), axis=1))
    gains, x = generator.normal(size=len(keep)), np.where(keep, 1.0, -1.0)
    kernel = np.exp(RATE / n * (x @ x[:points].T - n))
    line = np.column_stack([np.ones(len(x)), x])
    known, nothing = line[:points], np.zeros((n + 1, n + 1))
    inner = kernel[:points] + NUGGET * np.eye(points)
    solved = np.linalg.pinv(np.block([[inner, known], [known.T, nothing]]), 1e-11) @ [*gains[:points], *np.zeros(n + 1)]
    np.testing.assert_allclose(surrogate(keep, gains)[1], kernel @ solved[:points] + line @ solved[points:], atol=1e-7)


def test_a_constant_game_is_zero() -> None:
    np.testing.assert_allclose(estimate(lambda keep: np.full(len(keep), 0.7), 6, 12), 0, atol=1e-12)


# The draws ------------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("n", "samples"), [(2, 2), (3, 4), (7, 14), (7, 125), (8, 200), (40, 500), (100, 33)])
def test_coalitions_are_distinct_and_neither_empty_nor_full(n: int, samples: int, paired: bool) -> None:
    keep = coalitions(n, samples, 0, paired)
    assert keep.shape == (min(samples, 2**n - 2), n)
    assert len(np.unique(_with_ends(keep), axis=0)) == len(keep) + 2
    if paired and samples < 2**n - 2:
        assert np.array_equal(keep[1::2], ~keep[: len(keep) // 2 * 2 : 2])


@both
def test_draws_are_nested(paired: bool) -> None:
    large = coalitions(11, 900, 4, paired)
    for samples in (5, 22, 23, 100, 500):
        assert np.array_equal(large[:samples], coalitions(11, samples, 4, paired))
    assert not np.array_equal(large, coalitions(11, 900, 5, paired))


# On models ------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["encoder", "decoder"])
def model(request: pytest.FixtureRequest) -> Classifier:
    return request.getfixturevalue(request.param)


def test_agrees_with_shap_when_all_coalitions_are_seen(model: Classifier) -> None:
    import shap  # takes 70 MB

    text = "A funny film, not good"
    found = explain(model, text, "kernel_shap", unit="word", samples=ALL)
    subject = Subject(model, model.encode(text), unit="word")
    n = len(subject.units.content)
    explainer = shap.KernelExplainer(
        lambda x: subject.masked(x > 0.5, "mask"), np.zeros((1, n)), silent=True, keep_index=False
    )
    expected = explainer.shap_values(np.ones((1, n)), nsamples=2**n, l1_reg=False, silent=True)[0]
    exact = Game(n, 0)
    exact.table = subject.masked((np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool), "mask")
    tolerance = 1e-4 * np.abs(expected).max()
    np.testing.assert_allclose(found.scores[subject.units.content], expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.scores[subject.units.content], exact.shapley(), rtol=0, atol=tolerance)


def test_costs_and_completeness(model: Classifier) -> None:
    text = "a funny film and a good story"
    result = explain(model, text, "kernel_shap", unit="word")
    assert result.cost.forward == 2 * 7 + 2
    assert result.completeness.approximation_error < 1e-9
    assert explain(model, text, "kernel_shap", unit="word", samples=20).cost.forward == 22
    assert explain(model, text, "kernel_shap", unit="word", samples="4n").cost.forward == 4 * 7 + 2
    assert explain(model, "good film", "kernel_shap", unit="word").cost.forward == 4
    assert explain(model, "film", "kernel_shap", unit="word").cost.forward == 2


@pytest.mark.parametrize(("given", "taken"), [("2n", "2n"), ("16n", "16n"), ("016n", "16n"), (7, 7), ("12", 12)])
def test_samples_are_a_multiple_of_n_or_a_number(given: object, taken: object) -> None:
    assert parse(get_method("kernel_shap"), {"samples": given}).samples == taken


@pytest.mark.parametrize("wrong", ["n", "", "0n", "-2n", "2.5n", 0, -3, 2.5, None])
def test_other_samples_are_refused(wrong: object) -> None:
    with pytest.raises(RequestError, match=r"samples = .* is not accepted\. Give a multiple of n"):
        parse(get_method("kernel_shap"), {"samples": wrong})


@pytest.mark.parametrize("many", [200_001, "200001n"])
def test_samples_beyond_the_limit_are_refused(encoder: Classifier, many: int | str) -> None:
    with pytest.raises(RequestError, match=rf"samples = '?{many}'? .* limit is 200,000"):
        explain(encoder, "good film", "kernel_shap", samples=many)


def test_a_multiple_beyond_the_limit_is_refused_once_n_is_known(encoder: Classifier) -> None:
    with pytest.raises(RequestError, match=r"199999n of 2 features are 399,998 .* 200,000"):
        explain(encoder, "good film", "kernel_shap", unit="word", samples="199999n")
