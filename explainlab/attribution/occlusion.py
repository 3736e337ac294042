"""Leave one out: what the prediction loses with each feature."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from explainlab.attribution import method
from explainlab.attribution.method import BASELINE_HELP, Baseline, BaselineData, Method, Outcome
from explainlab.attribution.subject import Subject


class Occlusion(Method):
    """The explained scalar with and without each feature: n + 1 forward passes for n features."""

    class Parameters(method.Parameters):
        baseline: Baseline = Field("mask", description=BASELINE_HELP)
        baseline_data: BaselineData = ""

    id: ClassVar = "occlusion"
    label: ClassVar = "Occlusion"
    family: ClassVar = "Perturbation"
    source: ClassVar = "Zeiler & Fergus 2014; Li et al. 2016 (leave one out)"
    definition: ClassVar = "φᵢ = F(x) − F(x without i)"

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        n = len(subject.units.content)
        keep = np.concatenate([np.ones((1, n), dtype=bool), ~np.eye(n, dtype=bool)])
        whole, *without = subject.masked(keep, parameters.baseline)
        return Outcome(subject.units.spread(whole - np.array(without)), terms=2 * subject.terms)
