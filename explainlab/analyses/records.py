"""Records that the results of several analyses share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

import numpy as np

from explainlab.analyses.base import Record
from explainlab.attribution.records import Attribution, Completeness, Target
from explainlab.attribution.subject import Subject
from explainlab.metrics.evaluate import MetricResult
from explainlab.models.classifier import Prediction
from explainlab.request import Request
from explainlab.result import Cost
from explainlab.text.units import Feature

N = TypeVar("N", int, float)


class Interval(Record):
    """A ``mean`` and its 95% interval from ``low`` to ``high``; None where there are too few values."""

    mean: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """Return the mean, and the interval in brackets where there is one."""
        if self.mean is None:
            return "none"
        around = "" if self.low is None else f" [{self.low:.4f}, {self.high:.4f}]"
        return f"{self.mean:.4f}{around}"


class KnownInterval(Interval):
    """An interval of one value or more, so that there is a mean."""

    mean: float


def as_interval(value: float | Interval | None) -> Interval:
    """Return ``value`` as an interval, without its other fields; a plain number has no ends."""
    if isinstance(value, Interval):
        return Interval(mean=value.mean, low=value.low, high=value.high)
    return Interval(mean=value, low=None, high=None)


class Quartiles(Record):
    """The quartiles of values; None where there are none."""

    q1: float | None
    median: float | None
    q3: float | None


class Directed:
    """A base of records with a ``label``, and values of which either the higher or the lower ones are better."""

    if TYPE_CHECKING:

        @property
        def label(self) -> str: ...

        @property
        def higher_is_better(self) -> bool: ...

    @property
    def directed_label(self) -> str:
        """The label with an arrow that says which way is better."""
        return f"{self.label} {'↑' if self.higher_is_better else '↓'}"

    @property
    def sign(self) -> int:
        """The sign of better: 1 if higher values are better, -1 if lower ones are."""
        return 1 if self.higher_is_better else -1


class MetricFacts(Directed, Record):
    """The facts of a metric with its options, in a result.

    ``key`` names the metric in the result's values, without default options; ``asked`` is the name with its preset;
    ``preset`` is empty for a metric without presets.
    """

    key: str
    metric: str
    preset: str
    asked: str
    label: str
    definition: str
    higher_is_better: bool


def metric_of(metrics: Sequence[MetricFacts], key: str) -> MetricFacts:
    """Return the metric with this ``key``; raises :class:`StopIteration` if there is none."""
    return next(metric for metric in metrics if metric.key == key)


class PerturbedText(Record):
    """A text behind a metric's value: at ``level`` per cent, without the features ``removed`` (their texts).

    ``text`` is the text that the model read; ``probability`` is that of the target.
    """

    level: int
    removed: list[str]
    text: str
    probability: float


def perturbed_texts(features: Sequence[Feature], result: MetricResult) -> list[PerturbedText]:
    """Return the texts behind ``result``, by level; ``features`` are those of the text."""
    return [
        PerturbedText(
            level=step.level,
            removed=[features[i].text for i in step.removed],
            text=step.text,
            probability=step.probability,
        )
        for step in result.steps
    ]


class Passes(Record, Generic[N]):
    """Model passes that a text took, or texts on average, counted per single input."""

    forward: N
    backward: N

    @property
    def total(self) -> N:
        """The passes of both kinds."""
        return self.forward + self.backward


class TextFields(TypedDict):
    """The fields of :class:`TextBody`."""

    prediction: Prediction
    target: Target
    features: list[Feature]
    cut: int


class TextBody(Record):
    """The fields of every result of a text; ``cut`` tokens did not fit into the model."""

    prediction: Prediction
    target: Target
    features: list[Feature]
    cut: int = 0

    def attribution(
        self,
        request: Request,
        scores: Sequence[float],
        errors: Sequence[float] | None = None,
        signed: bool = True,
        completeness: Completeness | None = None,
    ) -> Attribution:
        """Return ``scores`` [n_features] as an attribution of ``request``, to be drawn."""
        return Attribution(
            request=request,
            prediction=self.prediction,
            target=self.target,
            features=tuple(self.features),
            scores=np.array(scores, dtype=np.float64),
            errors=None if errors is None else np.array(errors, dtype=np.float64),
            signed=signed,
            completeness=completeness,
            cost=Cost(0, 0, 0.0),
            cut=self.cut,
        )


def text_fields(subject: Subject) -> TextFields:
    """Return the fields of :class:`TextBody` for ``subject``."""
    return {
        "prediction": subject.prediction,
        "target": subject.target,
        "features": list(subject.units.features),
        "cut": subject.encoding.cut,
    }
