"""Random scores, which any method must beat."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explainlab.attribution.method import Method, Outcome, TextSize
from explainlab.attribution.subject import Subject
from explainlab.declared import Parameters
from explainlab.models.context import PassCount


class Random(Method):
    """Uniform scores in [0, 1), from the request's seed."""

    id: ClassVar = "random"
    label: ClassVar = "Random"
    plain: ClassVar = "Scores drawn by lot: a method that does no better says nothing."
    good_for: ClassVar = "The yardstick for all other methods."
    family: ClassVar = "Control"
    source: ClassVar = "The control of every comparison"
    definition: ClassVar = "φᵢ ~ U[0, 1)"
    signed: ClassVar = False
    random: ClassVar = True

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        return PassCount(1)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        return Outcome(np.random.default_rng(subject.seed).random(len(subject.units.features)))
