"""What is told of an attribution beside its heatmap: its sum and its settings."""

from __future__ import annotations

from typing import Any

from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods
from explainlab.declared import parse
from explainlab.figures.heatmap import number


def sum_words(attribution: Attribution) -> str:
    """What the scores add up to, beside what they should unless that is the same; empty without a promise."""
    sums = attribution.completeness
    if sums is None:
        return ""
    total, expected = number(sums.sum), number(sums.expected)
    if total == expected:
        return f"sum {total}, as it should be"
    return f"sum {total}, should be {expected}" + (f" (off by {sums.off})" if sums.off else "")


def settings(attribution: Attribution) -> dict[str, Any]:
    """The parameters that affected the scores; all of them if this version does not know the method."""
    given, method = attribution.request.parameters, methods().get(attribution.request.question)
    idle = method.ineffective_parameters(parse(method, given)) if method else frozenset()
    return {name: value for name, value in given.items() if value != "" and name not in idle}
