"""A method that gives the whole score to the first feature."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from explainlab import declared
from explainlab.attribution.method import Method, Outcome, TextSize
from explainlab.attribution.subject import Subject
from explainlab.models.context import PassCount


class FirstWord(Method):
    """Believes that the beginning decides."""

    class Parameters(declared.Parameters):
        """The score of the first feature."""

        share: float = Field(1.0, ge=0, le=1, description="The share of the score that the first feature has.")

    id: ClassVar = "first_word"
    label: ClassVar = "First word"
    plain: ClassVar = "Gives the whole credit to the first word."
    good_for: ClassVar = "A control."
    family: ClassVar = "Others"
    source: ClassVar = "The package first-words"
    definition: ClassVar = "φ₁ = s F(x), all others 0"

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        """One pass over the text itself."""
        return PassCount(1)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        """Score the first feature alone."""
        scores = np.zeros(len(subject.units.content))
        scores[0] = parameters.share * subject.scalar(subject.original)
        return Outcome(subject.units.spread(scores))


class Occlusion(FirstWord):
    """A method with the id of another one."""

    id: ClassVar = "occlusion"
