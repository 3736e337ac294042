"""What a method is: one class that declares everything about itself in one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from explainlab.attribution.subject import Subject
from explainlab.declared import Parameters, ParameterSpec, specs
from explainlab.errors import UnsupportedError
from explainlab.models.architectures import Architecture
from explainlab.models.classifier import Classifier
from explainlab.request import Output
from explainlab.settings import settings

Family = Literal["Gradients", "Paths", "Perturbation", "Attention", "Control"]
Baseline = Literal["mask", "pad", "unk", "zero", "max_entropy"]
BASELINE_HELP = "What stands for 'no information' in place of what is taken away."
BaselineData = Annotated[
    str, Field(description="Data file that max_entropy is chosen from; empty: the embedded examples of these classes.")
]
"""A data set by path or embedded id; it is looked at only where the baseline is ``max_entropy``."""


def _affordable(evaluations: int) -> int:
    limit = settings().max_evaluations
    if evaluations > limit:
        raise PydanticCustomError("limit", "The limit is {limit} (EXPLAINLAB_MAX_EVALUATIONS)", {"limit": limit})
    return evaluations


Evaluations = Annotated[int, Field(ge=1), AfterValidator(_affordable)]
"""A number of model evaluations that the settings allow."""


@dataclass(frozen=True)
class Outcome:
    """What a method found for the n features of its subject.

    ``scores`` float64 [n]; ``expected`` what they should add up to (None: the method promises nothing); ``errors``
    float64 [n], estimates of the scores' numerical errors.
    """

    scores: np.ndarray
    expected: float | None = None
    errors: np.ndarray | None = None
    warnings: tuple[str, ...] = ()


class Method(ABC):
    """A way to attribute a prediction to the features of a text.

    ``source`` names paper and equation; ``version`` rises whenever the numbers change (it is part of the store's key);
    ``needs`` are names of :attr:`Classifier.capabilities`; ``signed`` tells whether a negative score speaks against the
    target, ``random`` whether another seed gives other scores; ``definition`` is the formula in one line, as the page
    shows it.
    """

    id: ClassVar[str]
    label: ClassVar[str]
    family: ClassVar[Family]
    source: ClassVar[str]
    definition: ClassVar[str]
    version: ClassVar[int] = 1
    signed: ClassVar[bool] = True
    random: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    output: ClassVar[Output] = "probability"
    Parameters: ClassVar[type[Parameters]] = Parameters

    @abstractmethod
    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        """Score the features of ``subject``; every model pass goes through it."""

    @classmethod
    def default_output(cls, parameters: Mapping[str, Any]) -> Output:
        """What a request with these ``parameters`` explains unless it says; :attr:`output` unless overridden."""
        return cls.output

    @classmethod
    def idle(cls, parameters: Parameters) -> frozenset[str]:
        """The names of parameters that change nothing beside the others; nobody needs to be told their values."""
        return frozenset()

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        """Whether scores under these parameters can speak against the target; :attr:`signed` unless overridden."""
        return cls.signed

    @classmethod
    def obstacle(cls, architecture: Architecture) -> str:
        """Why this method cannot run on models of ``architecture``, as a sentence; empty if it can."""
        reasons = [architecture.capabilities[need] for need in cls.needs if architecture.capabilities[need]]
        return f"{cls.label} cannot run on a {architecture.family} model: {'; '.join(reasons)}." if reasons else ""

    @classmethod
    def require(cls, classifier: Classifier) -> None:
        """Raise :class:`UnsupportedError` if this method cannot run on ``classifier``."""
        if reason := cls.obstacle(classifier.architecture):
            raise UnsupportedError(reason, "Choose another method or another model.")

    @classmethod
    def parameter_specs(cls) -> list[ParameterSpec]:
        """The parameters in the order of their declaration."""
        return specs(cls.Parameters)
