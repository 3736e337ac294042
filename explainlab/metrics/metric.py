"""Base classes of metrics: perturbing the text, comparing with a rationale, or explaining the text again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from explainlab import declared
from explainlab.errors import UnsupportedError
from explainlab.metrics.presets import Filler, Preset, Removal
from explainlab.models.model import Architecture
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units

if TYPE_CHECKING:
    from explainlab.metrics.evaluate import Case
    from explainlab.models.classifier import Classifier

P = TypeVar("P", bound=declared.Parameters)


@dataclass(frozen=True, eq=False)
class Perturbations:
    """The perturbed versions of a text that a metric needs for C attributions at L levels.

    ``levels`` in per cent, rounded. ``counts`` int64 [C, L]: features selected at each level. ``meant`` bool [C, L]:
    levels that enter the value. ``stays`` bool [C, L, n_features]: features that stay. The others are removed
    (``removal``: deleted, or each token replaced by another); with ``retokenised`` the rest is decoded and tokenised
    again.
    """

    levels: tuple[int, ...]
    counts: np.ndarray
    meant: np.ndarray
    stays: np.ndarray
    removal: Removal | Filler
    retokenised: bool


class Facts(Protocol):
    """Facts of a model that decide whether a metric can be computed with it; a classifier has them too."""

    @property
    def architecture(self) -> Architecture:
        """The facts of the network."""

    def filler_id(self, baseline: str) -> int:
        """Return the token id that stands for "no information": see :func:`explainlab.models.classifier.filler_id`."""


class Metric(declared.InPlainWords, ABC, Generic[P]):
    """A way to evaluate an attribution, with parameters of the class ``P``.

    It is :class:`FaithfulnessMetric`, :class:`PlausibilityMetric` or :class:`StabilityMetric`.

    ``plain``: a sentence for every reader. ``family``: the metrics shown together. ``source``: paper and equation.
    ``version`` rises whenever the numbers change. ``presets``: the values of its parameter ``preset``, none if every
    code computes the same.
    """

    id: ClassVar[str]
    label: ClassVar[str]
    family: ClassVar[str]
    source: ClassVar[str]
    higher_is_better: ClassVar[bool]
    version: ClassVar[int] = 1
    presets: ClassVar[Mapping[str, Preset]] = {}
    Parameters: ClassVar[type[declared.Parameters]]

    @abstractmethod
    def definition(self, parameters: P) -> str:
        """Define the metric under these parameters in words and a formula, as a page shows it."""

    @abstractmethod
    def inputs(self, parameters: P, features: int) -> int:
        """Return the most perturbed texts that an attribution of ``features`` features needs."""

    def marks(self, parameters: P) -> Sequence[str]:
        """Return the roles of columns that it needs of a data set, ``rationale`` or ``paraphrase``; none unless
        overridden.
        """
        return ()

    def unsupported(self, model: Facts, parameters: P) -> str:
        """Return the reason why this cannot be computed with ``model``, as a sentence; empty if it can."""
        return ""

    def require(self, model: Facts, parameters: P) -> None:
        """Raise :class:`UnsupportedError` if this cannot be computed with ``model``."""
        if reason := self.unsupported(model, parameters):
            raise UnsupportedError(reason, "Choose other options of the metric, or another model.")


class FaithfulnessMetric(Metric[P]):
    """A metric that reads the model's predictions for perturbed texts."""

    @abstractmethod
    def perturb(self, scores: np.ndarray, units: Units, parameters: P) -> Perturbations:
        """Return the perturbed texts that evaluate the attributions ``scores``, float64 [C, n_features]."""

    @abstractmethod
    def value(self, perturbed: Perturbations, original: float, remaining: np.ndarray, parameters: P) -> np.ndarray:
        """Return float64 [C]: the metric of every attribution.

        ``original`` and ``remaining`` [C, L] are natural logarithms of the target's probability: for the text itself
        and for its ``perturbed`` versions.
        """


class PlausibilityMetric(Metric[P]):
    """A metric that compares with a rationale: the known or annotated evidence in the text."""

    @abstractmethod
    def value(self, scores: np.ndarray, units: Units, rationale: np.ndarray, parameters: P) -> np.ndarray:
        """Return float64 [C]: the metric of the attributions ``scores``, float64 [C, n_features].

        ``rationale`` bool [n_features] marks one content feature of ``units`` or more, and no special one.
        """

    def inputs(self, parameters: P, features: int) -> int:
        """Return 0: no perturbed text is needed."""
        return 0

    def marks(self, parameters: P) -> Sequence[str]:
        """Return the roles of the rationale: see :meth:`Metric.marks`."""
        return ("rationale",)


Text = tuple[str, str | None]
"""A text, and the second one of a pair."""


@dataclass(frozen=True, eq=False)
class Version:
    """An edited text with the same predicted class, and its maps.

    ``maps``: float64 [n_features] for each of C attributions, None for one that cannot be made again.
    """

    encoding: Encoding
    units: Units
    maps: Sequence[np.ndarray | None]


class Reexplainer(Protocol):
    """A service that runs the model and the methods again on edited versions of T texts together.

    The caller of ``evaluate`` supplies it. Every text has C attributions. Arguments and results of its methods are
    lists over the texts.
    """

    @property
    def classifier(self) -> Classifier:
        """The classifier of all texts."""

    @property
    def seeds(self) -> Sequence[int]:
        """[T]: the seed of every text."""

    def explained(self, stays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return float64 [C, K]: the explained score of each attribution, the probability or the logit of its target.

        The versions have the features ``stays`` bool [K, n_features]; the mask token replaces all others.
        """

    def moved(self, shifts: Sequence[np.ndarray]) -> list[list[np.ndarray | None]]:
        """Return [C] of float64 [K, n_features]: maps for word embeddings that lie beside the text's; None: not made
        again.

        ``shifts`` float32 [K, N, d] are added to them, N the tokens of the text itself.
        """

    def edited(self, texts: Sequence[Sequence[Text]]) -> list[list[Version]]:
        """Return the edited texts that the model can read and that keep its predicted class."""


class StabilityMetric(Metric[P]):
    """A metric that explains versions of the text again and measures the change."""

    @abstractmethod
    def values(self, cases: Sequence[Case], again: Reexplainer, parameters: P) -> list[tuple[np.ndarray, int]]:
        """Return for each case float64 [C], NaN for an attribution without a value, and the count of used versions."""

    @abstractmethod
    def explanations(self, parameters: P) -> int:
        """Return how often every map is made again, at most."""


AnyMetric = Metric[Any]
"""A metric with any parameters."""
