"""Leave one out: the change of the prediction without each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData, BatchedMethod, Outcome, TextSize
from explainlab.attribution.passes import masked
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount


class Occlusion(BatchedMethod):
    """The explained scalar with and without each feature: n + 1 forward passes for n features."""

    class Parameters(declared.Parameters):
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "occlusion"
    label: ClassVar = "Occlusion"
    plain: ClassVar = "Hides one word at a time and looks how far the prediction moves."
    good_for: ClassVar = "The map that is easiest to explain; it overlooks words that can stand in for each other."
    recommended: ClassVar = True
    family: ClassVar = "Perturbation"
    source: ClassVar = "Zeiler & Fergus 2014; Li et al. 2016 (leave one out)"
    definition: ClassVar = "φᵢ = F(x) − F(x without i)"

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(text.features + 1)

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        keep = [_each_left_out(len(subject.units.content)) for subject in subjects]
        values = masked(subjects, keep, parameters.baseline)
        return [
            Outcome(subject.units.spread(own[0] - own[1:]), rounding_scale=2 * subject.rounding_scale)
            for subject, own in zip(subjects, values, strict=True)
        ]


def _each_left_out(n: int) -> np.ndarray:
    """Return bool [n + 1, n]: all features, then all but each one."""
    return np.concatenate([np.ones((1, n), dtype=bool), ~np.eye(n, dtype=bool)])
