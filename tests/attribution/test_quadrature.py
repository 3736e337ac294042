"""Quadrature rules: their nodes, their weights, and which integrals they give exactly."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numpy as np
import pytest

from explainlab.attribution.path import Rule, nodes
from tests.failures import check_each

RULES = get_args(Rule)
CASES = list(product(RULES, (1, 2, 3, 7, 50, 300)))


def test_nodes_lie_on_the_path_and_weights_sum_to_one() -> None:
    def check(case: tuple[str, int]) -> None:
        rule, steps = case
        alphas, weights = nodes(rule, steps)
        assert alphas.shape == weights.shape == (steps + (rule == "trapezoid"),)
        assert alphas.dtype == weights.dtype == np.float64
        assert alphas[0] >= 0
        assert alphas[-1] <= 1
        assert (np.diff(alphas) > 0).all()
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1, abs=1e-13)

    check_each(check, CASES)


@pytest.mark.parametrize(
    ("rule", "alphas", "weights"),
    [
        ("right", [0.25, 0.5, 0.75, 1], [0.25] * 4),
        ("left", [0, 0.25, 0.5, 0.75], [0.25] * 4),
        ("midpoint", [0.125, 0.375, 0.625, 0.875], [0.25] * 4),
        ("trapezoid", [0, 0.25, 0.5, 0.75, 1], [0.125, 0.25, 0.25, 0.25, 0.125]),
        (
            "gauss_legendre",
            [0.5 - np.sqrt(s + 2 / 7 * np.sqrt(1.2) * sign) / 2 for s, sign in ((3 / 7, 1), (3 / 7, -1))]
            + [0.5 + np.sqrt(s + 2 / 7 * np.sqrt(1.2) * sign) / 2 for s, sign in ((3 / 7, -1), (3 / 7, 1))],
            [(18 + sign * np.sqrt(30)) / 72 for sign in (-1, 1, 1, -1)],
        ),
    ],
)
def test_four_steps(rule: str, alphas: list[float], weights: list[float]) -> None:
    found = nodes(rule, 4)
    np.testing.assert_allclose(found[0], alphas, atol=1e-15)
    np.testing.assert_allclose(found[1], weights, atol=1e-15)


def test_a_line_shows_the_error_of_the_one_sided_rules_alone() -> None:
    """2α integrates to 1: the gradient of the squares along the path from zero."""

    def check(case: tuple[str, int]) -> None:
        rule, steps = case
        alphas, weights = nodes(rule, steps)
        expected = {"right": 1 + 1 / steps, "left": 1 - 1 / steps}.get(rule, 1)
        assert weights @ (2 * alphas) == pytest.approx(expected, abs=1e-13)

    check_each(check, CASES)


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_gauss_legendre_is_exact_up_to_its_degree_and_no_further(steps: int) -> None:
    alphas, weights = nodes("gauss_legendre", steps)
    for degree in range(2 * steps):
        assert weights @ alphas**degree == pytest.approx(1 / (degree + 1), abs=1e-14)
    # the error of the next power is the squared norm of the monic Legendre polynomial on [0, 1]
    norm = np.prod([k * k / (4 * (4 * k * k - 1)) for k in range(1, steps + 1)])
    assert 1 / (2 * steps + 1) - weights @ alphas ** (2 * steps) == pytest.approx(norm, rel=1e-6)


@pytest.mark.parametrize(("rule", "order"), [("right", 1), ("left", 1), ("midpoint", 2), ("trapezoid", 2)])
def test_errors_fall_with_the_order_of_the_rule(rule: str, order: int) -> None:
    errors = [abs(weights @ np.exp(alphas) - (np.e - 1)) for alphas, weights in (nodes(rule, n) for n in (50, 100))]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.02)


@pytest.mark.timeout(10)
def test_thousands_of_nodes_are_made_at_once() -> None:
    """By eigenvalues of a full matrix they would take minutes, deaf to a cancel."""
    alphas, weights = nodes("gauss_legendre", 3000)
    assert weights @ np.cos(1000 * alphas) == pytest.approx(np.sin(1000) / 1000, abs=1e-12)
