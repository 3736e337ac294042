"""Activation curves: the target's probability as features are revealed one at a time, and the areas under them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.errors import UnsupportedError
from explainlab.metrics.metric import Facts, FaithfulnessMetric, Perturbations
from explainlab.metrics.perturbation import places
from explainlab.metrics.presets import Filler
from explainlab.text.units import Units


class ActivationParameters(declared.Parameters):
    """Parameters of an activation curve: the token in place of a feature that is not yet revealed."""

    baseline: Filler = Field("mask", description="The token in place of each one that is not revealed yet.")


class Revealing(FaithfulnessMetric[ActivationParameters]):
    """Base class of both metrics: from the fully masked text, feature after feature is revealed.

    The paper gives neither the rule nor the scale of its areas: these are by the trapezoid rule over k/n, k = 0..n, so
    that they lie between 0 and 1 as in its tables. ``first``: which features are revealed first.
    """

    family: ClassVar = "Activation"
    first: ClassVar[str]
    Parameters: ClassVar = ActivationParameters

    def order(self, scores: np.ndarray, units: Units) -> np.ndarray:
        """Return int64 [C, n]: the order in which ``scores`` float64 [C, n_features] reveal the features of ``units``.

        Features with equal scores come in the order of the text; special tokens are not among them.
        """
        return units.content[np.argsort(self._places(scores, units), axis=1)]

    def definition(self, parameters: ActivationParameters) -> str:
        return (
            f"The area under p(the k features of x with the {self.first} scores) over k/n for k = 0, …, n, by the "
            "trapezoid rule, p the probability of the explained class. n features of the text, special tokens apart: "
            f"these always stay. Each token that is not revealed yet is replaced by the {parameters.baseline} token."
        )

    def perturb(self, scores: np.ndarray, units: Units, parameters: ActivationParameters) -> Perturbations:
        n = len(units.content)
        counts = np.tile(np.arange(n + 1), (len(scores), 1))
        stays = np.ones((*counts.shape, len(units.features)), dtype=bool)
        stays[:, :, units.content] = self._places(scores, units)[:, None, :] < counts[:, :, None]
        levels = tuple(round(100 * k / n) for k in range(n + 1))
        return Perturbations(levels, counts, np.ones(counts.shape, dtype=bool), stays, parameters.baseline, False)

    def inputs(self, parameters: ActivationParameters, features: int) -> int:
        return features + 1

    def value(
        self, perturbed: Perturbations, original: float, remaining: np.ndarray, parameters: ActivationParameters
    ) -> np.ndarray:
        areas: np.ndarray = np.trapezoid(np.exp(remaining), dx=1 / (remaining.shape[1] - 1), axis=1)
        return areas

    def unsupported(self, model: Facts, parameters: ActivationParameters) -> str:
        try:
            model.filler_id(parameters.baseline)
        except UnsupportedError as error:
            return error.problem
        return ""

    def _places(self, scores: np.ndarray, units: Units) -> np.ndarray:
        """Return int64 [C, n]: the step at which every content feature is revealed, 0 for the first."""
        content = scores[:, units.content]
        return places(content if self.first == "highest" else -content)


class ActivationAuc(Revealing):
    """The area under the curve that reveals the features most in favour of the target first."""

    id: ClassVar = "activation_auc"
    label: ClassVar = "Activation AUC"
    plain: ClassVar = "How fast the prediction rises as words are revealed, the strongest first; higher is better."
    source: ClassVar = "Kariyappa et al. 2024 (paper 002), Section 4.1, Table 2"
    higher_is_better: ClassVar = True
    first: ClassVar = "highest"


class InverseActivationAuc(Revealing):
    """The area under the curve that reveals the features most against the target first."""

    id: ClassVar = "inverse_activation_auc"
    label: ClassVar = "Inverse activation AUC"
    plain: ClassVar = "How long the prediction stays low as words are revealed, the weakest first; lower is better."
    source: ClassVar = "Kariyappa et al. 2024 (paper 002), Section 4.1, Table 3"
    higher_is_better: ClassVar = False
    first: ClassVar = "lowest"
