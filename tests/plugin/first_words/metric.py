"""A metric of the text that remains when the strongest feature alone is kept."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explainlab import declared
from explainlab.metrics.metric import FaithfulnessMetric, Perturbations
from explainlab.text.units import Units


class Kept(FaithfulnessMetric[declared.Parameters]):
    """The probability when only the feature with the highest score is kept."""

    id: ClassVar = "kept"
    label: ClassVar = "Kept"
    plain: ClassVar = "How sure the model stays of the strongest word alone; higher is better."
    source: ClassVar = "The package first-words"
    family: ClassVar = "Perturbation"
    higher_is_better: ClassVar = True
    Parameters: ClassVar = declared.Parameters

    def definition(self, parameters: declared.Parameters) -> str:
        """See :attr:`Metric.definition`."""
        return "p(the feature of x with the highest score), all others replaced by the mask token."

    def perturb(self, scores: np.ndarray, units: Units, parameters: declared.Parameters) -> Perturbations:
        """Keep one feature of each map."""
        best = units.content[np.argmax(scores[:, units.content], axis=1)]
        stays = np.ones((len(scores), 1, len(units.features)), dtype=bool)
        stays[:, :, units.content] = units.content == best[:, None, None]
        counted = np.ones((len(scores), 1), dtype=bool)
        return Perturbations((0,), np.ones((len(scores), 1), dtype=np.int64), counted, stays, "mask", False)

    def inputs(self, parameters: declared.Parameters, features: int) -> int:
        """One text for each map."""
        return 1

    def value(
        self, perturbed: Perturbations, original: float, remaining: np.ndarray, parameters: declared.Parameters
    ) -> np.ndarray:
        """Return the probability itself."""
        found: np.ndarray = np.exp(remaining[:, 0])
        return found
