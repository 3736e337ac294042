"""Advice on trust in an attribution, in words: the effect of its top features, and of the top of random maps."""

from __future__ import annotations

import math

from explainlab.analyses import too_short
from explainlab.analyses.records import Interval
from explainlab.analyses.trust.result import Comparison, Summary, TrustData, TrustText
from explainlab.analyses.wording import counted, joined, whole_percent
from explainlab.metrics.evaluate import TIE
from explainlab.request import Unit

BEYOND, BETTER, WORSE = 0.95, 0.75, 0.05
CHANCE = 0.5
"""Shares of random attributions that do worse: well beyond chance, better than it, worse, and what chance gives."""
TOO_SHORT = "This text is too short to tell whether the map can be trusted."
NONE_LONG = "All texts are too short to tell whether the method's maps can be trusted."


def verdict(body: TrustText, unit: Unit, it: str = "it", name: str = "this map") -> str:
    """Say in one sentence what removing the top features does to the prediction, and if ``name`` can be trusted.

    ``this map can be trusted`` needs at least 95 of 100 random attributions to do worse both ways.
    """
    without, alone = body.metrics
    if not without.counted:
        return TOO_SHORT
    features = f"its top {counted(without.counted, unit) if without.counted > 1 else unit}"
    (step,) = without.steps
    change = _change(body.prediction.probabilities[body.target.label], step.probability)
    if _alike(without) and _alike(alone):
        return f"Without {features} {it} {change}, as it does by any random map: nobody can tell how good {name} is."
    return f"Without {features} {it} {change}; {_as_good(without, body.random_maps)}: {_conclusion(body, name, unit)}."


def mean_verdict(body: TrustData) -> str:
    """Say for a data set how many random attributions do worse by every metric, and if that is beyond chance.

    It also counts the texts that are too short for a metric.
    """
    metrics = body.summary.metrics
    short = too_short.left_out([(metric.asked, metric.label, metric.counted) for metric in metrics], body.summary.n)
    return " ".join([_against_chance(body.summary), *short])


def _against_chance(summary: Summary) -> str:
    shares = [(metric.label, metric.beaten) for metric in summary.metrics if metric.beaten.mean is not None]
    if not shares:
        return NONE_LONG
    words = joined([f"{whole_percent(share.mean or 0.0)}{_between(share)} by {label}" for label, share in shares])
    sentence = f"Over {counted(summary.n, 'text')}, {words} of the random maps do worse than this method's"
    if any(share.low is None for _, share in shares):
        return f"{sentence}."
    beyond = [label for label, share in shares if share.low is not None and share.low > CHANCE]
    if len(beyond) == len(shares):
        return f"{sentence}: better than chance."
    return f"{sentence}: {f'better than chance by {joined(beyond)} only' if beyond else 'not better than chance'}."


def level(body: TrustText) -> float:
    """Return the smaller of the shares of random maps that an attribution beats; NaN if no metric decides."""
    if not any(metric.counted for metric in body.metrics) or all(_alike(metric) for metric in body.metrics):
        return math.nan
    return min(metric.beaten for metric in body.metrics)


def _conclusion(body: TrustText, name: str, unit: Unit) -> str:
    without, alone = (metric.beaten for metric in body.metrics)
    lower, upper = sorted((without, alone))
    if lower >= BEYOND:
        return f"{name} can be trusted"
    if without >= BEYOND and alone >= BETTER:
        kept = f"this {unit} alone beats" if body.metrics[1].counted == 1 else f"these {unit}s alone beat"
        return f"{name} can be trusted, though {kept} only {math.floor(body.random_maps * alone)} of {body.random_maps}"
    if lower >= BETTER:
        return f"{name} is better than chance, but not far beyond it"
    if upper < WORSE:
        return f"{name} is worse than a random one"
    if upper < BETTER:
        return f"{name} is no better than a random one"
    if without >= BETTER:
        return f"{name} finds some of what matters, but kept alone it does not carry the prediction"
    return f"what {name} puts first is enough alone, but the model can do without it"


def _as_good(metric: Comparison, total: int) -> str:
    """Say how many random attributions do as well; ties count half, rounded up."""
    n = math.ceil(total * (1 - metric.beaten) - TIE)
    if n == 0:
        return f"none of {total} random maps does as well"
    only = "only " if metric.beaten >= BEYOND else ""
    return f"{only}{n} of {total} random maps {'does' if n == 1 else 'do'} as well"


def _alike(metric: Comparison) -> bool:
    """Return True if this attribution and most random ones have the same value."""
    return max(metric.high, metric.value) - min(metric.low, metric.value) <= TIE


def _between(share: Interval) -> str:
    if share.low is None or share.high is None:
        return ""
    return f" ({whole_percent(share.low)} to {whole_percent(share.high)})"


def _change(before: float, after: float) -> str:
    first, second = whole_percent(before), whole_percent(after)
    if first == second:
        return f"stays at {first}"
    return f"{'falls' if after < before else 'rises'} to {second}"
