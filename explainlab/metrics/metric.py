"""What a metric declares: it perturbs the text, compares scores with a rationale, or has the text explained again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from explainlab import declared
from explainlab.errors import UnsupportedError
from explainlab.metrics.presets import Filler, Preset, Removal
from explainlab.models.architectures import Architecture
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
    """What a metric must know of a model to tell whether it can be computed with it: a classifier tells that too."""

    @property
    def architecture(self) -> Architecture:
        """What kind of network it is."""

    def filler_id(self, baseline: str) -> int:
        """See :func:`explainlab.models.classifier.filler_id`."""


class Metric(declared.InPlainWords, ABC, Generic[P]):
    """A way to evaluate an attribution, with parameters of the class ``P``.

    It is :class:`FaithfulnessMetric`, :class:`PlausibilityMetric` or :class:`StabilityMetric`.

    ``plain``: what it tells, for every reader. ``family``: the metrics shown together. ``source``: paper and equation.
    ``version`` rises whenever the numbers change. ``presets``: those of its parameter ``preset``, none where every code
    computes the same.
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
        """The metric under these parameters in words and a formula, as a page shows it."""

    @abstractmethod
    def inputs(self, parameters: P, features: int) -> int:
        """Most perturbed texts that an attribution of ``features`` features needs."""

    def marks(self, parameters: P) -> Sequence[str]:
        """Roles of columns that it needs of a data set, ``rationale`` or ``paraphrase``; none unless overridden."""
        return ()

    def unsupported(self, model: Facts, parameters: P) -> str:
        """Why this cannot be computed with ``model``, as a sentence; empty if it can."""
        return ""

    def require(self, model: Facts, parameters: P) -> None:
        """Raise :class:`UnsupportedError` if this cannot be computed with ``model``."""
        if reason := self.unsupported(model, parameters):
            raise UnsupportedError(reason, "Choose other options of the metric, or another model.")


class FaithfulnessMetric(Metric[P]):
    """A metric by the model's predictions for perturbed texts."""

    @abstractmethod
    def perturb(self, scores: np.ndarray, units: Units, parameters: P) -> Perturbations:
        """What must be run to evaluate the attributions ``scores``, float64 [C, n_features]."""

    @abstractmethod
    def value(self, perturbed: Perturbations, original: float, remaining: np.ndarray, parameters: P) -> np.ndarray:
        """float64 [C]: the metric of every attribution.

        ``original`` and ``remaining`` [C, L] are natural logarithms of the target's probability: for the text itself
        and for its ``perturbed`` versions.
        """


class PlausibilityMetric(Metric[P]):
    """A metric by the features of a rationale: the part of the text that is known, or said, to be the evidence."""

    @abstractmethod
    def value(self, scores: np.ndarray, units: Units, rationale: np.ndarray, parameters: P) -> np.ndarray:
        """float64 [C]: the metric of the attributions ``scores``, float64 [C, n_features].

        ``rationale`` bool [n_features] marks one content feature of ``units`` or more, and no special one.
        """

    def inputs(self, parameters: P, features: int) -> int:
        """None."""
        return 0

    def marks(self, parameters: P) -> Sequence[str]:
        """See :meth:`Metric.marks`."""
        return ("rationale",)


Text = tuple[str, str | None]
"""A text, and the second one of a pair."""


@dataclass(frozen=True, eq=False)
class Version:
    """An edited text, for which the model predicts the same class, and its maps.

    ``maps``: float64 [n_features] for each of C attributions, None for one that cannot be made again.
    """

    encoding: Encoding
    units: Units
    maps: Sequence[np.ndarray | None]


class Reexplainer(Protocol):
    """Asks the model and the methods again, about versions of T texts together. Whoever has the methods hands it in.

    Every text has C attributions. What a function takes, and returns, is a list over the texts.
    """

    @property
    def classifier(self) -> Classifier:
        """The classifier of all texts."""

    @property
    def seeds(self) -> Sequence[int]:
        """[T]: the seed of every text."""

    def explained(self, stays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """float64 [C, K]: what each attribution explains, the probability or the logit of its target.

        It is that of the versions with the features ``stays`` bool [K, n_features]; the mask token replaces all others.
        """

    def moved(self, shifts: Sequence[np.ndarray]) -> list[list[np.ndarray | None]]:
        """[C] of float64 [K, n_features]: maps for word embeddings that lie beside the text's; None: not made again.

        ``shifts`` float32 [K, N, d] are added to them, N the tokens of the text itself.
        """

    def edited(self, texts: Sequence[Sequence[Text]]) -> list[list[Version]]:
        """Of the edited texts those that the model can read and for which it predicts the same class."""


class StabilityMetric(Metric[P]):
    """A metric that has versions of the text explained again: how far an explanation can be relied on."""

    @abstractmethod
    def values(self, cases: Sequence[Case], again: Reexplainer, parameters: P) -> list[tuple[np.ndarray, int]]:
        """For each of the ``cases`` float64 [C], NaN where an attribution has no value, and how many versions count."""

    @abstractmethod
    def explanations(self, parameters: P) -> int:
        """How often every map is made again, at most."""


AnyMetric = Metric[Any]
"""A metric with any parameters."""
