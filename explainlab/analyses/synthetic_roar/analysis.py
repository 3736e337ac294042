"""ROAR and Recursive ROAR where the truth is known: features of which only four tell the class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.base import NO_MODEL, AnalysisResult, Report, Requirements, SelfContained
from explainlab.analyses.data_analysis import Clock
from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.significance import groups_of
from explainlab.analyses.summary import table
from explainlab.analyses.synthetic_roar.result import (
    FEATURES,
    INFORMATIVE,
    LABELS,
    Draw,
    Order,
    OrderShare,
    SyntheticRoarData,
)
from explainlab.analyses.wording import counted, whole_percent
from explainlab.attribution.explain import versions
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest, digest
from explainlab.result import Cost

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


def verdict(body: SyntheticRoarData) -> str:
    """Say how often each finds the informative features, whether that differs, and the cost for the model."""
    recursive, plain = body.share("recursive_roar"), body.share("roar")
    found = {LABELS[own.order]: [float(draw.found[own.order]) for draw in body.draws] for own in (recursive, plain)}
    groups = groups_of(found)
    if groups.winner:
        apart = f"{groups.winner} finds them more often than {groups.worse[0]}"
    else:
        apart = "these draws do not tell the two apart"
    among = f"{recursive.found} of {counted(recursive.draws, 'draw')}"
    return (
        f"Recursive ROAR masks the four informative features first in {among} ({_interval(recursive)}), ROAR in "
        f"{plain.found} ({_interval(plain)}): {apart}. The area under the accuracy curve is {recursive.area:.2f} with "
        f"recursion and {plain.area:.2f} without; {body.share('ground_truth').area:.2f} where the informative features "
        f"go first as they are numbered, and {body.share('worst').area:.2f} where they go last."
    )


def _interval(share: OrderShare) -> str:
    return f"{whole_percent(share.mean)}, 95% interval {100 * (share.low or 0):.0f}% to {100 * (share.high or 0):.0f}%"


_STORED = "synthetic_roar/1"  # part of the storage key: rises when the stored form or the numbers change
_ROWS_OF_A_GRADIENT = 40
"""Rows of a draw whose models all together take as long as a small model for the gradient of a text."""


class SyntheticRoar(SelfContained[SyntheticRoarData]):
    """A check of the orders of ROAR and of Recursive ROAR, on data sets drawn so that the right one is known.

    Of 16 features the first four tell the class, each in its own right: one hides little while a stronger one is left.
    Features are masked by 0, one after another, and a model is fitted each time; a feature's importance is the absolute
    value of its coefficient. Ground truth: the four first, as they are numbered. Worst order: the four last. ROAR: by
    the model that sees all features. Recursive ROAR: by the model that sees those that are left.
    """

    class Parameters(declared.Parameters):
        draws: int = Field(40, ge=1, le=1_000, description="Data sets to draw, with seeds from the request's on.")
        rows: int = Field(
            20_000,
            ge=100,
            le=1_000_000,
            description="Rows of each data set to learn from; a quarter as many are drawn to test on.",
        )

    id = "synthetic_roar"
    label = "ROAR on a synthetic problem"
    source = "Madsen et al. 2022 (Recursive ROAR), section 3.3 and Eq. 1; Hooker et al. 2019 (ROAR)"
    definition = "x = a z / 10 + d η + ε / 10, y = [z > 0]; a is 0 but in the first 4 of 16 features"

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(gradients=max(1, parameters.draws * parameters.rows // _ROWS_OF_A_GRADIENT))

    def train(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[SyntheticRoarData]:
        """See :meth:`TrainsModels.train`; it runs on the processor, whatever the ``device``."""
        clock = Clock(context)
        draws = _drawn(request.seed, self.parameters(request), clock.context)
        own = {"study": str(self.version), "model": NO_MODEL, "scikit-learn": version("scikit-learn")}
        return AnalysisResult(
            request=request,
            body=SyntheticRoarData(draws=draws, shares=[_share(order, draws) for order in LABELS]),
            cost=Cost(0, 0, clock.seconds),
            versions={**versions(), **own},
        )

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result.body), _lines)


def _lines(result: AnalysisResult[SyntheticRoarData]) -> list[str]:
    """Return a line an order, and the seeds with which only one of the two finds the informative features."""
    rows = [
        {"order": LABELS[share.order], "found": f"{share.found} of {share.draws}", "share": str(share),
         "area": f"{share.area:.4f}"}
        for share in result.body.shares
    ]  # fmt: skip
    apart = [str(own.seed) for own in result.body.draws if own.found["roar"] != own.found["recursive_roar"]]
    only = f"Seeds with which only one of the two finds them: {', '.join(apart) or 'none'}."
    return [*table(rows).splitlines(), only]


def _drawn(first: int, parameters: SyntheticRoar.Parameters, context: RunContext) -> list[Draw]:
    """Return the draws, each kept as soon as it is done, so that a stopped run goes on."""
    seeds = range(first, first + parameters.draws)
    keys = {seed: digest([_STORED, seed, parameters.rows]) for seed in seeds}
    bodies = context.cache.get_many(keys.values())
    missing = [seed for seed in seeds if keys[seed] not in bodies]
    context.progress.expect(float(parameters.rows * len(missing)))
    for seed in missing:
        context.check_cancelled()
        context.progress.report(len(bodies), len(keys), "draws")
        body = draw(seed, parameters.rows, context.check_cancelled).model_dump(mode="json")
        context.progress.spend(float(parameters.rows))
        context.keep(keys[seed], body)
        bodies[keys[seed]] = body
    context.progress.report(len(keys), len(keys), "draws")
    return [Draw.model_validate(bodies[keys[seed]]) for seed in seeds]


def _share(order: Order, draws: Sequence[Draw]) -> OrderShare:
    found = sum(own.found[order] for own in draws)
    areas = [float(np.trapezoid(own.accuracies[order])) for own in draws]
    return OrderShare(
        order=order,
        found=found,
        draws=len(draws),
        area=sum(areas) / len(areas),
        **accuracy_of(found, len(draws)).model_dump(),
    )
