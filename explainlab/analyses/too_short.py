"""Texts that are too short for a metric, as the share that it removes of them is less than one feature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from explainlab.analyses.wording import counted, joined
from explainlab.metrics.perturbation import PerturbationParameters
from explainlab.metrics.registry import MetricSpec, parse_metric

T = TypeVar("T")


def long_enough(texts: Sequence[T], features: Sequence[Mapping[str, int]], key: str) -> list[T]:
    """Return the ``texts`` with ``features`` that the metric ``key`` selects. Older results do not count them."""
    return [text for text, own in zip(texts, features, strict=True) if own.get(key, 1)]


def too_short(metric: MetricSpec) -> str:
    """Say why ``metric`` may select no feature of a text, with the remedy; empty for one that selects no share."""
    if not isinstance(metric.parameters, PerturbationParameters):
        return ""
    return f"{max(metric.parameters.levels)}% of a text is less than one feature: choose a larger share"


def left_out(metrics: Iterable[tuple[str, str, int]], n: int) -> list[str]:
    """Count the ones of ``n`` texts that are too short for each of the ``metrics``; nothing where there are none.

    A metric comes with its name ``asked``, its label, and the number of texts that are long enough for it. Metrics that
    leave out the same number stand together.
    """
    alike: dict[str, list[str]] = {}
    for asked, label, long_enough in metrics:
        short = too_short(parse_metric(asked))
        if short and (missing := n - long_enough):
            alike.setdefault(f"{missing:,} of {counted(n, 'text')}, as {short}", []).append(label)
    return [f"Left out by {joined(labels)}: {words}." for words, labels in alike.items()]
