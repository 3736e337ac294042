"""The sentence that says how many steps a text needs."""

from __future__ import annotations

from explainlab.analyses.base import AnalysisResult
from explainlab.figures.chart import STYLES


def headline(result: AnalysisResult) -> str:
    """The rule with the smallest ideal step for one text."""
    body = result.body
    if body["cancels"]:
        return "The output hardly changes from the baseline to this text, so that no step count can be called enough."
    ideal = {rule: steps for rule, steps in body["ideal_steps"].items() if steps is not None}
    if not ideal:
        return "No step count of the list brings the error down to 5%."
    rule = min(ideal, key=lambda name: ideal[name])
    steps = "1 step is" if ideal[rule] == 1 else f"{ideal[rule]:,} steps are"
    return f"{steps} enough for an error of 5% or less: {STYLES[rule].label}, the rule that needs fewest."
