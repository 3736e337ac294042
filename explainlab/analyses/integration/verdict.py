"""The number of steps that a text or a data set needs, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from explainlab.analyses.integration.result import IntegrationErrorData, IntegrationErrorText
from explainlab.analyses.wording import capital, counted, interval_words
from explainlab.attribution.path import Rule

STILL = 0.05
"""Colours stand still where no score is further than this share of the largest from the adaptive rule's."""
_SUMS: dict[Rule, str] = {
    "right": "right Riemann sums",
    "left": "left Riemann sums",
    "midpoint": "midpoint sums",
    "trapezoid": "trapezoid sums",
    "gauss_legendre": "Gauss-Legendre",
}


def rule_name(rule: Rule) -> str:
    """Return the name of a rule where it stands alone."""
    return capital(_SUMS[rule])


def text_verdict(body: IntegrationErrorText) -> str:
    """Say the steps that two rules need, the adaptive rule's evaluations, and the step at which the colours settle."""
    spent = f"adaptive took {counted(body.adaptive.trace[-1].evaluations, 'evaluation')}"
    if body.cancels:
        few = "The output hardly changes from the baseline to this text, so no step count can be called enough"
        return f"{few}; {spent}."
    tried = {rule: [row.steps for row in body.rows if row.rule == rule] for rule in body.ideal_steps}
    steps = {rule: inf if ideal is None else ideal for rule, ideal in body.ideal_steps.items()}
    return f"{_needs(steps, tried, 'this text')}, {spent}; {_colours(body)}."


def data_verdict(body: IntegrationErrorData) -> str:
    """Say the steps that two rules need for half of the texts, and the adaptive rule's evaluations."""
    summary = body.summary
    if not summary.n:
        return "No text of this data set has a relative error."
    tried = {rule: [int(steps) for steps in counts if steps != "none"] for rule, counts in summary.ideal_steps.items()}
    medians = {rule: _median(counts) for rule, counts in summary.ideal_steps.items()}
    spent = summary.adaptive.evaluations
    between = "" if spent.low is None else f" ({interval_words(spent, ',.1f')})"
    texts = "the text" if summary.n == 1 else f"at least half of the {summary.n:,} texts"
    mean = "" if summary.n == 1 else " on average"
    return f"{_needs(medians, tried, texts)}; adaptive took {spent.mean or 0:,.1f} evaluations{mean}{between}."


def still_from(body: IntegrationErrorText, rule: Rule) -> int | None:
    """Return the first step count of ``rule`` after which the colours stand still; None if the last one moves them."""
    exact = np.array(body.adaptive.scores)
    content = np.array([not feature.special for feature in body.features])
    size = np.abs(exact[content]).max(initial=0.0)
    still = None
    for row in sorted((row for row in body.rows if row.rule == rule), key=lambda row: -row.steps):
        if np.abs(np.array(row.scores) - exact)[content].max(initial=0.0) > STILL * size:
            break
        still = row.steps
    return still


def _needs(steps: Mapping[Rule, float], tried: Mapping[Rule, Sequence[int]], whose: str) -> str:
    """Say the steps that the first rule needs, beside Gauss-Legendre's, else those of the rule that needs fewest."""
    first, *others = steps
    verb = "needs" if first == "gauss_legendre" else "need"
    words = [f"{capital(_SUMS[first])} {verb} {_count(steps[first], tried[first], ' step')} for {whose}"]
    if others:
        other = "gauss_legendre" if "gauss_legendre" in others else min(others, key=steps.__getitem__)
        words.append(f"{_SUMS[other]} {_count(steps[other], tried[other])}")
    return ", ".join(words)


def _count(steps: float, tried: Sequence[int], noun: str = "") -> str:
    """Return a step count in words; only counts from the first to the last one ``tried`` are known."""
    n = max(tried) if steps == inf else int(steps)
    bound = "more than " if steps == inf else "at most " if n == min(tried) > 1 else ""
    return f"{bound}{n:,}{noun}{'s' if noun and n > 1 else ''}"


def _colours(body: IntegrationErrorText) -> str:
    rule = next(iter(body.ideal_steps))
    tried = [row.steps for row in body.rows if row.rule == rule]
    still = still_from(body, rule)
    if still is None:
        return f"the colours of {_SUMS[rule]} still move at {max(tried):,}"
    return f"the colours of {_SUMS[rule]} stop moving at {still:,}{' or before' if still == min(tried) else ''}"


def _median(counts: Mapping[str, int]) -> float:
    """Return the fewest steps that suffice for at least half of the texts; infinite if no tried count does."""
    ordered = sorted((inf if steps == "none" else int(steps), n) for steps, n in counts.items())
    half, seen = sum(counts.values()) / 2, 0
    for steps, n in ordered:
        seen += n
        if seen >= half:
            return steps
    return inf
