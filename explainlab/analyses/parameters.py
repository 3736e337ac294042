"""Parameters that are lists: step counts, rules, methods, metrics; as a list, or as text with commas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from reprlib import repr as quote
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from explainlab.attribution.path import Rule
from explainlab.attribution.registry import (
    MOST_SWEPT,
    MethodSpec,
    get_method,
    parse_members,
    parse_spec,
    swept,
)
from explainlab.declared import as_validation_error, parse
from explainlab.errors import RequestError
from explainlab.metrics.metric import FaithfulnessMetric, PlausibilityMetric
from explainlab.metrics.registry import MetricSpec, get_metric, parse_metric

RANDOM = "random"
"""The method that is always among those compared."""
EACH = "of each data set"
"""Metadata of a parameter that names a data set; of several data sets it may name one for each."""
MOST_ROWS = 100_000
MOST_STEPS = 10_000
_MOST_COUNTS = 1_000
PAPER_GRID = "10:1000:10"
Names = Annotated[list[str], Field(max_length=100)]
"""A list of names, short enough to read."""

Rows = Annotated[int, Field(ge=1, le=MOST_ROWS, description="Texts of a data set.")]
"""The number of rows studied of a data set, unless ``sample`` is ``"all"``."""

Sample = Annotated[
    Literal["random", "first", "all"],
    Field(description="Which rows of a data set: random (in proportion to its labels), the first, or all."),
]
"""The choice of rows from a data set: a parameter beside ``rows``, whose default is always ``"first"``.

A request without it means the first rows; :func:`explainlab.analyses.registry.new_request` asks for random ones.
"""

Outputs = Annotated[
    Literal["own", "all"],
    Field(
        description="own: methods defined on the logit explain the logit; all: every method explains the same output."
    ),
]
"""The output that methods explain: a parameter whose default is always ``"own"``.

With ``own``, a method defined on the logit explains it where the request's output is the probability.
:func:`explainlab.analyses.registry.new_request` says ``all`` where a reader has set the probability.
"""


def split(value: Any) -> Any:
    """Split ``10,20,50`` into a list; ``10:1000:10`` into 10, 20, ..., 1000."""
    if not isinstance(value, str):
        return value
    if ":" in value:
        try:
            first, last, by = (int(part) for part in value.split(":"))
            return list(range(first, last + 1, by)[: _MOST_COUNTS + 1])
        except ValueError:
            raise PydanticCustomError("range", "Write a range as first:last:by, as in 10:1000:10") from None
    return [part.strip() for part in value.split(",") if part.strip()]


def _number(count: Any) -> int:
    try:
        return int(str(count))
    except ValueError:
        raise PydanticCustomError("number", "{count} is not a whole number", {"count": quote(count)}) from None


def _step_counts(counts: list[int]) -> list[int]:
    if not counts:
        raise PydanticCustomError("empty", "Give at least one step count, as in 10,20,50")
    if counts != sorted(set(counts)):
        raise PydanticCustomError("order", "Give the step counts in rising order, each once")
    if counts[0] < 1 or counts[-1] > MOST_STEPS:
        raise PydanticCustomError("range", "Step counts must be between 1 and {most}", {"most": MOST_STEPS})
    if len(counts) > _MOST_COUNTS:
        raise PydanticCustomError("long", "Give at most {most} step counts", {"most": _MOST_COUNTS})
    return counts


def _rules(rules: list[str]) -> list[str]:
    if not rules or len(set(rules)) < len(rules):
        raise PydanticCustomError(
            "rules", "Give one or more of {rules}, each once", {"rules": ", ".join(get_args(Rule))}
        )
    return rules


Counts = Annotated[list[Annotated[int, BeforeValidator(_number)]], Field(max_length=_MOST_COUNTS)]
Steps = Annotated[Counts, BeforeValidator(split), AfterValidator(_step_counts)]
Rules = Annotated[Annotated[list[Rule], Field(max_length=100)], BeforeValidator(split), AfterValidator(_rules)]


def listed(value: Any) -> Any:
    """Split names at commas into a list; colons stay: they begin options."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _metrics(names: list[str]) -> list[str]:
    """Return the names in canonical form."""
    metrics = [as_validation_error(partial(parse_metric, name)).name for name in names]
    if not metrics or len(set(metrics)) < len(metrics):
        raise PydanticCustomError("metrics", "Give one or more metrics, each once")
    return metrics


