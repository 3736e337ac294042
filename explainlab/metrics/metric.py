"""What a metric is: one class that declares which perturbed texts it needs and what it makes of their probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from explainlab import declared
from explainlab.errors import UnsupportedError
from explainlab.metrics.presets import Filler, Preset, PresetId, Removal
from explainlab.models.classifier import Classifier
from explainlab.text.units import Units


@dataclass(frozen=True, eq=False)
class Perturbations:
    """The perturbed versions of one text that a metric needs for C maps at L levels.

    ``levels`` in per cent, rounded; ``counts`` int64 [C, L], how many features each level selects; ``meant`` bool
    [C, L], the levels that enter the value; ``stays`` bool [C, L, n_features], the features that stay as they are. The
    others are removed (``removal``: deleted, or a token put in place of each of theirs), and with ``retokenised`` the
    text that is left is decoded and tokenised again.
    """

    levels: tuple[int, ...]
    counts: np.ndarray
    meant: np.ndarray
    stays: np.ndarray
    removal: Removal | Filler
    retokenised: bool


class Metric(ABC):
    """A way to judge an attribution by what the classifier says of perturbed texts.

    ``source`` names paper and equation; ``version`` rises whenever the numbers change; ``presets`` are those of its
    parameter ``preset``, none where every code means the same.
    """

    id: ClassVar[str]
    label: ClassVar[str]
    source: ClassVar[str]
    higher_is_better: ClassVar[bool]
    version: ClassVar[int] = 1
    presets: ClassVar[Mapping[PresetId, Preset]] = {}
    Parameters: ClassVar[type[declared.Parameters]]

    @abstractmethod
    def definition(self, parameters: declared.Parameters) -> str:
        """The metric under these parameters in words and a formula, as a page shows it."""

    @abstractmethod
    def perturb(self, scores: np.ndarray, units: Units, parameters: declared.Parameters) -> Perturbations:
        """What must be run to judge the maps ``scores``, float64 [C, n_features]."""

    @abstractmethod
    def inputs(self, parameters: declared.Parameters, features: int) -> int:
        """How many perturbed texts one map of ``features`` features needs at most."""

    @abstractmethod
    def value(
        self, perturbed: Perturbations, original: float, found: np.ndarray, parameters: declared.Parameters
    ) -> np.ndarray:
        """float64 [C]: the metric of every map.

        ``original`` and ``found`` [C, L] are natural logarithms of the target's probability: for the text itself and
        for its ``perturbed`` versions.
        """

    def unsupported(self, classifier: Classifier, parameters: declared.Parameters) -> str:
        """Why ``classifier`` cannot be judged so, as a sentence; empty if it can."""
        return ""

    def require(self, classifier: Classifier, parameters: declared.Parameters) -> None:
        """Raise :class:`UnsupportedError` if ``classifier`` cannot be judged so."""
        if reason := self.unsupported(classifier, parameters):
            raise UnsupportedError(reason, "Choose other options of the metric, or another model.")
