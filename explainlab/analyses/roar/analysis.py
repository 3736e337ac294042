"""ROAR and Recursive ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explainlab.analyses.base import AnalysisResult, ModelFree
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.result import RoarData
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest


class Roar(ModelFree):
    """Models trained again and again, each time with more of the words masked that a measure calls important.

    The model of the request is the base: an architecture, which begins with random weights, or the id of a model.
    """

    Parameters = RoarParameters
    id = "roar"
    label = "ROAR"
    source = "Madsen et al. 2022 (Recursive ROAR), section 3 and Eq. 3; Hooker et al. 2019 (ROAR)"
    definition = "Σᵢ ½ Δrᵢ (Dᵢ + Dᵢ₊₁) / Σᵢ ½ Δrᵢ (Lᵢ + Lᵢ₊₁), D = p(random) - p, L = p(random) - p(all masked)"
    labelled = True

    def evaluations(self, parameters: RoarParameters) -> int:
        """See :meth:`Analysis.evaluations`."""
        return 1

    def answer_alone(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[RoarData]:
        """See :meth:`ModelFree.answer_alone`."""
        raise NotImplementedError

    def read(self, record: Mapping[str, Any]) -> AnalysisResult[RoarData]:
        """See :meth:`Analysis.read`."""
        return self._read(record, RoarData)

    def headline(self, result: AnalysisResult[RoarData]) -> str:
        """See :meth:`Analysis.headline`."""
        raise NotImplementedError
