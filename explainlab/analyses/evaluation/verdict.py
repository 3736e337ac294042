"""Which method a metric puts first, which it does not tell apart from that, and how far above random that is."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.evaluation.result import REVERSED, EvaluationData, EvaluationText, MethodMetric
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.wording import ahead, ahead_on_a_text, joined, mean_words
from explainlab.attribution.registry import label_of
from explainlab.metrics.registry import MetricRequest
from explainlab.text.rationale import ABSENCES


def shown_name(name: str) -> str:
    """The label of what is evaluated."""
    return f"{label_of(name.removeprefix(REVERSED))}{', reversed' if name.startswith(REVERSED) else ''}"


def text_verdict(body: EvaluationText, metric: MetricRequest) -> str:
    """Who is ahead on a text, beside random."""
    values = {
        shown_name(name): value
        for name, row in body.values.items()
        if (value := row[metric.name]) is not None and not name.startswith(REVERSED)
    }
    if not values:
        return f"no method has a value{f': {ABSENCES[body.undefined]}' if body.undefined else ''}"
    return ahead_on_a_text(values, metric.higher_is_better)


def data_verdict(body: EvaluationData, metric: MetricRequest) -> str:
    """The best method, those that are not told apart from it, and its difference to random.

    Of a result without tests, which is older than these, what its intervals allow.
    """
    rows = [row for row in body.rows if row.asked == metric.name and not row.method.startswith(REVERSED)]
    rows = [row for row in rows if row.mean is not None]
    if not rows:
        return "no method has a value"
    best = next((row for row in rows if row.to_best is None), None)
    others = [row for row in rows if row.to_best is not None]
    if best is None or not others:
        return ahead({shown_name(row.method): row.interval for row in rows}, metric.higher_is_better)
    tied = [row for row in others if not row.told_apart]
    if not tied:
        return f"{_best(best, others)}, and all others are told apart from it"
    return f"{_best(best, others)}; {_untold(tied)} not told apart from it"


def _best(best: MethodMetric, others: Sequence[MethodMetric]) -> str:
    if best.method == RANDOM:
        return f"no method is better than a random one ({mean_words(best.interval)})"
    random = next((row.to_best for row in others if row.method == RANDOM), None)
    beside = "" if random is None else f", {mean_words(random)} better than random"
    return f"{shown_name(best.method)} is best with {mean_words(best.interval)}{beside}"


def _untold(rows: Sequence[MethodMetric]) -> str:
    return f"{joined([shown_name(row.method) for row in rows])} {'is' if len(rows) == 1 else 'are'}"
