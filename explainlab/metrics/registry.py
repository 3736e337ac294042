"""All metrics by id, and what a metric is asked for: ``id:option=value:option=value``, lists joined by plus."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from explainlab.declared import named, parse, specs
from explainlab.errors import RequestError
from explainlab.metrics.metric import Metric
from explainlab.metrics.perturbation import (
    AopcComprehensiveness,
    AopcSufficiency,
    Comprehensiveness,
    LogOdds,
    PerturbationParameters,
    Sufficiency,
)
from explainlab.metrics.presets import PRESETS

FIVE = (Sufficiency, Comprehensiveness, LogOdds, AopcSufficiency, AopcComprehensiveness)


@dataclass(frozen=True)
class MetricRequest:
    """One metric with all its parameters."""

    metric: str
    parameters: PerturbationParameters

    @property
    def name(self) -> str:
        """The shortest text that :func:`parse_metric` reads as this; it always names the preset."""
        return ":".join([self.metric, f"preset={self.parameters.preset}", *self._own])

    @property
    def key(self) -> str:
        """:attr:`name` without the preset where that is the usual one: what bodies of studies go by."""
        usual = type(self.parameters).model_fields["preset"].default
        return self.name.replace(f":preset={usual}", "")

    @property
    def told(self) -> dict[str, Any]:
        """What the body of a study tells of a metric: its names and preset, its definition, which way is better."""
        return {
            "key": self.key,
            "metric": self.metric,
            "preset": self.parameters.preset,
            "asked": self.name,
            "label": self.label,
            "definition": self.definition,
            "higher_is_better": self.higher_is_better,
        }

    @property
    def label(self) -> str:
        """The metric's name for a reader, with its preset and whatever differs from it."""
        told = [PRESETS[self.parameters.preset].label, *(option.replace("=", " ", 1) for option in self._own)]
        return f"{get_metric(self.metric).label} ({', '.join(told)})"

    @property
    def definition(self) -> str:
        """What is computed, in words and a formula."""
        return get_metric(self.metric).definition(self.parameters)

    @property
    def higher_is_better(self) -> bool:
        """Whether the better map has the higher value."""
        return get_metric(self.metric).higher_is_better

    @property
    def _own(self) -> list[str]:
        """The options in which this differs from its preset."""
        usual = type(self.parameters)(preset=self.parameters.preset)
        return [f"{name}={_written(value)}" for name, value in self.parameters if value != getattr(usual, name)]


@cache
def metrics() -> dict[str, Metric]:
    """Every metric by id."""
    return {metric.id: metric() for metric in FIVE}


def get_metric(metric_id: str) -> Metric:
    """The metric with this id; raises :class:`RequestError` with the nearest names."""
    return named("metric", metric_id, metrics())


def parse_metric(text: str) -> MetricRequest:
    """``comprehensiveness:k=10:removal=mask`` as a complete request.

    Raises :class:`RequestError` for a metric or an option that does not exist, one that is given twice or without a
    value, and one out of range.
    """
    metric_id, *options = (part.strip() for part in text.split(":"))
    metric = get_metric(metric_id)
    values: dict[str, str] = {}
    for option in options:
        name, equals, value = (part.strip() for part in option.partition("="))
        if not (name and equals and value):
            raise RequestError(f"'{option}' is no option of {metric.id}.", "Write options as :name=value.")
        if name in values:
            raise RequestError(f"{metric.id} has the option {name} twice.", "Give it once.")
        values[name] = value
    return MetricRequest(metric.id, parse(metric, values))


def describe_metrics() -> list[dict[str, Any]]:
    """The declarations of all metrics as plain records, with the definition of every preset."""
    return [
        {
            "id": metric.id,
            "label": metric.label,
            "source": metric.source,
            "higher_is_better": metric.higher_is_better,
            "parameters": [asdict(spec) for spec in specs(metric.Parameters)],
            "presets": [
                {
                    "id": name,
                    "label": preset.label,
                    "source": preset.source,
                    "definition": metric.definition(metric.Parameters(preset=name)),
                }
                for name, preset in PRESETS.items()
            ],
        }
        for metric in metrics().values()
    ]


def _written(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
