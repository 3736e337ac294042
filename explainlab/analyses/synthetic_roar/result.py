"""The result of the study ``synthetic_roar``: its fields are its JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from explainlab.analyses.base import Record
from explainlab.analyses.records import KnownInterval

Order = Literal["ground_truth", "worst", "roar", "recursive_roar"]
LABELS: dict[Order, str] = {
    "ground_truth": "Ground truth",
    "worst": "Worst order",
    "roar": "ROAR",
    "recursive_roar": "Recursive ROAR",
}
"""The orders in which features are masked, with what readers call them."""
FEATURES, INFORMATIVE = 16, 4


class Draw(Record):
    """One data set, drawn from ``seed``: the order in which each rule masks the features, and the accuracies.

    ``orders``: the 16 features, by their places. ``accuracies``: on the test rows with 0, 1, ..., 16 of them masked.
    ``found``: whether the four informative features go first, in any order.
    """

    seed: int
    orders: dict[Order, list[int]]
    accuracies: dict[Order, list[float]]
    found: dict[Order, bool]

    @model_validator(mode="after")
    def _whole(self) -> Draw:
        whole = all(part.keys() == LABELS.keys() for part in (self.orders, self.accuracies, self.found))
        if not whole or any(sorted(order) != list(range(FEATURES)) for order in self.orders.values()):
            raise ValueError("A draw has every order, of all features")
        if any(len(values) != FEATURES + 1 for values in self.accuracies.values()):
            raise ValueError("A draw has an accuracy for each number of masked features")
        return self


class OrderShare(KnownInterval):
    """The number and the share of the ``draws`` in which ``order`` has ``found`` the informative features.

    ``mean`` is the share, with Wilson's 95% interval. ``area`` is the mean area under the accuracy curve, by
    trapezoids, in accuracies times features: lower is a better order, 16 the most, 8 what guessing gives.
    """

    order: Order
    found: int
    draws: int
    area: float


class SyntheticRoarData(Record):
    """Every draw, and the summary of all for each order."""

    draws: list[Draw]
    shares: list[OrderShare]

    @model_validator(mode="after")
    def _whole(self) -> SyntheticRoarData:
        if not self.draws or [share.order for share in self.shares] != list(LABELS):
            raise ValueError("There is a draw, and a share for every order")
        return self

    def share(self, order: Order) -> OrderShare:
        """Return the share of ``order``."""
        return next(share for share in self.shares if share.order == order)
