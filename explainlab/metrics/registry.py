"""All metrics by id, and requests for them: ``id:option=value:option=value``, lists joined by plus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import explainlab.metrics as package
from explainlab.declared import Parameters, discovered, lookup, parse, parse_options
from explainlab.metrics.metric import AnyMetric, Metric, Repeating
from explainlab.models.context import PassCount

FAMILIES = ("Perturbation", "Activation", "Stability", "Rationale")
"""The families in the order shown; any other follows."""


@dataclass(frozen=True)
class MetricRequest:
    """A metric with all its parameters."""

    metric: str
    parameters: Parameters

    @property
    def name(self) -> str:
        """The shortest text that :func:`parse_metric` reads as this; it always names the preset, if there are any."""
        return ":".join([self.metric, *(f"{key}={name}" for key, name in self._given.items()), *self._own])

    @property
    def key(self) -> str:
        """:attr:`name` without the default preset: the name in results."""
        return self.name.replace(f":preset={parse_metric(self.metric).preset}", "")

    @property
    def facts(self) -> dict[str, Any]:
        """The metric's record in results: its names and preset, its definition, which direction is better."""
        return {
            "key": self.key,
            "metric": self.metric,
            "preset": self.preset,
            "asked": self.name,
            "label": self.label,
            "definition": self.definition,
            "higher_is_better": self.higher_is_better,
        }

    @property
    def label(self) -> str:
        """The metric's label, with its preset and all parameters that differ from it."""
        metric = get_metric(self.metric)
        details = [preset.label for name, preset in metric.presets.items() if name == self.preset]
        details += [option.replace("=", " ", 1) for option in self._own]
        return f"{metric.label} ({', '.join(details)})" if details else metric.label

    @property
    def preset(self) -> str:
        """The id of the preset; empty for a metric without."""
        return getattr(self.parameters, "preset", "")

    @property
    def definition(self) -> str:
        """What is computed, in words and a formula."""
        return get_metric(self.metric).definition(self.parameters)

    @property
    def higher_is_better(self) -> bool:
        """Whether the better attribution has the higher value."""
        return get_metric(self.metric).higher_is_better

    @property
    def _given(self) -> dict[str, str]:
        return {"preset": self.preset} if self.preset else {}

    @property
    def _own(self) -> list[str]:
        """The options that differ from the preset, or from the defaults of a metric without presets."""
        usual = type(self.parameters)(**self._given)
        return [f"{name}={_written(value)}" for name, value in self.parameters if value != getattr(usual, name)]


@cache
def metrics() -> dict[str, AnyMetric]:
    """Every metric by id, family by family."""
    return {metric.id: metric() for metric in discovered(package, Metric, FAMILIES)}  # type: ignore[type-abstract]


def metric_ids(family: str) -> list[str]:
    """The ids of the metrics of a ``family``."""
    return [metric.id for metric in metrics().values() if metric.family == family]


def get_metric(metric_id: str) -> AnyMetric:
    """The metric with this id; raises :class:`RequestError` with the nearest names."""
    return lookup("metric", metric_id, metrics())


def parse_metric(text: str) -> MetricRequest:
    """``comprehensiveness:k=10:removal=mask`` as a complete request.

    Raises :class:`RequestError` for an unknown metric or option, an option repeated, without a value, or out of range.
    """
    metric_id, *written = text.split(":")
    metric = get_metric(metric_id.strip())
    return MetricRequest(metric.id, parse(metric, parse_options(metric, written)))


def _written(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


def evaluation_passes(metrics: Iterable[MetricRequest], n: int) -> PassCount:
    """The passes of evaluating an attribution of ``n`` features by ``metrics`` at most."""
    return PassCount(sum(get_metric(request.metric).inputs(request.parameters, n) for request in metrics))


def explanations(metrics: Iterable[MetricRequest]) -> int:
    """How often evaluating by ``metrics`` has every map made again, at most."""
    asked = [(get_metric(request.metric), request.parameters) for request in metrics]
    return sum(metric.explanations(parameters) for metric, parameters in asked if isinstance(metric, Repeating))
