"""One draw of the synthetic problem: its rows, the orders in which features are masked, and the accuracy on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from explainlab.analyses.synthetic_roar.result import FEATURES, INFORMATIVE, Draw, Order

_TEST = 4
"""Training rows for each test row."""
_MOST_STEPS = 1_000


class Problem:
    """A problem x = a z / 10 + d η + ε / 10 and y = [z > 0] of ``rows`` rows, and a quarter as many to test on.

    a and d [16] are drawn once, z, η and the 16 numbers ε for each row, all standard normal from ``seed``; a is 0 but
    in its first four places. Source: Madsen et al. 2022 (Recursive ROAR), Eq. 1; Hooker et al. 2019. That ε has a value
    for each feature is how we read the paper: with one for all, features without z would cancel it.
    """

    def __init__(self, seed: int, rows: int) -> None:
        rng = np.random.default_rng(seed)
        self._a = np.where(np.arange(FEATURES) < INFORMATIVE, rng.standard_normal(FEATURES), 0.0)
        self._d = rng.standard_normal(FEATURES)
        self._train, self._test = self._rows(rng, rows), self._rows(rng, rows // _TEST)

    def learned(self, masked: frozenset[int]) -> tuple[float, np.ndarray]:
        """Return the accuracy on the test rows and |coefficients| [16] of a model with features ``masked`` by 0."""
        from sklearn.linear_model import LogisticRegression  # half a second to import

        seen = np.array([feature not in masked for feature in range(FEATURES)], dtype=np.float64)
        (x, y), (test_x, test_y) = self._train, self._test
        model = LogisticRegression(C=np.inf, max_iter=_MOST_STEPS).fit(x * seen, y)  # C: no penalty
        return float(model.score(test_x * seen, test_y)), np.abs(model.coef_[0])

    def _rows(self, rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw x float64 [rows, 16] and y bool [rows]."""
        z, eta = rng.standard_normal(rows), rng.standard_normal(rows)
        noise = rng.standard_normal((rows, FEATURES))
        return np.outer(z, self._a / 10) + np.outer(eta, self._d) + noise / 10, z > 0


def draw(seed: int, rows: int, before: Callable[[], None]) -> Draw:
    """Run all orders on the problem that ``seed`` draws; ``before`` is called before each model is fitted."""
    problem = Problem(seed, rows)

    @cache
    def learned(masked: frozenset[int]) -> tuple[float, np.ndarray]:
        before()
        return problem.learned(masked)

    def most_important(masked: Sequence[int], of: Sequence[int]) -> int:
        """Return the feature with the largest weight in the model of ``of``, among those that are not ``masked``."""
        weights = learned(frozenset(of))[1]
        return min(set(range(FEATURES)) - {*masked}, key=lambda feature: (-weights[feature], feature))

    plain: list[int] = []
    recursive: list[int] = []
    for _ in range(FEATURES):
        plain.append(most_important(plain, []))
        recursive.append(most_important(recursive, recursive))
    first, rest = list(range(INFORMATIVE)), list(range(INFORMATIVE, FEATURES))
    orders: dict[Order, list[int]] = {
        "ground_truth": first + rest,
        "worst": rest + first,
        "roar": plain,
        "recursive_roar": recursive,
    }
    steps = range(FEATURES + 1)
    return Draw(
        seed=seed,
        orders=orders,
        accuracies={name: [learned(frozenset(order[:n]))[0] for n in steps] for name, order in orders.items()},
        found={name: sorted(order[:INFORMATIVE]) == first for name, order in orders.items()},
    )
