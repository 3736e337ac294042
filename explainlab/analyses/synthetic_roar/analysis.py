"""ROAR and Recursive ROAR where the truth is known: features of which only four tell the class."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.analyses.base import NO_MODEL, AnalysisResult, Report, Requirements, SelfContained
from explainlab.analyses.data_analysis import Clock
from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.summary import table
from explainlab.analyses.synthetic_roar.draws import draw
from explainlab.analyses.synthetic_roar.result import LABELS, Draw, Order, OrderShare, SyntheticRoarData
from explainlab.analyses.synthetic_roar.verdict import verdict
from explainlab.attribution.explain import versions
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest, digest
from explainlab.result import Cost

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
