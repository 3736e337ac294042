"""The front of quality against cost, by hand."""

from __future__ import annotations

import pytest

from explainlab.figures.chart import pareto_front


@pytest.mark.parametrize(
    ("costs", "merits", "front"),
    [
        ([1, 2, 3], [0.1, 0.2, 0.3], [0, 1, 2]),
        ([1, 2, 3], [0.3, 0.2, 0.3], [0]),
        ([3, 1, 1], [0.9, 0.2, 0.4], [2, 0]),
        ([5], [0.5], [0]),
        ([1, 1], [0.5, 0.5], [0]),
    ],
)
def test_the_front_holds_what_nothing_cheaper_matches(costs, merits, front) -> None:
    assert pareto_front(costs, merits) == front