Metrics = Annotated[Names, BeforeValidator(listed), AfterValidator(_metrics)]
"""Metrics as :func:`explainlab.metrics.registry.parse_metric` reads them."""


def _perturbing(names: list[str]) -> list[str]:
    """Return the same names; refuse a metric that needs more than perturbed texts."""
    for metric in metric_requests(names):
        if not isinstance(chosen := get_metric(metric.metric), FaithfulnessMetric):
            does = (
                "compares with a rationale"
                if isinstance(chosen, PlausibilityMetric)
                else "has the text explained again"
            )
            problem = "{name} {does}, which only an evaluation of methods does"
            raise PydanticCustomError("metrics", problem, {"name": metric.metric, "does": does})
    return names


PerturbingMetrics = Annotated[Metrics, AfterValidator(_perturbing)]
"""Metrics that need neither a rationale nor another explanation."""


def _perturbing_alone(name: str) -> str:
    return _perturbing(_metrics([name]))[0]


PerturbingMetric = Annotated[str, AfterValidator(_perturbing_alone)]
"""One of :data:`PerturbingMetrics`, in canonical form."""


def metric_requests(names: Sequence[str]) -> list[MetricSpec]:
    """Return the metrics of these ``names``; raises as :func:`explainlab.metrics.registry.parse_metric`."""
    return [parse_metric(name) for name in names]


def _methods(names: list[str]) -> list[str]:
    if not names or len(set(names)) < len(names):
        raise PydanticCustomError("methods", "Give one or more methods, each once")
    for name in names:
        as_validation_error(partial(get_method, name))
    return names if RANDOM in names else [*names, RANDOM]


def _settings(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the settings with defaults filled in, so that equal requests have equal keys."""
    return {name: completed(name, values) for name, values in settings.items()}


def completed(method_id: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return all parameters of a method; raises :class:`PydanticCustomError` for a value that is not accepted."""
    return as_validation_error(lambda: parse(get_method(method_id), settings)).model_dump(mode="json")


Methods = Annotated[Names, BeforeValidator(listed), AfterValidator(_methods)]
"""Ids of methods, ``random`` always among them."""

Settings = Annotated[dict[str, dict[str, Any]], AfterValidator(_settings)]
"""Parameters of methods by id, with defaults filled in."""


def method_requests(names: Sequence[str], settings: Mapping[str, Mapping[str, Any]]) -> list[MethodSpec]:
    """Return the methods of these ``names``, ids or specs; ``settings`` by id hold where a name is silent."""
    return [parse_spec(name, settings) for name in names]


def method_spec(name: str) -> str:
    """Return a method with its options in canonical form; raises :class:`PydanticCustomError` for a bad one."""
    return as_validation_error(lambda: parse_spec(name)).name


def _joined(name: str) -> list[str]:
    """Return the methods of ``name``: itself, the methods that it sweeps, or several joined by plus."""
    try:
        return [parse_spec(spec).name for spec in swept(name)]
    except RequestError:
        return [method.name for method in parse_members(name)]


def _joined_methods(names: list[str]) -> list[str]:
    """Return the methods in canonical form."""
    specs = [spec for name in names for spec in as_validation_error(partial(_joined, name))]
    if len(specs) > MOST_SWEPT:
        raise PydanticCustomError("methods", "Give at most {most} methods", {"most": MOST_SWEPT})
    if not specs or len(set(specs)) < len(specs):
        raise PydanticCustomError("methods", "Give one or more methods, each once")
    return specs


JoinedMethods = Annotated[Names, BeforeValidator(listed), AfterValidator(_joined_methods)]
"""Methods with their options, separated by commas or joined by plus; only those that are named."""


def _method_specs(names: list[str]) -> list[str]:
    specs = [method_spec(spec) for name in names for spec in as_validation_error(partial(swept, name))]
    if len(specs) > MOST_SWEPT:
        raise PydanticCustomError("methods", "Give at most {most} methods", {"most": MOST_SWEPT})
    if not specs or len(set(specs)) < len(specs):
        raise PydanticCustomError("methods", "Give one or more methods, each once")
    return specs if any(parse_spec(spec).method == RANDOM for spec in specs) else [*specs, RANDOM]


MethodSpecs = Annotated[Names, BeforeValidator(listed), AfterValidator(_method_specs)]
"""Methods as :func:`explainlab.attribution.registry.swept` reads them, each alone, random always among them."""
